/** A function's end of the channel and its worker's, joined without a process in between. */
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { CallEnd, CallOpening } from '../domain/model-call.ts';
import type { AttemptHost } from '../ports/isolation.ts';
import type { CallDesk, CallSize } from '../ports/models.ts';
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
const CALLS: CallDesk = {
  begin: () => Promise.reject(new Error('no calls')),
  end: () => Promise.reject(new Error('no calls')),
  partial: silent,
};
const OPENING: CallOpening = {
  provider: 'fake',
  account: 'default',
  requestedModel: 'm-1',
  promptSha256: 'a'.repeat(64),
  schemaSha256: null,
  requestSha256: 'b'.repeat(64),
  parameters: { temperature: 0, tools: ['look_up'] },
  sdk: 'ai@6.0.0',
  streamed: false,
  repair: false,
};
const SIZE: CallSize = { promptBytes: 10, maxOutputTokens: null, hasFiles: false, isUnbounded: false };
const END: CallEnd = {
  servedModel: 'm-1',
  finishReason: 'stop',
  requestId: null,
  usage: { input: 1, cachedInput: 0, cacheWrite: null, output: 2, reasoning: 0 },
  latencyMs: 5,
  code: null,
  rule: null,
  httpStatus: 200,
};
const ENDED = { verb: 'end', n: 1, end: END, response: null, retryAfterMs: null };

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
    calls: CALLS,
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

  it('asks before a call to a model, and hears when its end is durable', async () => {
    const ended: unknown[] = [];
    const calls: CallDesk = {
      ...CALLS,
      begin: () => Promise.resolve({ type: 'call', n: 3, known: { brokenJson: false } }),
      end: (...said) => Promise.resolve(void ended.push(said)),
    };
    const { remote } = joined({ calls });
    expect(await remote.calls.begin(OPENING, SIZE)).toEqual({
      type: 'call',
      n: 3,
      known: { brokenJson: false },
    });
    const response = { version: 1 as const, raw: { id: 'r' }, result: null };
    await remote.calls.end(3, END, response, 5);
    expect(ended).toEqual([[3, END, response, 5]]);
  });

  it('hands on the text of a streamed answer, what came in a moment together', async () => {
    const texts: string[] = [];
    const { remote } = joined({ calls: { ...CALLS, partial: (text) => void texts.push(text) } });
    for (const text of ['one ', 'two ', 'three']) remote.calls.partial(text);
    while (texts.length === 0) await turn();
    remote.calls.partial(' and the rest');
    remote.end();
    while (texts.length === 1) await turn();
    expect(texts).toEqual(['one two three', ' and the rest']);
  });

  it('has its questions broken off when the attempt is over', async () => {
    const { remote, desk } = joined({ calls: { ...CALLS, begin: () => new Promise(() => {}) } });
    const call = remote.calls.begin(OPENING, SIZE);
    await turn();
    desk.close();
    remote.end();
    await expect(call).rejects.toThrow('the attempt that asks is over');
    await expect(remote.file()).rejects.toThrow('the attempt that asks is over');
  });

  it('says its progress at once, and then the newest some times a second', async () => {
    const seen: number[] = [];
    const { remote } = joined({ progress: (fraction) => void seen.push(fraction) });
    for (let step = 0; step <= 10_000; step += 1) remote.progress(step / 10_000, null);
    while (seen.at(-1) !== 1) await turn();
    expect(seen[0]).toBe(0);
    expect(seen.length).toBeLessThan(100); // how many more there are between is the machine's speed
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
    {
      type: 'call',
      call: 1,
      ask: { verb: 'begin', opening: { ...OPENING, requestSha256: 'x' }, size: SIZE },
    },
    { type: 'call', call: 1, ask: { verb: 'begin', opening: OPENING, size: { ...SIZE, promptBytes: -1 } } },
    { type: 'call', call: 1, ask: { verb: 'begin', opening: OPENING, size: { ...SIZE, isUnbounded: null } } },
    { type: 'call', call: 1, ask: { ...ENDED, end: { ...END, code: 'won' } } },
    { type: 'call', call: 1, ask: { ...ENDED, end: { ...END, rule: 'a prompt, word for word' } } },
    { type: 'call', call: 1, ask: { ...ENDED, end: { ...END, usage: { input: -5 } } } },
    { type: 'partial', text: 'x'.repeat(100_001) },
    { type: 'ended', end: {}, clean: 'yes' },
    { type: 'toString' },
  ])('is not heard where it has no known shape: %j', (message) => {
    const said = message !== null && typeof message === 'object' ? { ...message, nonce: 'n' } : message;
    expect(readFromProcess(said, 'n')).toBeNull();
  });
});
