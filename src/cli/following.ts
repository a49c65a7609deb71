/**
 * Following a job over a connection that may break: each stream goes on after the last event that was seen.
 *
 * A stream that breaks is taken up again at once, which is all that a proxy with a short patience needs. Where that fails
 * too, the server is lost: that is said, and it is asked again with growing pauses, for a bounded time.
 */
import type { EventJson } from '../domain/view.ts';
import { isTerminal } from './desk.ts';
import { EXIT, Problem } from './problem.ts';

export interface Source {
  /** Opens one stream of the events after `seq`; resolves once the server has answered. */
  open(seq: number, signal: AbortSignal): Promise<AsyncIterable<EventJson>>;
  /** Whether the job's state is terminal now. */
  hasEnded(signal: AbortSignal): Promise<boolean>;
}

export interface Patience {
  /** The first pause; each further one is twice as long, up to 5 s. */
  reconnectMs: number;
  /** How long a server may be lost. */
  giveUpMs: number;
}

const LONGEST_PAUSE_MS = 5_000;
/** A stream that stood for so long was no part of an outage, even where nothing happened to the job. */
const STOOD_MS = 10_000;

interface Outage {
  sinceMs: number;
  tries: number;
}

/** @throws Problem where the server stayed lost */
export async function* followSource(
  source: Source,
  { reconnectMs, giveUpMs }: Patience,
  { signal, onLost }: { signal: AbortSignal; onLost: () => void },
): AsyncGenerator<EventJson> {
  let seen = 0;
  let mayBeOver = false;
  let outage: Outage | null = null;
  while (!signal.aborted) {
    const before: number = seen;
    let openedMs = Number.POSITIVE_INFINITY;
    let cause: unknown = null;
    try {
      // A terminal event is the end, unless the job was replayed since.
      if (mayBeOver && (await source.hasEnded(signal))) return;
      const events = await source.open(seen, signal);
      openedMs = performance.now();
      for await (const event of events) {
        seen = event.seq;
        mayBeOver = isTerminal(event.to);
        yield event;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (!isBreak(error, seen)) throw error;
      cause = error;
    }
    const nowMs = performance.now();
    if (seen > before || nowMs - openedMs >= STOOD_MS) outage = null;
    outage ??= { sinceMs: nowMs, tries: 0 };
    if (outage.tries === 1) onLost();
    if (outage.tries > 0 && nowMs - outage.sinceMs >= giveUpMs) throw lost(cause, nowMs - outage.sinceMs);
    await pause(outage.tries, reconnectMs);
    outage.tries += 1;
  }
}

async function pause(tries: number, reconnectMs: number): Promise<void> {
  if (tries === 0) return;
  const ms = Math.min(LONGEST_PAUSE_MS, reconnectMs * 2 ** (tries - 1));
  await new Promise((resolve) => setTimeout(resolve, ms));
}

/** Whether a stream may be taken up again. Where nothing was ever heard, an address that does not answer is none. */
function isBreak(error: unknown, seen: number): boolean {
  if (!(error instanceof Problem)) return true;
  return seen > 0 && error.exitCode === EXIT.unavailable;
}

function lost(cause: unknown, ms: number): Problem {
  const what =
    cause instanceof Problem ? cause.message.replace(/\.$/, '') : 'The event stream keeps breaking';
  const sentence = `${what}; that has lasted for ${Math.round(ms / 1000)} s. How the job went on is not known here.`;
  return new Problem(sentence, EXIT.unavailable, { cause });
}
