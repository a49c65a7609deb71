import type { Clock } from '../ports/clock.ts';

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  after(ms, callback, options = {}) {
    // setTimeout fires at once past 2^31-1 ms: a longer wait goes in steps
    const step = Math.min(ms, 2 ** 31 - 1);
    let cancelNext: (() => void) | null = null;
    const timer = setTimeout(() => {
      if (ms > step) cancelNext = systemClock.after(ms - step, callback, options);
      else callback();
    }, step);
    if (options.unref === true) timer.unref();
    return () => {
      clearTimeout(timer);
      cancelNext?.();
    };
  },
};
