/** Progress reports, thinned: the newest of each attempt is written a few times a second at most. */
import type { Clock } from '../ports/clock.ts';
import type { ClaimedJob, JobStore } from '../ports/job-store.ts';

const WRITE_EVERY_MS = 250;

export function createProgress({ store, clock }: { store: JobStore; clock: Clock }) {
  const latest = new Map<ClaimedJob, { fraction: number; note: string | null }>();
  let cancelTimer: (() => void) | null = null;

  function flush(): void {
    cancelTimer = null;
    for (const [{ jobId, token }, progress] of latest) {
      // progress is a courtesy: one that cannot be written is dropped, and the next may be
      store.progress({ jobId, token, progress }).catch(() => {});
    }
    latest.clear();
  }

  return {
    report(job: ClaimedJob, fraction: number, note: string | null): void {
      latest.set(job, { fraction, note });
      cancelTimer ??= clock.after(WRITE_EVERY_MS, flush, { unref: true });
    },
  };
}
