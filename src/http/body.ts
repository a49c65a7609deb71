/** Reading what a request carries, never more of it than allowed and never for longer. */
import type { IncomingMessage } from 'node:http';
import { readJson } from '../domain/json-text.ts';
import type { JsonValue } from '../domain/json.ts';
import type { Clock } from '../ports/clock.ts';
import type { Ctx, Surface } from './endpoint.ts';
import { closing, invalidRequest, problem } from './problems.ts';
import type { Parsed, Problem } from './problems.ts';

/** Thrown out of a body that is being read by somebody else, to come back as its problem. */
export class BodyRefused extends Error {
  readonly problem: Problem;

  constructor(refusal: Problem) {
    super(refusal.detail);
    this.problem = refusal;
  }
}

/** A promise only where the body is not there yet. */
export function readJsonBody(
  c: Ctx,
  { limits, clock }: Surface,
): Parsed<JsonValue> | Promise<Parsed<JsonValue>> {
  const { bodyBytes: maxBytes, bodyMs: totalMs } = limits;
  const refusal = wrongType(c.header('content-type')) ?? encoded(c) ?? tooLong(c, maxBytes);
  if (refusal !== null) return refusal;
  const bytes = arrived(c, maxBytes);
  if (bytes !== null) return jsonOf(bytes);
  return wholeBody(c, { maxBytes, totalMs, clock }).then(jsonOf, problemOf);
}

function jsonOf(bytes: Uint8Array): Parsed<JsonValue> {
  const read = readJson(bytes);
  return read.ok ? read : invalidRequest([read.issue]);
}

function problemOf(error: unknown): Problem {
  if (error instanceof BodyRefused) return error.problem;
  throw error;
}

/**
 * A small body mostly came together with its head: then there is nothing to wait for. Its end is not always known yet, but its length is.
 */
function arrived(c: Ctx, maxBytes: number): Uint8Array | null {
  if (c.socket === null) return null;
  const { incoming } = c.socket;
  const bytes = incoming.readableLength;
  const whole = incoming.complete || (bytes > 0 && bytes === Number(c.header('content-length')));
  if (!whole || bytes > maxBytes) return null;
  const body = (incoming.read() as Uint8Array | null) ?? NO_BYTES;
  if (!incoming.complete) incoming.resume(); // towards its end, or Node would hold the request until the next one
  return body;
}

interface WholeLimits {
  maxBytes: number;
  totalMs: number;
  clock: Clock;
}

async function wholeBody(c: Ctx, limits: WholeLimits): Promise<Uint8Array> {
  if (c.socket !== null) {
    c.socket.sendContinue?.();
    return collected(c.socket.incoming, limits);
  }
  const parts: Uint8Array[] = [];
  for await (const chunk of bodyChunks(c, limits)) parts.push(chunk);
  return Buffer.concat(parts);
}

/** With listeners of our own: an iterator of the stream takes longer than all else that a small request needs. */
function collected(
  incoming: IncomingMessage,
  { maxBytes, totalMs, clock }: WholeLimits,
): Promise<Uint8Array> {
  if (incoming.destroyed) return Promise.reject(brokenOff()); // who left before has been told of already
  return new Promise((resolve, reject) => {
    const parts: Uint8Array[] = [];
    let bytes = 0;
    const stopTimer = clock.after(totalMs, () => refuse(tooSlow()));
    const take = (chunk: Uint8Array) => {
      bytes += chunk.byteLength;
      parts.push(chunk);
      if (bytes > maxBytes) refuse(tooLarge(maxBytes));
    };
    const end = () => {
      leave();
      resolve(parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts));
    };
    const breakOff = () => refuse(brokenOff());
    const refuse = (refusal: BodyRefused) => {
      leave();
      incoming.pause(); // who answers reads the rest
      reject(refusal);
    };
    const leave = () => {
      stopTimer();
      incoming.off('data', take).off('end', end).off('close', breakOff).off('error', breakOff);
    };
    incoming.on('data', take).on('end', end).on('close', breakOff).on('error', breakOff);
  });
}

function tooLong(c: Ctx, maxBytes: number): Problem | null {
  return Number(c.header('content-length') ?? 0) > maxBytes ? tooLarge(maxBytes).problem : null;
}

/** Compressed bodies are refused, so a small one cannot grow. */
export function encoded(c: Ctx): Problem | null {
  const encoding = c.header('content-encoding')?.trim().toLowerCase() ?? 'identity';
  if (encoding === 'identity' || encoding === '') return null;
  return closing(problem('unsupported_media_type', 'Send the body as it is, without a Content-Encoding.'));
}

function wrongType(contentType: string | undefined): Problem | null {
  if (contentType === 'application/json') return null;
  const [media = '', ...parameters] = (contentType ?? '')
    .toLowerCase()
    .split(';')
    .map((part) => part.trim());
  if (!/^application\/(?:[\w.-]+\+)?json$/.test(media)) {
    return closing(problem('unsupported_media_type', 'Send JSON, with Content-Type: application/json.'));
  }
  const charset = parameters.find((parameter) => parameter.startsWith('charset='));
  if (charset === undefined || /^charset="?utf-?8"?$/.test(charset)) return null;
  return closing(problem('unsupported_media_type', 'Send JSON in UTF-8.'));
}

interface ChunkLimits {
  maxBytes: number;
  /** For the whole body. */
  totalMs?: number;
  /** How long it may stand still; and behind `MIN_BYTES_PER_S` it may never be by more than this. */
  idleMs?: number;
  clock: Clock;
}

const MIN_BYTES_PER_S = 1024;

/**
 * The body, piece by piece. A length that was declared is checked before anything is read and then not believed.
 * @throws BodyRefused where it is too large, too slow, or ends too early
 */
export async function* bodyChunks(c: Ctx, limits: ChunkLimits): AsyncGenerator<Uint8Array> {
  const { maxBytes, totalMs, idleMs = Infinity, clock } = limits;
  const refusal = tooLong(c, maxBytes);
  if (refusal !== null) throw new BodyRefused(refusal);
  c.socket?.sendContinue?.();
  const end = clock.monotonicMs() + (totalMs ?? Infinity);
  const body = open(c);
  let bytes = 0;
  let waitedMs = 0; // for the client alone: a slow disk is not its fault
  try {
    for (;;) {
      const paceMs = idleMs + (bytes / MIN_BYTES_PER_S) * 1000 - waitedMs;
      const began = clock.monotonicMs();
      const { done, value } = await inTime(body.read(), Math.min(idleMs, paceMs, end - began), clock);
      if (done === true) return;
      waitedMs += clock.monotonicMs() - began;
      bytes += value.byteLength;
      if (bytes > maxBytes) throw tooLarge(maxBytes);
      yield value;
    }
  } finally {
    body.release();
  }
}

interface OpenBody {
  read(): Promise<{ done?: boolean; value: Uint8Array }>;
  /** Leaves the rest unread. */
  release(): void;
}

function open(c: Ctx): OpenBody {
  if (c.socket !== null) {
    const chunks = c.socket.incoming.iterator({ destroyOnReturn: false }) as AsyncIterator<
      Uint8Array,
      Uint8Array
    >;
    return { read: () => chunks.next(), release: () => void chunks.return?.().catch(() => undefined) };
  }
  const reader = c.stream?.getReader();
  if (reader === undefined) return { read: async () => NOTHING_MORE, release() {} };
  return { read: () => reader.read() as ReturnType<OpenBody['read']>, release: () => reader.releaseLock() };
}

const NO_BYTES = new Uint8Array();
const NOTHING_MORE = { done: true, value: NO_BYTES };

function tooLarge(maxBytes: number): BodyRefused {
  return new BodyRefused(closing(problem('too_large', `The body is larger than ${maxBytes} bytes.`)));
}

function tooSlow(): BodyRefused {
  return new BodyRefused(closing(problem('request_timeout', 'The body did not arrive in time.')));
}

function brokenOff(): BodyRefused {
  return new BodyRefused(closing(problem('invalid_request', 'The connection ended before the body did.')));
}

function inTime<T>(reading: Promise<T>, waitMs: number, clock: Clock): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = clock.after(Math.max(waitMs, 0), () => reject(tooSlow()));
    reading.then(resolve, () => reject(brokenOff())).finally(stop);
  });
}
