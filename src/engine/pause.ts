/** Waiting that a hint, a signal or the clock ends, whichever is first. */
import type { Clock } from '../ports/clock.ts';

export interface Pause {
  /** Waits for `wake`, for `ms`, or for `signal`. A `wake` that came since the last wait ends this one at once. */
  wait(ms: number, signal?: AbortSignal): Promise<void>;
  wake(): void;
  /** A `wake` after `ms` at the latest. */
  wakeWithin(ms: number): void;
  /** What came since the last wait does not end the next. */
  forget(): void;
}

export function createPause(clock: Clock): Pause {
  let woken = false;
  let resume: (() => void) | null = null;
  let wakesSoon = false;

  function wake(): void {
    if (woken) return;
    woken = true;
    resume?.();
  }

  return {
    wake,
    wakeWithin(ms) {
      if (wakesSoon) return;
      wakesSoon = true;
      const due = () => {
        wakesSoon = false;
        wake();
      };
      clock.after(ms, due, { unref: true });
    },
    forget() {
      woken = false;
    },
    async wait(ms, signal) {
      if (!woken && signal?.aborted !== true) await sleepUntil(ms, signal);
      woken = false;
      resume = null;
    },
  };

  function sleepUntil(ms: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        cancel();
        signal?.removeEventListener('abort', done);
        resolve();
      };
      const cancel = clock.after(ms, done);
      signal?.addEventListener('abort', done, { once: true });
      resume = done;
    });
  }
}
