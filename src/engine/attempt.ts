/**
 * One attempt, from claim to settlement.
 *
 * The function runs under a signal that fires at its timeout, at the job's deadline, when a person cancels, when the
 * lease is lost, or when the worker shuts down. A function that heeds the signal ends soon and is settled then. One that
 * does not is settled without it after a grace; what it returns later goes nowhere, because its token is spent,
 * but it holds its slot until it returns.
 */
import type { Clock } from '../ports/clock.ts';
import type { ClaimedJob, InlineBlob } from '../ports/job-store.ts';
import type { Log } from '../ports/telemetry.ts';
import type { KnownWorkflow } from './define.ts';
import { createKeeper } from './durable.ts';
import { outcomeOf } from './outcome.ts';
import type { Outcome, OutcomeDeps } from './outcome.ts';
import { runWorkflow } from './run-workflow.ts';
import type { Ran, RunDeps } from './run-workflow.ts';
import type { Settle } from './settle.ts';
import type { EngineSettings } from './settings.ts';

/** Why a signal fired. `revoked`: cancelled, or settled from outside. */
export type Ending = 'timeout' | 'deadline_exceeded' | 'revoked' | 'lease_lost' | 'shutdown';

/** The reason of an attempt's signal. */
export class AttemptEndedError extends Error {
  override readonly name = 'AbortError';
  readonly ending: Ending;

  constructor(ending: Ending) {
    super(`the attempt was ended: ${ending}`);
    this.ending = ending;
  }
}

export interface AttemptDeps extends Pick<RunDeps, 'uploads' | 'blobs' | 'model'> {
  clock: Clock;
  random: () => number;
  log: Log;
  settings: EngineSettings;
  progress: (job: ClaimedJob, fraction: number, note: string | null) => void;
  /** Writes the end of the attempt, however long that takes. */
  settle: Settle;
}

export interface Attempt {
  job: ClaimedJob;
  /** Fires the signal. The first cause counts. */
  end(cause: Ending): void;
  /** The record no longer waits for this attempt. */
  concluded: Promise<void>;
  /** The function has returned: its slot is free. */
  returned: Promise<void>;
}

export function startAttempt(
  workflow: KnownWorkflow,
  job: ClaimedJob,
  now: number,
  deps: AttemptDeps,
): Attempt {
  const { clock, settings } = deps;
  const limit = limitOf(job, now);
  const startedMs = clock.monotonicMs();
  const elapsedMs = () => Math.round(clock.monotonicMs() - startedMs);
  const controller = new AbortController();
  const grace = openGrace();
  const timers = [clock.after(limit.ms, () => end(limit.cause))];
  let cause: Ending | null = null;
  let over = false;

  function end(ending: Ending): void {
    if (over) return;
    if (ending === 'shutdown') grace.end(); // a grace under way ends too: nobody waits for it any more
    if (cause !== null) return;
    cause = ending;
    controller.abort(new AttemptEndedError(ending));
    timers.push(clock.after(settings.graceMs, grace.end));
  }

  const log = deps.log.child({ job_id: job.jobId, attempt: job.attempt });
  const keeper = createKeeper(deps.blobs, job, settings);
  const ran = runWorkflow(workflow, job, {
    ...deps,
    log,
    keeper,
    signal: controller.signal,
    maxOutputBytes: settings.maxOutputBytes,
    progress: (fraction, note) => {
      if (cause === null) deps.progress(job, fraction, note);
    },
  });

  async function conclude(): Promise<void> {
    const result = await Promise.race([ran, grace.over]);
    // a function that blocked the event loop past its limit returns before the timer could fire
    if (elapsedMs() >= limit.ms) end(limit.cause);
    over = true;
    for (const cancel of timers) cancel();
    const ended = { result, cause, elapsedMs: elapsedMs() };
    const outcome = await outcomeFor(job, ended, {
      keeper,
      log,
      random: deps.random,
      maxEvidenceBytes: settings.maxOutputBytes,
    });
    if (outcome !== null) await deps.settle(job, outcome, blobsOf(outcome, keeper.inline));
  }

  return { job, end, concluded: conclude(), returned: ran.then(() => undefined) };
}

/** The earlier of the attempt's timeout and the job's deadline. */
function limitOf(
  { limits }: ClaimedJob,
  now: number,
): { ms: number; cause: 'timeout' | 'deadline_exceeded' } {
  const deadlineMs = limits.deadlineAt - now;
  return deadlineMs <= limits.timeoutMs
    ? { ms: deadlineMs, cause: 'deadline_exceeded' }
    : { ms: limits.timeoutMs, cause: 'timeout' };
}

function openGrace(): { over: Promise<null>; end: () => void } {
  let end = () => {};
  const over = new Promise<null>((resolve) => {
    end = () => resolve(null);
  });
  return { over, end };
}

/** Null where the record has moved on without this attempt. */
async function outcomeFor(
  job: ClaimedJob,
  { result, cause, elapsedMs }: { result: Ran | null; cause: Ending | null; elapsedMs: number },
  deps: OutcomeDeps,
): Promise<Outcome | null> {
  const answered = cause === null || (cause === 'shutdown' && result?.output !== undefined);
  if (answered && result !== null) return outcomeOf(result, elapsedMs, deps);
  switch (cause) {
    case 'revoked':
    case 'lease_lost':
      return null;
    case 'shutdown':
      return { type: 'release' };
    case 'timeout':
    case 'deadline_exceeded': {
      const limit = cause === 'timeout' ? { limitMs: job.limits.timeoutMs } : {};
      return { type: 'fail', failure: { code: cause, elapsedMs, ...limit }, jitter: deps.random() };
    }
    case null:
      throw new Error('an attempt concluded without a result or a cause');
  }
}

/** An attempt that failed leaves its evidence; what it saved for a success belongs to nobody. */
function blobsOf(outcome: Outcome, inline: InlineBlob[]): InlineBlob[] {
  return outcome.type === 'complete' ? inline : inline.filter((blob) => blob.uri.startsWith('evidence/'));
}
