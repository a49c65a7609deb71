/**
 * How many suspects a worker dares to hold.
 *
 * A job that takes its worker down (it exits, it fills the memory, it blocks the process until that is killed) is lost with
 * all that ran beside it, and nobody can tell from outside which of them it was. Claimed together again and again, here or
 * by other workers, they would all lose attempt after attempt to the one. So the store keeps those that were lost apart, and
 * whoever claims them holds few that were lost once, and a single one that was lost again. The culprit then meets its end
 * beside jobs that have attempts left to lose.
 *
 * More often the cause was outside: a machine that died, a kill -9. So after some seconds with suspects a worker that still
 * lives dares twice as many each second.
 */
import type { Suspicion } from '../domain/decide.ts';
import type { Clock } from '../ports/clock.ts';
import type { Suspects } from '../ports/job-store.ts';

export interface Caution {
  /** What the next claim may bring: one of each kind at most, so that no two begin at the same moment. */
  allowed(): Suspects;
  began(job: { suspicion: Suspicion }): void;
  ended(job: { suspicion: Suspicion }): void;
}

/** Of those that were lost together by ten at most, one meets the culprit twice in ten: the square root of a worker's slots. */
const AT_FIRST: Suspects = { 1: 10, 2: 1 };
const PATIENCE_MS = 5000;
const DOUBLING_MS = 1000;
/** Suspects that come so long after the last ones are another matter. */
const MEMORY_MS = 5000;

/** @param full the slots of the worker */
export function createCaution({ clock, full }: { clock: Clock; full: number }): Caution {
  const kinds = { 1: createKind(AT_FIRST[1], full), 2: createKind(AT_FIRST[2], full) };
  const kindOf = (suspicion: Suspicion) => (suspicion === 0 ? null : kinds[suspicion]);
  return {
    allowed: () => {
      const now = clock.monotonicMs();
      return { 1: kinds[1].hasRoom(now) ? 1 : 0, 2: kinds[2].hasRoom(now) ? 1 : 0 };
    },
    began: ({ suspicion }) => kindOf(suspicion)?.began(clock.monotonicMs()),
    ended: ({ suspicion }) => kindOf(suspicion)?.ended(clock.monotonicMs()),
  };
}

function createKind(atFirst: number, full: number) {
  let held = 0;
  let sinceMs = 0;
  let lastMs = Number.NEGATIVE_INFINITY;

  function width(now: number): number {
    const calmMs = now - sinceMs - PATIENCE_MS;
    return calmMs < 0
      ? atFirst
      : Math.min(full, atFirst * 2 ** Math.min(30, 1 + Math.floor(calmMs / DOUBLING_MS)));
  }

  return {
    hasRoom: (now: number) => held < (isOver(now) ? atFirst : width(now)),
    began(now: number) {
      if (isOver(now)) sinceMs = now;
      held += 1;
      lastMs = now;
    },
    ended(now: number) {
      held -= 1;
      lastMs = now;
    },
  };

  function isOver(now: number): boolean {
    return held === 0 && now - lastMs > MEMORY_MS;
  }
}
