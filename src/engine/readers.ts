/** Reading: the status, the record, lists, and waiting for a change. */
import type { Job, Status, StatusView } from '../domain/record.ts';
import type { Clock } from '../ports/clock.ts';
import type { JobStore } from '../ports/job-store.ts';
import type { Wakeups } from '../ports/wakeups.ts';
import type { Caller, EngineApi, Result } from './api.ts';
import { groupCommit } from './group-commit.ts';
import { createPause } from './pause.ts';
import { invalid, noSuchJob, ok } from './refusals.ts';
import { createWatch } from './watch.ts';

interface ReaderDeps {
  store: JobStore;
  clock: Clock;
  wakeups: Wakeups;
}

const LOOK_JOBS = 500;
const ENOUGH_JOBS = 50;
const DEFAULT_PAGE = 50;
const MAX_PAGE = 500;

function isTerminal(status: Status): boolean {
  return status === 'completed' || status === 'dead_letter';
}

type Readers = Pick<EngineApi, 'status' | 'waitForChange' | 'job' | 'list'>;

export function createReaders({ store, clock, wakeups }: ReaderDeps): Readers {
  const watch = createWatch({ store, clock, wakeups });
  // who asks while one look is under way shares the next
  const look = groupCommit((asked: { tenant: string; jobId: string }[]) => store.statuses(asked), {
    maxWeight: LOOK_JOBS,
    enough: ENOUGH_JOBS,
  });

  function status({ tenant }: Caller, jobId: string): Promise<Result<StatusView>> {
    return look({ tenant, jobId }).then((view) => (view === null ? noSuchJob(jobId) : ok(view)));
  }

  async function job({ tenant }: Caller, jobId: string): Promise<Result<Job>> {
    const found = await store.job({ tenant, jobId });
    return found === null ? noSuchJob(jobId) : ok(found);
  }

  return {
    status,
    job,

    async waitForChange(caller, jobId, { seq, waitMs, signal }) {
      const end = clock.monotonicMs() + waitMs;
      const watcher = { tenant: caller.tenant, jobId, pause: createPause(clock), seq };
      const stopWatching = watch.add(watcher);
      try {
        for (;;) {
          const view = await status(caller, jobId);
          const leftMs = end - clock.monotonicMs();
          if (!view.ok || isTerminal(view.value.status) || leftMs <= 0 || signal.aborted) return view;
          watcher.seq ??= view.value.seq;
          if (view.value.seq !== watcher.seq) return view;
          await watcher.pause.wait(leftMs, signal);
        }
      } finally {
        stopWatching();
      }
    },

    async list({ tenant }, query) {
      const limit = query.limit ?? DEFAULT_PAGE;
      if (!Number.isInteger(limit) || limit < 1 || limit > MAX_PAGE) {
        return invalid([{ path: '/limit', message: `must be a whole number from 1 to ${MAX_PAGE}` }]);
      }
      const { status: state, workflow, code, labels, after } = query;
      const filter = { status: state, workflow, code, labels };
      return ok(await store.list({ tenant, filter, after: after ?? null, limit }));
    },
  };
}
