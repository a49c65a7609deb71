/**
 * Looks at the leases while a run goes on, since at its end there are none: how long one was seen past its end. Time in which
 * the store is away, or nobody is there to sweep it, does not count.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Store } from '../../ports/store.ts';

export interface LeaseWatch {
  /** Jobs that ran at the last look. */
  running(): number;
  /** For each job that was seen on a lease past its end, the longest. */
  overstays(): { jobId: string; lateMs: number }[];
  /** Connections were broken just now, and sweepers begin anew to see whether the store stays. */
  broken(): void;
  stop(): Promise<void>;
}

const PERIOD_MS = 1000;
const PAGE = 500;

export interface LeaseWatchOptions {
  /** Whether some process is there, and was for long enough, to take lost jobs back. */
  isSwept: () => boolean;
  /** The store's time; the machine's own where they are the same. */
  now?: () => number;
}

export function watchLeases(store: Store, { isSwept, now = Date.now }: LeaseWatchOptions): LeaseWatch {
  const over = new AbortController();
  const latest = new Map<string, number>();
  /** The attempt of each job that ran at the last look: only who stays can be late. */
  let before = new Map<string, number>();
  let wholeSince = now();

  async function look(): Promise<void> {
    if (!isSwept()) wholeSince = now();
    const running = await runningNow(store);
    const stayed = [...running].filter(([jobId, attempt]) => before.get(jobId) === attempt);
    before = running;
    for (const [jobId] of stayed) {
      const job = await store.jobs.job({ tenant: 'default', jobId });
      const lateMs = now() - Math.max(job?.lease?.until ?? Number.POSITIVE_INFINITY, wholeSince);
      if (lateMs > (latest.get(jobId) ?? 0)) latest.set(jobId, lateMs);
    }
  }

  async function loop(): Promise<void> {
    while (!over.signal.aborted) {
      await look().catch(() => {
        wholeSince = now();
      });
      await sleep(PERIOD_MS, undefined, { signal: over.signal }).catch(() => {});
    }
  }

  const looking = loop();
  return {
    running: () => before.size,
    overstays: () => [...latest].map(([jobId, lateMs]) => ({ jobId, lateMs })),
    broken() {
      wholeSince = now();
    },
    async stop() {
      over.abort();
      await looking;
    },
  };
}

async function runningNow(store: Store): Promise<Map<string, number>> {
  const running = new Map<string, number>();
  let after: string | null = null;
  do {
    const page: Awaited<ReturnType<Store['jobs']['list']>> = await store.jobs.list({
      tenant: 'default',
      filter: { status: 'running' },
      after,
      limit: PAGE,
    });
    for (const { jobId, attempt } of page.jobs) running.set(jobId, attempt);
    after = page.next;
  } while (after !== null);
  return running;
}
