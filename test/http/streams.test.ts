import { createConnection } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CALLER, KEY, deferred, ended, openApi, problemOf, withKey } from './harness.ts';
import type { Api } from './harness.ts';

let api: Api;
beforeEach(async () => {
  api = await openApi({ streams: { heartbeatMs: 100, recheckMs: 100, perKey: 3 } });
});
afterEach(() => api.close());

interface Seen {
  id: number;
  type: string;
  data: { seq: number; type: string };
}

/** Reads a stream event by event. */
class Reader {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  #text = '';

  constructor(answer: Response) {
    if (answer.body === null) throw new Error('no body');
    this.#reader = answer.body.getReader();
  }

  /** The next block (an event or a comment), or null at the end. */
  async block(): Promise<string | null> {
    for (;;) {
      const end = this.#text.indexOf('\n\n');
      if (end >= 0) {
        const block = this.#text.slice(0, end);
        this.#text = this.#text.slice(end + 2);
        return block;
      }
      const { done, value } = await this.#reader.read();
      if (done) return this.#text === '' ? null : this.#text;
      this.#text += new TextDecoder().decode(value);
    }
  }

  async event(): Promise<Seen | null> {
    for (;;) {
      const block = await this.block();
      if (block === null) return null;
      if (block.startsWith(':')) continue;
      const [, id, type, data] = /^id: (\d+)\nevent: (\w+)\ndata: (.*)$/.exec(block) ?? [];
      if (data === undefined) throw new Error(`not an event: ${block}`);
      return { id: Number(id), type: String(type), data: JSON.parse(data) as Seen['data'] };
    }
  }

  async rest(): Promise<Seen[]> {
    const seen: Seen[] = [];
    for (let one = await this.event(); one !== null; one = await this.event()) seen.push(one);
    return seen;
  }

  cancel(): Promise<void> {
    return this.#reader.cancel();
  }
}

function stream(id: string, headers: Record<string, string> = {}, key = KEY): Promise<Response> {
  return api.ask(
    `/ai-jobs/${id}/events`,
    withKey({ headers: { accept: 'text/event-stream', ...headers } }, key),
  );
}

const cancelled = (id: string) => api.ask(`/ai-jobs/${id}/cancel`, { json: { reason: 'over' } });

describe('an event stream', () => {
  it('tells the history as it grows and closes after the terminal state', async () => {
    const id = await api.enqueue({ workflow: 'echo', input: 1 });
    const answer = await stream(id);
    expect(answer.headers.get('content-type')).toBe('text/event-stream');
    const reader = new Reader(answer);
    expect(await reader.event()).toMatchObject({ id: 1, type: 'queued', data: { seq: 1, type: 'queued' } });
    api.startWorker();
    expect((await reader.rest()).map(({ id: seq, type }) => [seq, type])).toEqual([
      [2, 'running'],
      [3, 'completed'],
    ]);
  });

  it('says something every heartbeat while nothing happens', async () => {
    const reader = new Reader(await stream(await api.enqueue({ workflow: 'endless' })));
    await reader.event();
    expect(await reader.block()).toMatch(/^:/);
    expect(await reader.block()).toMatch(/^:/);
    await reader.cancel();
  });

  it('goes on exactly after any position, beyond the end too', async () => {
    api.startWorker();
    const id = await api.enqueue({ workflow: 'picky', input: { mode: 'a' } });
    await ended(api, id);
    await api.ask(`/ai-jobs/${id}/replay`, { json: { reason: 'once more' } });
    await ended(api, id);
    const { events } = (await (await api.ask(`/ai-jobs/${id}/events`)).json()) as {
      events: { seq: number }[];
    };
    expect(events).toHaveLength(6);
    for (let position = 0; position <= events.length + 3; position += 1) {
      const answer = await stream(id, { 'last-event-id': String(position) });
      expect(answer.status).toBe(200);
      expect((await new Reader(answer).rest()).map(({ data }) => data)).toEqual(
        events.filter(({ seq }) => seq > position),
      );
    }
  });

  it('beyond the end of a live job waits without spinning, and leaves out what the client says it has', async () => {
    const id = await api.enqueue({ workflow: 'endless' });
    const reader = new Reader(await stream(id, { 'last-event-id': '99' }));
    expect(await reader.block()).toMatch(/^:/);
    await cancelled(id);
    expect(await reader.rest()).toEqual([]);
  });

  it('through a replay, a client that reconnects with its last id sees each event once', async () => {
    const id = await api.enqueue({ workflow: 'endless' });
    const types: string[] = [];
    let last = '0';
    for (const act of ['cancel', 'replay', 'cancel']) {
      await api.ask(`/ai-jobs/${id}/${act}`, { json: { reason: act } });
      if (act === 'replay') continue;
      for (const seen of await new Reader(await stream(id, { 'last-event-id': last })).rest()) {
        types.push(seen.type);
        last = String(seen.id);
      }
    }
    const once = ['queued', 'cancel_requested', 'dead_letter'];
    expect(types).toEqual([...once, ...once]);
  });

  it.each(['x', '-1', '1.5', '1e3', '', '99999999999999999999', '1;2'])(
    'refuses the position %j',
    async (position) => {
      const id = await api.enqueue({ workflow: 'endless' });
      const problem = await problemOf(await stream(id, { 'last-event-id': position }));
      expect(problem).toMatchObject({ status: 400, code: 'invalid_request' });
    },
  );

  it('is given only to who asks for it', async () => {
    const id = await api.enqueue({ workflow: 'endless' });
    const type = async (accept: string) => {
      const answer = await api.ask(`/ai-jobs/${id}/events`, { headers: { accept } });
      await answer.body?.cancel();
      return answer.headers.get('content-type');
    };
    expect(await type('*/*')).toBe('application/json');
    expect(await type('application/json, text/event-stream;q=0.5')).toBe('application/json');
    expect(await type('text/event-stream;q=0')).toBe('application/json');
    expect(await type('text/event-stream, */*;q=0.1')).toBe('text/event-stream');
    expect((await stream('job_none')).status).toBe(404);
  });

  it('closes soon after its key is revoked, and streams of other keys go on', async () => {
    const { key, view } = await api.parts.engine.createKey(CALLER, 'short-lived');
    const id = await api.enqueue({ workflow: 'endless' });
    const revoked = new Reader(await stream(id, {}, key));
    const other = new Reader(await stream(id));
    await revoked.event();
    await other.event();
    await api.ask(`/keys/${view.id}`, { method: 'DELETE' });
    expect(await revoked.rest()).toEqual([]);
    await cancelled(id);
    expect((await other.rest()).at(-1)).toMatchObject({ type: 'dead_letter' });
  });

  it('is one of a bounded number for each key; one that ends makes room', async () => {
    const id = await api.enqueue({ workflow: 'endless' });
    const open = await Promise.all([stream(id), stream(id), stream(id)]);
    const refused = await stream(id);
    expect(await problemOf(refused)).toMatchObject({ status: 429, code: 'rate_limited' });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    const { key } = await api.parts.engine.createKey(CALLER, 'another');
    const others = await stream(id, {}, key);
    expect(others.status).toBe(200);
    await others.body?.cancel();
    await open[0]?.body?.cancel();
    const again = await stream(id);
    expect(again.status).toBe(200);
    expect((await stream(id, { method: 'HEAD' })).status).toBe(429);
    for (const answer of [...open.slice(1), again]) await answer.body?.cancel();
  });

  it('makes nothing that its reader has not asked for', async () => {
    let reads = 0;
    const counting = await openApi({
      streams: { heartbeatMs: 1 },
      wrap: (engine) => ({
        ...engine,
        waitForChange(...args) {
          reads += 1;
          return engine.waitForChange(...args);
        },
      }),
    });
    const id = await counting.enqueue({ workflow: 'endless' });
    const answer = await counting.ask(`/ai-jobs/${id}/events`, { headers: { accept: 'text/event-stream' } });
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(reads).toBe(0);
    const reader = new Reader(answer);
    await reader.event();
    await reader.block();
    expect(reads).toBe(1);
    await reader.cancel();
    await counting.close();
  });

  it('that loses its store breaks, so that its end is not taken for the end of the history', async () => {
    const failing = await openApi({
      wrap: (engine) => ({ ...engine, waitForChange: () => Promise.reject(new Error('away')) }),
    });
    const id = await failing.enqueue({ workflow: 'endless' });
    const reader = new Reader(
      await failing.ask(`/ai-jobs/${id}/events`, { headers: { accept: 'text/event-stream' } }),
    );
    await reader.event();
    await expect(reader.event()).rejects.toThrow('away');
    await failing.close();
  });
});

describe('an event stream on a socket', () => {
  it('resumes where it was cut, and frees its place when its client goes', async () => {
    const { url } = await api.listen();
    const id = await api.enqueue({ workflow: 'endless' });
    const open = (headers: Record<string, string>, signal?: AbortSignal) =>
      fetch(
        `${url}/ai-jobs/${id}/events`,
        withKey({ headers: { accept: 'text/event-stream', ...headers }, ...(signal ? { signal } : {}) }),
      );
    for (let round = 0; round < 10; round += 1) {
      const gone = new AbortController();
      const reader = new Reader(await retrying(() => open({}, gone.signal)));
      expect(await reader.event()).toMatchObject({ id: 1 });
      gone.abort();
    }
    const reader = new Reader(await retrying(() => open({ 'last-event-id': '1' })));
    expect(await reader.block()).toMatch(/^:/);
    await cancelled(id);
    expect((await reader.rest()).map((seen) => seen.id)).toEqual([2, 3]);
  });

  it('ends when the server is told to stop, and so does a held request', async () => {
    const holding = deferred();
    const stopping = await openApi({
      wrap: (engine) => ({
        ...engine,
        waitForChange(caller, jobId, options) {
          if (options.waitMs === 60_000) holding.resolve();
          return engine.waitForChange(caller, jobId, options);
        },
      }),
    });
    const listening = await stopping.listen();
    const id = await stopping.enqueue({ workflow: 'endless' });
    const accept = withKey({ headers: { accept: 'text/event-stream' } });
    const reader = new Reader(await fetch(`${listening.url}/ai-jobs/${id}/events`, accept));
    const held = fetch(`${listening.url}/ai-jobs/${id}?wait=60`, withKey({}));
    await Promise.all([reader.event(), holding.promise]);
    const started = performance.now();
    await Promise.all([listening.close(), reader.rest(), held]);
    expect(performance.now() - started).toBeLessThan(2000);
    expect((await held).status).toBe(200);
    await stopping.close();
  });
});

describe('a client that never reads', () => {
  it('is cut, and the file that it was given is let go', async () => {
    const cut = deferred<number>();
    const slow = await openApi({
      wrap: (engine) => ({
        ...engine,
        async openInputFile(caller, jobId) {
          const opened = await engine.openInputFile(caller, jobId);
          if (!opened.ok) return opened;
          const file = opened.value.stream();
          let bytes = 0;
          file.on('close', () => cut.resolve(bytes));
          const counted = file.on('data', (chunk: Buffer) => (bytes += chunk.length)).pause();
          return { ok: true, value: { ...opened.value, stream: () => counted } };
        },
      }),
    });
    const { port } = await slow.listen({ idleTimeoutMs: 300 });
    const size = 30_000_000;
    const upload = await slow.ask('/uploads', { method: 'POST', body: new Uint8Array(size) });
    const { input_ref } = (await upload.json()) as { input_ref: string };
    const id = await slow.enqueue({ workflow: 'echo', input_ref });
    const socket = createConnection(port, '127.0.0.1').pause();
    socket.on('error', () => {});
    socket.write(`GET /ai-jobs/${id}/input HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\n\r\n`);
    expect(await cut.promise).toBeLessThan(size);
    socket.destroy();
    await slow.close();
  });
});

/** A place is free only once the server noticed that a client went. */
async function retrying(ask: () => Promise<Response>): Promise<Response> {
  for (;;) {
    const answer = await ask();
    if (answer.status !== 429) return answer;
    await answer.body?.cancel();
  }
}
