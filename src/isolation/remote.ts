/**
 * What a function has of its worker inside an isolated process: each call is a message, and its answer another. Once the
 * attempt is over, what is left of it here has no voice any more.
 */
import { Readable } from 'node:stream';
import type { ArtifactRef } from '../domain/record.ts';
import { BlobTooLargeError } from '../ports/blob-store.ts';
import type { AttemptHost } from '../ports/isolation.ts';
import type { CallDesk } from '../ports/models.ts';
import type { Log } from '../ports/telemetry.ts';
import type { Upload } from '../ports/upload-store.ts';
import { errorData, errorOf } from './errors.ts';
import type { ErrorData } from './errors.ts';
import type { Ask, FromProcess, Level, LogFields } from './messages.ts';

/** Hands a message over; `sent` is called when the channel has taken it. */
export type Post = (message: FromProcess, sent?: () => void) => void;

interface Call {
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
}

const PROGRESS_EVERY_MS = 100;
const PARTIAL_EVERY_MS = 100;
const MAX_PARTIAL = 100_000;
/** Lines that the channel has not taken yet: a loop that writes without a pause is not followed further. */
const MAX_LINES_UNDERWAY = 1000;
const MAX_LINE = 1000;

export class Remote implements AttemptHost {
  readonly log: Log = this.#logWith({});
  readonly calls: CallDesk = {
    begin: (opening, size) => this.#ask({ verb: 'begin', opening, size }),
    end: (n, end, response, retryAfterMs) => this.#ask({ verb: 'end', n, end, response, retryAfterMs }),
    partial: (text) => this.#gather(text),
  };
  readonly #post: Post;
  readonly #calls = new Map<number, Call>();
  #lastCall = 0;
  #lastStream = 0;
  #linesUnderway = 0;
  #progress: { fraction: number; note: string | null } | null = null;
  #progressAtMs = Number.NEGATIVE_INFINITY;
  #partial = '';
  #over = false;

  constructor(post: Post) {
    this.#post = post;
  }

  async file(): ReturnType<AttemptHost['file']> {
    const file = await this.#ask<{ upload: Upload; bytes: number } | null>({ verb: 'file' });
    return file === null ? null : { ...file, stream: () => Readable.from(this.#read()) };
  }

  /** The newest wins, and is sent some times a second at most: at once where none was for a while. */
  progress(fraction: number, note: string | null): void {
    const isWaiting = this.#progress !== null;
    this.#progress = { fraction, note };
    const waitMs = this.#progressAtMs + PROGRESS_EVERY_MS - performance.now();
    if (waitMs <= 0) this.#sayProgress();
    else if (!isWaiting) setTimeout(() => this.#sayProgress(), waitMs).unref();
  }

  async keep(
    place: number,
    body: Uint8Array | AsyncIterable<Uint8Array>,
    mediaType: string,
  ): Promise<ArtifactRef> {
    if (body instanceof Uint8Array) return this.#ask({ verb: 'keep', place, body, mediaType });
    const kept = this.#ask<ArtifactRef>({ verb: 'keep', place, body: null, mediaType });
    await Promise.race([this.#pour(place, body), kept]);
    return kept;
  }

  answered(call: number, value: unknown): void {
    this.#take(call)?.resolve(value);
  }

  refused(call: number, error: ErrorData): void {
    this.#take(call)?.reject(errorOf(error));
  }

  /** The attempt is over. */
  end(): void {
    if (this.#progress !== null) this.#sayProgress();
    this.#sayPartial();
    this.#over = true;
    for (const call of this.#calls.keys()) this.#take(call)?.reject(isOver());
  }

  #logWith(bound: object): Log {
    const at = (level: Level) => (fields: unknown, message: unknown) => {
      if (typeof fields === 'string') this.#write(level, bound, fields);
      else this.#write(level, { ...bound, ...(fields as object) }, message);
    };
    return {
      debug: at('debug'),
      info: at('info'),
      warn: at('warn'),
      error: at('error'),
      child: (fields) => this.#logWith({ ...bound, ...fields }),
    };
  }

  #write(level: Level, fields: object, message: unknown): void {
    if (this.#over || this.#linesUnderway >= MAX_LINES_UNDERWAY) return;
    this.#linesUnderway += 1;
    const text = typeof message === 'string' ? message.slice(0, MAX_LINE) : '';
    this.#post({ type: 'log', level, fields: fieldsData(fields), message: text }, () => {
      this.#linesUnderway -= 1;
    });
  }

  #sayProgress(): void {
    const progress = this.#progress;
    this.#progress = null;
    if (progress === null || this.#over) return;
    this.#progressAtMs = performance.now();
    this.#post({ type: 'progress', ...progress });
  }

  /** Text of one moment goes together. */
  #gather(text: string): void {
    if (this.#partial === '' && text !== '') setTimeout(() => this.#sayPartial(), PARTIAL_EVERY_MS).unref();
    if (this.#partial.length < MAX_PARTIAL) this.#partial += text;
  }

  #sayPartial(): void {
    const text = this.#partial.slice(0, MAX_PARTIAL);
    this.#partial = '';
    if (text !== '' && !this.#over) this.#post({ type: 'partial', text });
  }

  async *#read(): AsyncGenerator<Uint8Array> {
    const stream = (this.#lastStream += 1);
    try {
      for (;;) {
        const bytes = await this.#ask<Uint8Array | null>({ verb: 'read', stream });
        if (bytes === null) return;
        yield bytes;
      }
    } finally {
      if (!this.#over) this.#ask({ verb: 'close', stream }).catch(() => {});
    }
  }

  /** Ends early where a chunk is refused: the refusal of the whole says why. */
  async #pour(place: number, body: AsyncIterable<Uint8Array>): Promise<void> {
    const isTaken = (bytes: Uint8Array | null, broken = false) =>
      this.#ask({ verb: 'chunk', place, bytes, broken }).then(
        () => true,
        () => false,
      );
    try {
      for await (const bytes of body) if (!(await isTaken(bytes))) return;
      await isTaken(null);
    } catch (error) {
      await isTaken(null, true);
      throw error;
    }
  }

  #ask<Value>(ask: Ask): Promise<Value> {
    return new Promise((resolve, reject) => {
      if (this.#over) throw isOver();
      const call = (this.#lastCall += 1);
      this.#post({ type: 'call', call, ask });
      this.#calls.set(call, { resolve: (value) => resolve(value as Value), reject });
    });
  }

  #take(call: number): Call | undefined {
    const found = this.#calls.get(call);
    this.#calls.delete(call);
    return found;
  }
}

/**
 * An artifact's body of which no piece passes `maxBytes`: what is too large for sure is refused here, before the worker and
 * its other attempts have to make room for a copy.
 * @throws BlobTooLargeError
 */
export function boundedBody(
  body: Uint8Array | AsyncIterable<Uint8Array>,
  maxBytes: number,
): Uint8Array | AsyncIterable<Uint8Array> {
  return body instanceof Uint8Array ? boundedPiece(body, maxBytes) : boundedPieces(body, maxBytes);
}

async function* boundedPieces(body: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Uint8Array> {
  for await (const bytes of body) yield boundedPiece(bytes, maxBytes);
}

function boundedPiece(bytes: Uint8Array, maxBytes: number): Uint8Array {
  if (bytes.byteLength <= maxBytes) return bytes;
  throw new BlobTooLargeError(`an artifact is larger than ${maxBytes} bytes`);
}

function isOver(): Error {
  return new Error('the attempt that asks is over');
}

/** Numbers and booleans, and errors: what a workflow's log keeps. */
function fieldsData(fields: object): LogFields {
  const kept: LogFields = {};
  for (const [name, value] of Object.entries(fields) as [string, unknown][]) {
    if (value instanceof Error) kept[name] = errorData(value);
    else if (typeof value === 'number' || typeof value === 'boolean') kept[name] = value;
  }
  return kept;
}
