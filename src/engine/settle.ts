/** Writing the end of attempts: together where they end together, and for as long as the store is away. */
import type { Clock } from '../ports/clock.ts';
import type { ClaimedJob, InlineBlob, JobStore, Settled, Settlement } from '../ports/job-store.ts';
import type { Log } from '../ports/telemetry.ts';
import type { Announce } from './announce.ts';
import { isPassing, retryDelayMs } from './faults.ts';
import { groupCommit } from './group-commit.ts';
import { settledBefore } from './lost-answer.ts';
import type { Outcome } from './outcome.ts';
import { createPause } from './pause.ts';

export interface SettlerDeps {
  store: JobStore;
  clock: Clock;
  log: Log;
  announce: Announce;
  /** Fires where the process is to look as if it were killed: nothing more is written. */
  killed: AbortSignal;
}

/** Whoever has an end written hears of it by one of two calls. */
export interface Settling {
  job: ClaimedJob;
  /** The record says so, or has moved on. */
  isSettled(): void;
  isUnsettled(error: unknown): void;
}

export type Settle = (one: Settling, outcome: Outcome, blobs: readonly InlineBlob[]) => void;

const BATCH = 500;
/** While a server syncs one, it can work on the next. */
const COMMITS = 2;

export function createSettler({ store, clock, log, announce, killed }: SettlerDeps): Settle {
  const write = groupCommit(commit, { maxWeight: BATCH, inFlight: COMMITS });

  async function commit(settlements: Settlement[]): Promise<Settled[]> {
    const settled = await store.settle(settlements);
    announce(settled.flatMap(({ moved }) => moved ?? []));
    return settled;
  }

  function told(job: ClaimedJob, { refused }: Settled): void {
    if (refused === undefined) return;
    const fields = { job_id: job.jobId, attempt: job.attempt, code: refused };
    log.warn(fields, 'a late outcome was refused: the job has moved on');
  }

  async function again(job: ClaimedJob, settlement: Settlement, error: unknown): Promise<void> {
    let fault = error;
    for (let failures = 0; !killed.aborted; failures += 1) {
      if (!isPassing(fault)) throw fault; // a defect: the sweep recovers the job
      await createPause(clock).wait(retryDelayMs(failures), killed);
      if (killed.aborted) return;
      try {
        const settled = await write(settlement);
        const before =
          settled.moved === undefined ? await settledBefore(store, job, settlement.command) : null;
        return before === null ? told(job, settled) : announce([before]);
      } catch (next) {
        fault = next;
      }
    }
  }

  return (one, command, blobs) => {
    const { job } = one;
    if (killed.aborted) return one.isSettled();
    const settlement = { jobId: job.jobId, token: job.token, command, blobs };
    write(settlement).then(
      (settled) => {
        told(job, settled);
        one.isSettled();
      },
      (error: unknown) =>
        again(job, settlement, error).then(
          () => one.isSettled(),
          (fault: unknown) => one.isUnsettled(fault),
        ),
    );
  };
}
