/** Answers what one isolated function asks of its worker, until its attempt is over. */
import { PassThrough } from 'node:stream';
import type { Readable } from 'node:stream';
import type { AttemptHost } from '../ports/isolation.ts';
import { errorData, errorOf } from './errors.ts';
import type { Ask, FromProcess, LogFields, ToProcess } from './messages.ts';

/** What comes while the function runs. */
type Said = Extract<FromProcess, { type: 'log' | 'progress' | 'partial' | 'call' }>;

export class Desk {
  readonly #host: AttemptHost;
  readonly #post: (message: ToProcess) => void;
  readonly #streams = new Map<number, { stream: Readable; chunks: AsyncIterator<unknown> }>();
  /** Artifacts that come in chunks, by their place. */
  readonly #bodies = new Map<number, PassThrough>();
  #closed = false;

  constructor(host: AttemptHost, post: (message: ToProcess) => void) {
    this.#host = host;
    this.#post = post;
  }

  hear(said: Said): void {
    switch (said.type) {
      case 'log':
        return this.#host.log[said.level](fieldsOf(said.fields), said.message);
      case 'progress':
        return this.#host.progress(said.fraction, said.note);
      case 'partial':
        return this.#host.calls.partial(said.text);
      case 'call':
        return void this.#serve(said.call, said.ask);
    }
  }

  /** The attempt is over: no answer is sent any more. */
  close(): void {
    this.#closed = true;
    for (const { stream } of this.#streams.values()) stream.destroy();
    for (const body of this.#bodies.values()) body.destroy();
  }

  async #serve(call: number, ask: Ask): Promise<void> {
    const answer = await this.#answer(ask).then(
      (value): ToProcess => ({ type: 'answer', call, value }),
      (error: unknown): ToProcess => ({ type: 'refuse', call, error: errorData(error) }),
    );
    if (this.#closed) return;
    try {
      this.#post(answer);
    } catch (error) {
      this.#post({ type: 'refuse', call, error: errorData(error) }); // an answer that is no plain data
    }
  }

  async #answer(ask: Ask): Promise<unknown> {
    switch (ask.verb) {
      case 'file': {
        const file = await this.#host.file();
        return file === null ? null : { upload: file.upload, bytes: file.bytes };
      }
      case 'read':
        return this.#read(ask.stream);
      case 'close':
        return void this.#streams.get(ask.stream)?.stream.destroy();
      case 'begin':
        return this.#host.calls.begin(ask.opening, ask.size);
      case 'end':
        return this.#host.calls.end(ask.n, ask.end, ask.response, ask.retryAfterMs);
      case 'keep':
        return this.#keep(ask.place, ask.body, ask.mediaType);
      case 'chunk':
        return this.#take(ask);
    }
  }

  async #read(number: number): Promise<unknown> {
    const { chunks } = this.#streams.get(number) ?? (await this.#open(number));
    const next = await chunks.next();
    return next.done === true ? null : next.value;
  }

  async #open(number: number) {
    const file = await this.#host.file();
    if (file === null || this.#closed) throw new Error('the file is no longer kept');
    const stream = file.stream();
    const opened = { stream, chunks: stream[Symbol.asyncIterator]() as AsyncIterator<unknown> };
    this.#streams.set(number, opened);
    return opened;
  }

  async #keep(place: number, whole: Uint8Array | null, mediaType: string): Promise<unknown> {
    if (whole !== null) return this.#host.keep(place, whole, mediaType);
    const body = this.#body(place);
    try {
      return await this.#host.keep(place, body, mediaType);
    } finally {
      body.destroy();
    }
  }

  /** Resolves when there is room for the next. */
  #take({ place, bytes, broken }: Extract<Ask, { verb: 'chunk' }>): Promise<void> {
    const body = this.#body(place);
    return new Promise((resolve, reject) => {
      const taken = (error?: Error | null) => (error ? reject(error) : resolve());
      if (bytes !== null) return void body.write(bytes, taken);
      if (broken) body.destroy(new Error('the body broke off'));
      else body.end();
      resolve();
    });
  }

  #body(place: number): PassThrough {
    const known = this.#bodies.get(place);
    if (known !== undefined) return known;
    const body = new PassThrough();
    body.on('error', () => {}); // its reader and its writer hear of it by themselves
    this.#bodies.set(place, body);
    return body;
  }
}

function fieldsOf(fields: LogFields): object {
  const entries = Object.entries(fields).map(([name, value]) => [
    name,
    typeof value === 'object' ? errorOf(value) : value,
  ]);
  return Object.fromEntries(entries) as object;
}
