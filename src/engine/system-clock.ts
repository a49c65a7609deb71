import type { Clock } from '../ports/clock.ts';

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  after(ms, callback, options = {}) {
    if (ms > LONGEST_MS) return inSteps(ms, callback, options);
    const timer = setTimeout(callback, ms);
    if (options.unref === true) timer.unref();
    return () => clearTimeout(timer);
  },
};

/** setTimeout fires at once beyond it. */
const LONGEST_MS = 2 ** 31 - 1;

function inSteps(ms: number, callback: () => void, options: { unref?: boolean }): () => void {
  let cancel = systemClock.after(LONGEST_MS, next, options);
  return () => cancel();

  function next(): void {
    cancel = systemClock.after(ms - LONGEST_MS, callback, options);
  }
}
