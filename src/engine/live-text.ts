/** What the answers of running attempts say so far, as this process hears of it. Nothing of it is stored. */
import type { Wakeups } from '../ports/wakeups.ts';

interface PartialText {
  attempt: number;
  /** All of the attempt's text so far, to a bound. */
  text: string;
}

export interface LiveText {
  /** Null where nothing is known. */
  of(jobId: string): PartialText | null;
  /** @returns a function that stops listening */
  on(jobId: string, listener: () => void): () => void;
}

const MAX_JOBS = 1_000;
const MAX_TEXT = 256 * 1024;

export function createLiveText(wakeups: Wakeups): LiveText {
  const texts = new Map<string, PartialText>();
  const listeners = new Map<string, Set<() => void>>();

  function add(jobId: string, attempt: number, text: string): void {
    const known = texts.get(jobId);
    if (known !== undefined && known.attempt > attempt) return; // an attempt that goes on after its end
    const before = known?.attempt === attempt ? known.text : '';
    texts.delete(jobId);
    texts.set(jobId, { attempt, text: `${before}${text}`.slice(0, MAX_TEXT) });
    const [oldest] = texts.keys();
    if (texts.size > MAX_JOBS && oldest !== undefined) texts.delete(oldest);
    for (const listener of listeners.get(jobId) ?? []) listener();
  }

  wakeups.on((wakeup) => {
    if (wakeup.type === 'partial') add(wakeup.jobId, wakeup.attempt, wakeup.text);
    else if (wakeup.type === 'moved') texts.delete(wakeup.jobId);
  });

  return {
    of: (jobId) => texts.get(jobId) ?? null,
    on(jobId, listener) {
      const known = listeners.get(jobId) ?? new Set();
      listeners.set(jobId, known.add(listener));
      return () => {
        known.delete(listener);
        if (known.size === 0 && listeners.get(jobId) === known) listeners.delete(jobId);
      };
    },
  };
}
