/** A function's end of the channel and its worker's, joined without a process in between. */
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { AttemptHost } from '../ports/isolation.ts';
import { BlobTooLargeError } from '../ports/blob-store.ts';
import { Desk } from './desk.ts';
import { readFromProcess } from './messages.ts';
import type { FromProcess } from './messages.ts';
import { Remote, boundedBody } from './remote.ts';

const UPLOAD = {
  ref: 'uploads/a',
  tenant: 't',
  sha256: '0',
  bytes: 3,
  mediaType: 'text/plain',
  fileName: null,
};
const silent = () => {};
const LOG = { debug: silent, info: silent, warn: silent, error: silent, child: () => LOG };

/** Both ends. What one says is a copy when the other hears it, and comes later. */
function joined(host: Partial<AttemptHost>) {
  const said: FromProcess[] = [];
  const remote: Remote = new Remote((message, sent = silent) => {
    const read = readFromProcess(structuredClone({ ...message, nonce: 'n' }), 'n');
    if (read === null) throw new Error(`no message of ours: ${JSON.stringify(message)}`);
    said.push(read);
    setImmediate(() => {
      sent();
      if (read.type !== 'ready' && read.type !== 'failed' && read.type !== 'ended') desk.hear(read);
    });
  });
  const whole: AttemptHost = {
    file: () => Promise.resolve(null),
    model: { generate: () => Promise.reject(new Error('no model')) },
    log: LOG,
    progress: silent,
    keep: () => Promise.reject(new Error('nothing is kept')),
    ...host,
  };
  const desk = new Desk(whole, (message) => {
    const copy = structuredClone(message);
    setImmediate(() => {
      if (copy.type === 'answer') remote.answered(copy.call, copy.value);
      if (copy.type === 'refuse') remote.refused(copy.call, copy.error);
    });
  });
  return { remote, desk, said };
}

const ref = (place: number) => ({
  uri: `artifacts/${place}`,
  sha256: '0',
  bytes: 1,
  mediaType: 'text/plain',
});

describe('what a function asks of its worker', () => {
  it('reads its file piece by piece, as often as it likes', async () => {
    const { remote } = joined({
      file: () =>
        Promise.resolve({
          upload: UPLOAD,
          bytes: 3,
          stream: () => Readable.from([Buffer.from('ab'), Buffer.from('c')]),
        }),
    });
    const file = await remote.file();
    expect(file).toMatchObject({ upload: UPLOAD, bytes: 3 });
    for (let time = 0; time < 2; time += 1) expect((await buffer(file!.stream())).toString()).toBe('abc');
  });

  it('lets go of a file that it stops reading', async () => {
    const source = Readable.from([Buffer.from('a'), Buffer.from('b'), Buffer.from('c')]);
    const { remote } = joined({
      file: () => Promise.resolve({ upload: UPLOAD, bytes: 3, stream: () => source }),
    });
    const file = await remote.file();
    for await (const _ of file!.stream()) break;
    while (!source.destroyed) await turn();
  });

  it('keeps an artifact whole, or in pieces that are taken one by one', async () => {
    const kept: string[] = [];
    const { remote } = joined({
      async keep(place, body, mediaType) {
        const bytes = body instanceof Uint8Array ? body : await buffer(Readable.from(body));
        kept.push(`${place} ${mediaType} ${Buffer.from(bytes).toString()}`);
        return ref(place);
      },
    });
    expect(await remote.keep(1, Buffer.from('whole'), 'text/plain')).toEqual(ref(1));
    expect(await remote.keep(2, pieces('in ', 'pieces'), 'text/html')).toEqual(ref(2));
    expect(kept).toEqual(['1 text/plain whole', '2 text/html in pieces']);
  });

  it('stops sending an artifact that is refused halfway, and hears why', async () => {
    let sent = 0;
    async function* endless() {
      for (;;) {
        sent += 1;
        yield Buffer.alloc(100_000);
      }
    }
    const { remote } = joined({
      async keep(_place, body) {
        for await (const _ of body as AsyncIterable<Uint8Array>) throw new BlobTooLargeError('too large');
        throw new Error('it was empty');
      },
    });
    await expect(remote.keep(1, endless(), 'text/plain')).rejects.toBeInstanceOf(BlobTooLargeError);
    const after = sent;
    for (let time = 0; time < 10; time += 1) await turn();
    expect(sent).toBe(after);
  });

  it('hands over no piece of an artifact that is too large by itself', async () => {
    expect(() => boundedBody(Buffer.alloc(11), 10)).toThrow(BlobTooLargeError);
    expect(boundedBody(Buffer.alloc(10), 10)).toHaveLength(10);
    const { remote, said } = joined({
      keep: async (place, body) => {
        await buffer(Readable.from(body));
        return ref(place);
      },
    });
    const body = boundedBody(pieces('small', 'far too large'), 10);
    await expect(remote.keep(1, body, 'text/plain')).rejects.toBeInstanceOf(BlobTooLargeError);
    const chunks = said.flatMap((one) => (one.type === 'call' && one.ask.verb === 'chunk' ? one.ask : []));
    expect(chunks.map(({ bytes, broken }) => [bytes?.byteLength, broken])).toEqual([
      [5, false],
      [undefined, true],
    ]);
  });

  it('tells its worker that an artifact breaks off', async () => {
    async function* broken() {
      yield Buffer.from('half');
      throw new RangeError('the source is gone');
    }
    const { remote } = joined({
      keep: async (place, body) => {
        await buffer(Readable.from(body));
        return ref(place);
      },
    });
    await expect(remote.keep(1, broken(), 'text/plain')).rejects.toThrow('the source is gone');
  });

  it('breaks a call of the model off with its own signal', async () => {
    let heard: AbortSignal | null = null;
    const { remote } = joined({
      model: {
        generate: (_request, { signal }) => {
          heard = signal;
          return new Promise((_, reject) =>
            signal.addEventListener('abort', () => reject(new Error('late'))),
          );
        },
      },
    });
    const stop = new AbortController();
    const call = remote.model.generate({ prompt: 'x' }, { signal: stop.signal });
    while (heard === null) await turn();
    stop.abort(new Error('enough'));
    await expect(call).rejects.toThrow('enough');
    await turn();
    expect((heard as AbortSignal).aborted).toBe(true);
    await expect(remote.model.generate({ prompt: 'x' }, { signal: stop.signal })).rejects.toThrow('enough');
  });

  it('has its calls broken off when the attempt is over, at both ends', async () => {
    let heard: AbortSignal | null = null;
    const { remote, desk } = joined({
      model: {
        generate: (_, { signal }) => {
          heard = signal;
          return new Promise(() => {});
        },
      },
    });
    const call = remote.model.generate({ prompt: 'x' }, { signal: new AbortController().signal });
    while (heard === null) await turn();
    desk.close();
    expect((heard as AbortSignal).aborted).toBe(true);
    remote.end();
    await expect(call).rejects.toThrow('the attempt that asks is over');
    await expect(remote.file()).rejects.toThrow('the attempt that asks is over');
  });

  it('says its progress at once, and then the newest some times a second', async () => {
    const seen: number[] = [];
    const { remote } = joined({ progress: (fraction) => void seen.push(fraction) });
    for (let step = 0; step <= 10_000; step += 1) remote.progress(step / 10_000, null);
    while (seen.length < 2) await turn();
    expect(seen).toEqual([0, 1]);
  });

  it('says its last progress before it ends', async () => {
    const { remote, said } = joined({});
    remote.progress(0.1, null);
    remote.progress(0.9, 'nearly');
    remote.end();
    remote.progress(1, 'too late');
    expect(said).toMatchObject([{ fraction: 0.1 }, { fraction: 0.9, note: 'nearly' }]);
    await turn();
  });

  it('writes log lines with numbers and errors; a loop that writes without a pause is cut', async () => {
    const lines: [object, string][] = [];
    const log = { ...LOG, warn: (fields: object, message: string) => void lines.push([fields, message]) };
    const { remote } = joined({ log });
    remote.log.child({ size: 1 }).warn({ words: 3, prompt: 'secret', error: new RangeError('x') }, 'one');
    for (let line = 0; line < 5000; line += 1) remote.log.warn({}, 'again');
    while (lines.length < 1000) await turn();
    await turn();
    expect(lines).toHaveLength(1000);
    const [fields, message] = lines[0] ?? [];
    expect([message, Object.keys(fields ?? {})]).toEqual(['one', ['size', 'words', 'error']]);
    expect(fields).toMatchObject({ size: 1, words: 3, error: { name: 'RangeError' } });
    remote.log.warn({}, 'later');
    while (lines.length < 1001) await turn();
  });
});

async function* pieces(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}

describe('what an isolated process says', () => {
  const lane = { workflow: 'w', version: '1', outputSchemaSha256: '0' };
  it.each([
    { type: 'ready', pid: 1, lanes: [lane] },
    { type: 'ended', end: {}, clean: true },
    { type: 'call', call: 1, ask: { verb: 'chunk', place: 1, bytes: new Uint8Array(1), broken: false } },
  ])('counts with the nonce of its stint: $type', (message) => {
    expect(readFromProcess({ ...message, nonce: 'n' }, 'n')).toMatchObject(message);
    expect(readFromProcess({ ...message, nonce: 'of another' }, 'n')).toBeNull();
    expect(readFromProcess(message, 'n')).toBeNull();
  });

  it.each([
    null,
    'ready',
    { type: 'ready', pid: '1', lanes: [] },
    { type: 'ready', pid: 1, lanes: [{}] },
    { type: 'log', level: 'fatal', fields: {}, message: '' },
    { type: 'log', level: 'warn', fields: { error: null }, message: '' },
    { type: 'log', level: 'warn', fields: { error: { name: 'Error', message: 'x' } }, message: '' },
    { type: 'log', level: 'warn', fields: { prompt: 'secret' }, message: '' },
    { type: 'progress', fraction: Number.NaN, note: null },
    { type: 'call', call: 1, ask: { verb: 'open', stream: 1 } },
    { type: 'call', call: 1, ask: { verb: 'keep', place: 1, body: 'text', mediaType: 'text/plain' } },
    { type: 'ended', end: {}, clean: 'yes' },
    { type: 'toString' },
  ])('is not heard where it has no known shape: %j', (message) => {
    const said = message !== null && typeof message === 'object' ? { ...message, nonce: 'n' } : message;
    expect(readFromProcess(said, 'n')).toBeNull();
  });
});
