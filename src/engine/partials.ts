/** Text of streamed answers as it comes: what came in a moment goes together to whoever watches, and nowhere else. */
import type { Clock } from '../ports/clock.ts';
import type { ClaimedJob } from '../ports/job-store.ts';
import type { Wakeups } from '../ports/wakeups.ts';
import { MAX_PARTIAL } from '../ports/wakeups.ts';

export interface Partials {
  add(job: ClaimedJob, text: string): void;
  /** The attempt is over: what waits is told at once. */
  end(job: ClaimedJob): void;
}

const TELL_EVERY_MS = 200;
/** What a watcher that is slower than the model misses: partial text is a courtesy. */
const MAX_WAITING = 32 * MAX_PARTIAL;

export function createPartials({ wakeups, clock }: { wakeups: Wakeups; clock: Clock }): Partials {
  const waiting = new Map<ClaimedJob, string>();
  let isTimed = false;

  function tell(job: ClaimedJob): void {
    const all = waiting.get(job) ?? '';
    const { jobId, attempt } = job;
    const text = all.slice(0, MAX_PARTIAL);
    if (text !== '') wakeups.emit({ type: 'partial', jobId, attempt, text });
    if (all.length > text.length) waiting.set(job, all.slice(text.length));
    else waiting.delete(job);
  }

  function tellLater(): void {
    if (isTimed) return;
    isTimed = true;
    clock.after(
      TELL_EVERY_MS,
      () => {
        isTimed = false;
        for (const job of waiting.keys()) tell(job);
        if (waiting.size > 0) tellLater();
      },
      { unref: true },
    );
  }

  return {
    add(job, text) {
      const before = waiting.get(job) ?? '';
      if (text === '' || before.length > MAX_WAITING) return;
      waiting.set(job, before + text);
      tellLater();
    },
    end(job) {
      while (waiting.has(job)) tell(job);
    },
  };
}
