/**
 * How many attempts a worker dares to hold after the one before it crashed.
 *
 * A job that takes its worker down goes back into the queue with all those that ran beside it, in their old places. Claimed
 * together again, they would all lose attempt after attempt to the one. So the next worker runs them one at a
 * time, until as many as were lost have ended: the culprit meets its end alone.
 *
 * After a single crash the cause may as well be outside (somebody killed the process), and a hundred long jobs one
 * at a time are no recovery: after a few seconds of life the worker dares twice as many each second; after another
 * crash, after a minute. A claim that brings nothing ends the caution: none of those that were lost waits any more.
 */
import type { Clock } from '../ports/clock.ts';
import type { ClaimedJob } from '../ports/job-store.ts';

/** What is known of the crash. */
export interface Crash {
  /** Jobs that were lost with the worker. */
  suspects: number;
  /** The worker that crashed was itself a cautious one. */
  again: boolean;
}

export interface Caution {
  /** Attempts that may be held now. */
  width(): number;
  /** An attempt has ended, and the worker still lives. */
  ended(job: Pick<ClaimedJob, 'used'>): void;
  /** A claim brought nothing. */
  idle(): void;
}

const PATIENCE_MS = 5000;
const LONGER_PATIENCE_MS = 60_000;
const DOUBLING_MS = 1000;

export function createCaution({
  clock,
  full,
  crash,
}: {
  clock: Clock;
  full: number;
  crash: Crash | null;
}): Caution {
  const calmFromMs = clock.monotonicMs() + (crash?.again === true ? LONGER_PATIENCE_MS : PATIENCE_MS);
  let suspects = crash?.suspects ?? 0;
  return {
    width() {
      if (suspects <= 0) return full;
      const calmMs = clock.monotonicMs() - calmFromMs;
      if (calmMs < 0) return 1;
      return Math.min(full, 2 ** Math.min(30, 1 + Math.floor(calmMs / DOUBLING_MS)));
    },
    ended({ used }) {
      if (used > 1) suspects -= 1; // one that was lost has been claimed before
    },
    idle() {
      suspects = 0;
    },
  };
}
