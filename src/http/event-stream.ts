/**
 * A job's history as it grows, in the format of server-sent events.
 *
 * The reader sets the pace: the next chunk is made only when the one before was taken, from the record as it then is,
 * so a slow reader costs a position and no memory. The engine is asked to wait for the next change; silence becomes
 * a comment line. A timer of its own looks at the key again and again, and ends the stream when it is no longer valid.
 *
 * Between the events comes what a running attempt's model says: `partial`, the text since the last one, and `reset` where another
 * attempt begins anew. They have no `id`, since nobody can come back to them.
 */
import { eventsJson } from '../domain/view.ts';
import type { Job } from '../domain/record.ts';
import type { Asked, Reply, Surface } from './endpoint.ts';
import { problem } from './problems.ts';
import type { Parsed, Problem } from './problems.ts';

const HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store',
  'x-accel-buffering': 'no', // proxies are not to collect the stream
};

/** The position a client wants to go on from: 0 without one. */
export function lastEventId(header: string | undefined): Parsed<number> {
  if (header === undefined) return { ok: true, value: 0 };
  if (/^\d{1,15}$/.test(header)) return { ok: true, value: Number(header) };
  return problem('invalid_request', 'Last-Event-ID is the `id` of an event of this stream: a whole number.');
}

export function wantsEventStream(accept: string | undefined): boolean {
  const ranges = (accept ?? '').toLowerCase().split(',');
  return quality(ranges, 'text/event-stream') > quality(ranges, 'application/json');
}

function quality(ranges: string[], media: string): number {
  const range = ranges.find((one) => one.split(';')[0]?.trim() === media);
  return range === undefined ? 0 : Number(/;\s*q=([\d.]+)/.exec(range)?.[1] ?? 1);
}

/** @param after the last position that the client has */
export function streamEvents(
  asked: Asked<unknown, unknown>,
  surface: Surface,
  job: Job,
  after: number,
): Reply | Problem {
  const { c, caller } = asked;
  if (c.method === 'HEAD') return { status: 200, headers: { ...HEADERS }, body: null };
  const { openStreams, streams } = surface;
  if ((openStreams.get(caller.actor) ?? 0) >= streams.perKey) {
    return problem(
      'rate_limited',
      `This key has ${streams.perKey} event streams open, which is all it may have.`,
    );
  }
  return { status: 200, headers: { ...HEADERS }, body: new EventFeed(asked, surface, job, after).stream };
}

class EventFeed {
  readonly stream: ReadableStream<Uint8Array>;
  readonly #asked: Asked<unknown, unknown>;
  readonly #surface: Surface;
  readonly #encoder = new TextEncoder();
  /** Fires when the stream has ended, for whatever reason. */
  readonly #ended = new AbortController();
  #controller: ReadableStreamDefaultController<Uint8Array> | null = null;
  #job: Job;
  #sent: number;
  /** Whose text the reader has, and how much of it; null where it has none. */
  #partial: { attempt: number; length: number } | null = null;
  #stopTimer = () => {};

  constructor(asked: Asked<unknown, unknown>, surface: Surface, job: Job, after: number) {
    this.#asked = asked;
    this.#surface = surface;
    this.#job = job;
    this.#sent = after;
    this.#count(1);
    this.#recheckLater();
    const end = () => this.#end();
    this.stream = new ReadableStream(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => this.#next(),
        cancel: end,
      },
      { highWaterMark: 0 },
    );
    for (const signal of [asked.c.signal, asked.c.socket?.closing]) {
      if (signal?.aborted === true) end();
      else signal?.addEventListener('abort', end, { signal: this.#ended.signal });
    }
  }

  /** Gives the reader one chunk, or ends. */
  async #next(): Promise<void> {
    const { engine, streams } = this.#surface;
    const { caller, id } = this.#asked;
    try {
      for (;;) {
        if (this.#ended.signal.aborted || this.#sendFresh()) return;
        if (this.#job.status === 'completed' || this.#job.status === 'dead_letter') return this.#end();
        if (this.#sendPartial()) return;
        const seq = this.#job.events.length;
        const spoken = new AbortController();
        const stopListening = engine.liveText.on(id, () => spoken.abort());
        const signal = AbortSignal.any([this.#ended.signal, spoken.signal]);
        const wait = { seq, waitMs: streams.heartbeatMs, signal };
        const status = await engine.waitForChange(caller, id, wait).finally(stopListening);
        if (this.#ended.signal.aborted) return;
        if (!status.ok) return this.#end();
        if (status.value.seq === seq && spoken.signal.aborted) continue;
        if (status.value.seq === seq) return this.#send(': still here\n\n');
        const job = await engine.job(caller, id);
        if (!job.ok) return this.#end();
        this.#job = job.value;
      }
    } catch (error) {
      this.#surface.log.debug({ request_id: this.#asked.c.requestId }, 'an event stream lost its store');
      this.#end(error);
    }
  }

  /** @returns whether there was anything to send */
  #sendFresh(): boolean {
    const fresh = eventsJson(this.#job.events).filter(({ seq }) => seq > this.#sent);
    const last = fresh.at(-1);
    if (last === undefined) return false;
    this.#sent = last.seq;
    const told = fresh.map(
      (event) => `id: ${event.seq}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`,
    );
    this.#send(told.join('') + this.#reset(last.type === 'running' ? last.attempt : 0));
    return true;
  }

  /** @returns whether there was anything to send */
  #sendPartial(): boolean {
    const spoken = this.#surface.engine.liveText.of(this.#asked.id);
    if (spoken === null || spoken.attempt < (this.#partial?.attempt ?? 0)) return false;
    const { attempt } = spoken;
    const reset = this.#reset(attempt);
    const text = spoken.text.slice(this.#partial?.length ?? 0);
    if (text === '') return false;
    this.#partial = { attempt, length: spoken.text.length };
    this.#send(`${reset}event: partial\ndata: ${JSON.stringify({ attempt, text })}\n\n`);
    return true;
  }

  /** What the reader has of an earlier attempt is void once another one runs. */
  #reset(attempt: number): string {
    if (this.#partial === null || this.#partial.attempt >= attempt) return '';
    this.#partial = null;
    return `event: reset\ndata: ${JSON.stringify({ attempt })}\n\n`;
  }

  #send(text: string): void {
    if (!this.#ended.signal.aborted) this.#controller?.enqueue(this.#encoder.encode(text));
  }

  #recheckLater(): void {
    const { clock, streams } = this.#surface;
    this.#stopTimer = clock.after(streams.recheckMs, () => void this.#recheck(), { unref: true });
  }

  async #recheck(): Promise<void> {
    const { engine } = this.#surface;
    // where the store does not answer, nothing is known against the key
    const valid = await engine.authenticate(this.#asked.token).then(
      (caller) => caller !== null,
      () => true,
    );
    if (this.#ended.signal.aborted) return;
    if (valid) this.#recheckLater();
    else this.#end();
  }

  #end(error?: unknown): void {
    if (this.#ended.signal.aborted) return;
    this.#ended.abort();
    this.#stopTimer();
    this.#count(-1);
    const outgoing = this.#asked.c.socket?.outgoing;
    // an end by mistake must not look like the end of the history; and whoever does not read sees no end at all
    if (error !== undefined || outgoing?.writableNeedDrain === true) outgoing?.destroy();
    try {
      if (error === undefined || outgoing !== undefined) this.#controller?.close();
      else this.#controller?.error(error);
    } catch {
      // the reader cancelled it already
    }
  }

  #count(change: 1 | -1): void {
    const { openStreams } = this.#surface;
    const { actor } = this.#asked.caller;
    const open = (openStreams.get(actor) ?? 0) + change;
    if (open === 0) openStreams.delete(actor);
    else openStreams.set(actor, open);
  }
}
