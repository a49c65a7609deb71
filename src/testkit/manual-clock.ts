/** A clock that stands still until a test moves it. */
import type { Clock } from '../ports/clock.ts';

export interface ManualClock extends Clock {
  now: () => number;
  /**
   * Moves both times on by `ms`. Timers that become due fire in the order of their time, each at its time; between two
   * of them, and after the last, whatever promises they settled has its turn.
   */
  advance(ms: number): Promise<void>;
  /** Sets the wall clock off by `ms` more, as an operator might: no timer notices, and time that is measured does not. */
  jump(ms: number): void;
  /** How many timers wait. */
  waiting(): number;
}

interface Timer {
  atMs: number;
  callback: () => void;
}

/** @param startMs what `now()` says at first; its methods may be passed around by themselves */
export function manualClock(startMs = Date.UTC(2025, 0, 1)): ManualClock {
  let wallMs = startMs;
  let measuredMs = 0;
  const timers = new Set<Timer>();

  function pass(ms: number): void {
    wallMs += ms;
    measuredMs += ms;
  }

  function nextBy(endMs: number): Timer | undefined {
    let next: Timer | undefined;
    for (const timer of timers) {
      if (timer.atMs <= endMs && (next === undefined || timer.atMs < next.atMs)) next = timer;
    }
    return next;
  }

  return {
    now: () => wallMs,
    monotonicMs: () => measuredMs,
    after(ms, callback) {
      const timer = { atMs: measuredMs + Math.max(0, ms), callback };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    async advance(ms) {
      const endMs = measuredMs + ms;
      for (let timer = nextBy(endMs); timer !== undefined; timer = nextBy(endMs)) {
        pass(timer.atMs - measuredMs);
        timers.delete(timer);
        timer.callback();
        await settled();
      }
      pass(endMs - measuredMs);
      await settled();
    },
    jump(ms) {
      wallMs += ms;
    },
    waiting: () => timers.size,
  };
}

/** A whole turn of the event loop: every promise that was settled has been told by then. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
