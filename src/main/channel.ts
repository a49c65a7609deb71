/**
 * What `serve` and its worker process say to each other over Node's IPC channel.
 *
 * The worker shares its process with the jobs, and so with whatever code they load. The way to speak is taken out of their
 * reach before any of it is loaded, and what arrives is read as if a stranger had sent it: a message
 * counts only where it has a known shape and, from the worker, the nonce of its start.
 */
import { MAX_PARTIAL } from '../ports/wakeups.ts';
import type { Wakeup, Wakeups } from '../ports/wakeups.ts';
import type { FlagValues } from './settings.ts';

/** What a worker process needs to open the same store and workflows as its supervisor. */
export interface WorkerStart {
  flags: FlagValues;
  /** Whether the built-in examples are known besides the user's workflows. */
  demo: boolean;
}

export type ToWorker =
  /** `nonce` is known to the two ends alone; what the worker says carries it. */
  | { type: 'start'; start: WorkerStart; beatMs: number; nonce: string }
  /** Claim no more, end in bounded time, exit 0. */
  | { type: 'stop' }
  | { type: 'wakeups'; wakeups: Wakeup[] };

export type FromWorker =
  /** Sent before the first claim, and again whenever the worker had to open another session. */
  | { type: 'session'; session: string }
  /** Says that the event loop turns. */
  | { type: 'beat' }
  | { type: 'wakeups'; wakeups: Wakeup[] };

/** As many wake-ups as one message may carry. */
const MAX_WAKEUPS = 1_000;
const MAX_ID_LENGTH = 100;
const SESSION = /^ses_[0-9A-Z]{26}$/;

/** What the worker said; null where it was somebody else, or is no message of ours. */
export function readFromWorker(message: unknown, nonce: string): FromWorker | null {
  if (!isObject(message) || message['nonce'] !== nonce) return null;
  const { type, session, wakeups } = message;
  if (type === 'beat') return { type };
  if (type === 'session' && typeof session === 'string' && SESSION.test(session)) return { type, session };
  if (type === 'wakeups' && areWakeups(wakeups)) return { type, wakeups };
  return null;
}

/** What the supervisor said; null where it is no message of ours. */
export function readToWorker(message: unknown): ToWorker | null {
  if (!isObject(message)) return null;
  const { type, start, beatMs, nonce, wakeups } = message;
  if (type === 'stop') return { type };
  if (type === 'wakeups' && areWakeups(wakeups)) return { type, wakeups };
  const isStart =
    type === 'start' && isObject(start) && typeof beatMs === 'number' && typeof nonce === 'string';
  return isStart ? (message as ToWorker) : null;
}

function areWakeups(value: unknown): value is Wakeup[] {
  return Array.isArray(value) && value.length <= MAX_WAKEUPS && value.every(isWakeup);
}

function isWakeup(value: unknown): value is Wakeup {
  if (!isObject(value)) return false;
  const { type, jobId, session } = value;
  if (type === 'partial') return isId(jobId) && isPartial(value);
  return type === 'queued' || (type === 'moved' && isId(jobId)) || (type === 'revoked' && isId(session));
}

function isPartial({ attempt, text }: Record<string, unknown>): boolean {
  return Number.isSafeInteger(attempt) && typeof text === 'string' && text.length <= MAX_PARTIAL;
}

function isId(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MAX_ID_LENGTH;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

/**
 * Takes `process.send` away from everybody who comes later in this process, and gives it back as a function. A job then finds what it finds in a
 * process that has no channel. `process.disconnect` stays: Node calls it itself when the channel breaks, and whoever
 * else does ends this process only.
 */
export function takeSend(): (message: object, sent?: () => void) => void {
  const send = process.send?.bind(process);
  delete process.send;
  return (message, sent = () => {}) => {
    // A channel that is gone ends this process by its own event.
    if (process.connected) send?.(message, undefined, undefined, sent);
  };
}

/**
 * Carries one process's wake-ups over a channel, those of one turn of the event loop together, and passes
 * on those that arrive. What came from the other side is not sent back to it.
 */
export function bridge(params: {
  wakeups: Wakeups;
  /** The types that the other side can use. */
  carries: readonly Wakeup['type'][];
  send: (wakeups: Wakeup[]) => void;
}): { arrived: (wakeups: readonly Wakeup[]) => void; close: () => void } {
  const { wakeups, carries, send } = params;
  const pending = new Map<string, Wakeup>();
  let arriving = false;
  let partials = 0;

  function flush(): void {
    const batch = [...pending.values()];
    pending.clear();
    for (let at = 0; at < batch.length; at += MAX_WAKEUPS) send(batch.slice(at, at + MAX_WAKEUPS));
  }

  const close = wakeups.on((wakeup) => {
    if (arriving || !carries.includes(wakeup.type)) return;
    if (pending.size === 0) setImmediate(flush);
    const key = identity(wakeup) ?? `partial ${(partials += 1)}`;
    pending.delete(key); // so that a move stays behind the text of the attempt that it ends
    pending.set(key, wakeup);
  });
  const arrived = (batch: readonly Wakeup[]) => {
    arriving = true;
    for (const wakeup of batch) wakeups.emit(wakeup);
    arriving = false;
  };
  return { arrived, close };
}

/** Equal for two wake-ups that say the same; null where none says what another did. */
function identity(wakeup: Wakeup): string | null {
  switch (wakeup.type) {
    case 'partial':
      return null;
    case 'queued':
      return 'queued';
    case 'moved':
      return wakeup.jobId;
    case 'revoked':
      return wakeup.session;
  }
}
