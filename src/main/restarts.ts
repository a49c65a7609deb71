/** How soon a worker that ended is started again. */
const FIRST_DELAY_MS = 100;
/** The longest wait. */
export const MAX_DELAY_MS = 10_000;
/** So many ends within the window are a loop. */
export const LOOP_EXITS = 5;
const LOOP_WINDOW_MS = 60_000;
/** A worker that lived this long starts the count afresh. */
const HEALTHY_MS = 30_000;

export interface Restarts {
  /**
   * @param now on a clock that never jumps
   * @param livedMs how long the worker had lived
   * @returns how long to wait, and whether a loop is to be told: once, until a worker stays alive
   */
  next(now: number, livedMs: number): { delayMs: number; isLoop: boolean };
}

export function createRestarts(): Restarts {
  let nextDelayMs = FIRST_DELAY_MS;
  let exits: number[] = [];
  let isTold = false;
  return {
    next(now, livedMs) {
      if (livedMs >= HEALTHY_MS) {
        nextDelayMs = FIRST_DELAY_MS;
        exits = [];
        isTold = false;
      }
      exits = [...exits.filter((at) => now - at < LOOP_WINDOW_MS), now];
      const isLoop = !isTold && exits.length >= LOOP_EXITS;
      isTold ||= isLoop;
      const delayMs = nextDelayMs;
      nextDelayMs = Math.min(nextDelayMs * 2, MAX_DELAY_MS);
      return { delayMs, isLoop };
    },
  };
}
