import { execFile } from 'node:child_process';
import { describe, expect, test, vi } from 'vitest';
import * as hostile from '../../../test/invoices/hostile.ts';
import { InvalidInputError } from '../../domain/thrown.ts';
import { extractText } from './extract.ts';
import type { ExtractLimits } from './extract.ts';
import { SANDBOX } from './sandbox.ts';

const never = new AbortController().signal;

function extract(pdf: Uint8Array, limits: Partial<ExtractLimits> = {}, signal = never): Promise<string> {
  return extractText({ bytes: pdf.length, read: async () => pdf }, { signal, limits });
}

async function refusal(pdf: Uint8Array, limits: Partial<ExtractLimits> = {}): Promise<string> {
  const thrown: unknown = await extract(pdf, limits).catch((error: unknown) => error);
  expect(thrown).toBeInstanceOf(InvalidInputError);
  return (thrown as InvalidInputError).message;
}

/** Processes that this one started and that have not ended. */
function children(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'ProcessWrap').length;
}

test('the text of a plain PDF is read', async () => {
  expect(await extract(hostile.plain)).toBe('Invoice no. 1');
});

describe('an unusable file is refused with a sentence that helps', () => {
  const cases: [string, () => Uint8Array | Promise<Uint8Array>, Partial<ExtractLimits>, string][] = [
    ['of no bytes', () => new Uint8Array(), {}, 'The file is empty'],
    ['that is too large', () => hostile.plain, { maxBytes: 100 }, 'The file is larger than'],
    ['that is no PDF', () => Buffer.from('PK\u0003\u0004 a zip'), {}, 'The file is not a PDF'],
    ['that is encrypted', () => hostile.encrypted, {}, 'The PDF is encrypted'],
    ['of garbage', () => hostile.damaged, {}, 'The PDF is damaged'],
    ['that was cut off', async () => (await hostile.imageOnly()).slice(0, 300), {}, 'The PDF is damaged'],
    ['without pages', () => hostile.noPages, {}, 'The PDF has no pages'],
    ['of pictures alone', hostile.imageOnly, {}, 'The PDF holds no text'],
    ['with a page too many', () => hostile.blankPages(51), {}, 'The PDF has more than 50 pages'],
    ['with a hundred thousand pages', hostile.manyPages, {}, 'The PDF has more than 50 pages'],
    ['that claims a million pages', () => hostile.claimsMillionPages, {}, 'The PDF holds no text'],
    ['whose page tree is a circle', () => hostile.cyclicPages, {}, 'The PDF is damaged'],
    ['whose page tree is deep', hostile.deepPages, {}, 'The PDF holds no text'],
    ['with too much text', () => hostile.plain, { maxChars: 12 }, 'The PDF holds more than 12 characters'],
    ['with text in too many pieces', () => hostile.plain, { maxRuns: 0 }, 'The PDF holds more than'],
    ['that never ends', hostile.endlessForms, { timeoutMs: 400 }, 'The PDF takes longer than 0.4 seconds'],
    ['that unpacks without end', hostile.flateBomb, { maxMemoryMb: 240 }, 'The PDF takes too much memory'],
    ['packed twice', hostile.nestedBomb, { maxMemoryMb: 240 }, 'The PDF takes too much memory'],
    ['too large for its heap', hostile.endlessForms, { maxHeapMb: 8 }, 'The PDF takes too much memory'],
  ];
  test.concurrent.for(cases)('%s', async ([, make, limits, sentence]) => {
    expect(await refusal(await make(), limits)).toContain(sentence);
  });
});

test('a bomb beside it does not harm another file', async () => {
  const [bomb, plain] = await Promise.all([
    refusal(hostile.endlessForms(), { timeoutMs: 1_000 }),
    extract(hostile.plain),
  ]);
  expect(bomb).toContain('longer than 1 seconds');
  expect(plain).toBe('Invoice no. 1');
});

test('when the signal fires, the reader is killed and the caller hears the reason', async () => {
  await vi.waitFor(() => expect(children()).toBe(0));
  const cancel = new AbortController();
  const heard = extract(hostile.endlessForms(), {}, cancel.signal).catch((error: unknown) => error);
  await vi.waitFor(() => expect(children()).toBe(1));
  const firedAt = performance.now();
  cancel.abort(new Error('cancelled by a person'));
  expect(await heard).toMatchObject({ message: 'cancelled by a person' });
  expect(performance.now() - firedAt).toBeLessThan(1_000);
  await vi.waitFor(() => expect(children()).toBe(0));
});

test('a signal that fired before lets no reader start', async () => {
  const late = AbortSignal.abort(new Error('late'));
  await expect(extract(hostile.plain, {}, late)).rejects.toThrow('late');
  expect(children()).toBe(0);
});

test('a file that the storage cannot read is no fault of the file', async () => {
  const file = { bytes: 10, read: () => Promise.reject(new Error('disk on fire')) };
  await expect(extractText(file, { signal: never })).rejects.toThrow('disk on fire');
});

test('in the sandbox no file is read or written, nothing is started and no code is made', async () => {
  const tries = {
    read: "require('fs').readFileSync('/etc/hosts')",
    write: "require('fs').writeFileSync(require('os').tmpdir() + '/claimcheck-sandbox', '')",
    start: "require('child_process').spawnSync('true')",
    code: "new Function('return 1')",
  };
  const script = Object.entries(tries)
    .map(
      ([name, code]) =>
        `try { ${code}; console.log('${name} allowed'); } catch { console.log('${name} denied'); }`,
    )
    .join('\n');
  const said = await new Promise<string>((resolve, reject) => {
    execFile(process.execPath, [...SANDBOX, '-e', script], { env: {} }, (error, stdout) =>
      error ? reject(error) : resolve(stdout),
    );
  });
  expect(said.trim().split('\n')).toEqual(['read denied', 'write denied', 'start denied', 'code denied']);
});
