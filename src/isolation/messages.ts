/**
 * What a worker and an isolated process say to each other, beside the pool's own messages.
 *
 * A process works in stints, each of one attempt at most, and every message carries the nonce of its stint: whatever an
 * earlier attempt left behind in the process has no voice. What the process says is read as if a stranger had said it.
 */
import type { ClaimedJob, Lane } from '../ports/job-store.ts';
import type { CallEnd, CallOpening } from '../domain/model-call.ts';
import type { CallSize, StoredResponse } from '../ports/models.ts';
import { isCount, isEnd, isOpening, isPartial, isSize, isStored } from './calls.ts';
import { isErrorData } from './errors.ts';
import type { ErrorData } from './errors.ts';

/** A stint: the process loads its workflows where it has not yet, says so, and waits for an attempt. */
export interface Stint {
  nonce: string;
  /** The worker's process: without it, there is nobody to work for. */
  parentPid: number;
  /** The most that the process may take, all in all. */
  memoryBytes: number;
  /** What to load. */
  load: unknown;
}

export type ToProcess =
  | { type: 'run'; job: ClaimedJob; maxOutputBytes: number }
  /** The stint ends without an attempt. */
  | { type: 'dismiss' }
  | { type: 'abort'; ending: string }
  | { type: 'answer'; call: number; value: unknown }
  | { type: 'refuse'; call: number; error: ErrorData };

/** What a function asks of its worker. */
export type Ask =
  | { verb: 'file' }
  /** The next bytes of the file, or null at its end. A stream begins with its first read. */
  | { verb: 'read'; stream: number }
  | { verb: 'close'; stream: number }
  /** Whether a call to a model may be made. */
  | { verb: 'begin'; opening: CallOpening; size: CallSize }
  /** Answered when the end of a call is durable. */
  | ({ verb: 'end' } & CallEnded)
  /** Keeps an artifact. `body` is null where it comes in chunks. */
  | { verb: 'keep'; place: number; body: Uint8Array | null; mediaType: string }
  /** Answered when it was taken; `bytes` is null at the end, and `broken` where the rest will not come. */
  | { verb: 'chunk'; place: number; bytes: Uint8Array | null; broken: boolean };

/** How a call to a model ended. */
interface CallEnded {
  n: number;
  end: CallEnd;
  response: StoredResponse | null;
  retryAfterMs: number | null;
}

export type FromProcess =
  | { type: 'ready'; pid: number; lanes: Lane[] }
  | { type: 'failed'; problem: string }
  | { type: 'log'; level: Level; fields: LogFields; message: string }
  | { type: 'progress'; fraction: number; note: string | null }
  /** What a streamed answer gave since the last of these. */
  | { type: 'partial'; text: string }
  | { type: 'call'; call: number; ask: Ask }
  /** `clean`: nothing of the attempt is left, so the process may run another. */
  | { type: 'ended'; end: EndData; clean: boolean };

export type Level = 'debug' | 'info' | 'warn' | 'error';
export type LogFields = Record<string, number | boolean | ErrorData>;

/** How the function ended, as its process says. */
export interface EndData {
  output?: unknown;
  artifacts?: unknown;
  thrown?: unknown;
}

const LEVELS: readonly unknown[] = ['debug', 'info', 'warn', 'error'] satisfies Level[];
const MAX_TEXT = 1_000;

type Fields = Record<string, unknown>;

/** What the process said; null where it was somebody else, or is no message of ours. */
export function readFromProcess(message: unknown, nonce: string): FromProcess | null {
  if (!isObject(message) || message['nonce'] !== nonce) return null;
  const isWhole = SHAPES.get(message['type']);
  return isWhole?.(message) === true ? (message as unknown as FromProcess) : null;
}

const SHAPES = new Map<unknown, (message: Fields) => boolean>([
  ['ready', ({ pid, lanes }) => isNumber(pid) && Array.isArray(lanes) && lanes.every(isLane)],
  ['failed', ({ problem }) => isText(problem)],
  ['log', ({ level, fields, message }) => LEVELS.includes(level) && areFields(fields) && isText(message)],
  ['progress', ({ fraction, note }) => isNumber(fraction) && (note === null || isText(note))],
  ['call', ({ call, ask }) => isNumber(call) && isObject(ask) && ASKS.get(ask['verb'])?.(ask) === true],
  ['partial', ({ text }) => isPartial(text)],
  ['ended', ({ end, clean }) => isObject(end) && typeof clean === 'boolean'],
]);

const ASKS = new Map<unknown, (ask: Fields) => boolean>([
  ['file', () => true],
  ['read', ({ stream }) => isNumber(stream)],
  ['close', ({ stream }) => isNumber(stream)],
  ['begin', ({ opening, size }) => isOpening(opening) && isSize(size)],
  [
    'end',
    ({ n, end, response, retryAfterMs }) =>
      isCount(n) && isEnd(end) && isStored(response) && (retryAfterMs === null || isCount(retryAfterMs)),
  ],
  ['keep', ({ place, body, mediaType }) => isNumber(place) && isBytesOrNull(body) && isText(mediaType)],
  [
    'chunk',
    ({ place, bytes, broken }) => isNumber(place) && isBytesOrNull(bytes) && typeof broken === 'boolean',
  ],
]);

function isLane(lane: unknown): boolean {
  return (
    isObject(lane) &&
    isText(lane['workflow']) &&
    isText(lane['version']) &&
    isText(lane['outputSchemaSha256'])
  );
}

function areFields(fields: unknown): boolean {
  return isObject(fields) && Object.values(fields).every(isLogged);
}

function isLogged(value: unknown): boolean {
  return typeof value === 'number' || typeof value === 'boolean' || isErrorData(value);
}

function isBytesOrNull(value: unknown): boolean {
  return value === null || value instanceof Uint8Array;
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value.length <= MAX_TEXT;
}

function isNumber(value: unknown): boolean {
  return typeof value === 'number' && Number.isFinite(value);
}

export function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null;
}
