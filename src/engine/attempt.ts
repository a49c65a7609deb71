/**
 * One attempt, from claim to settlement.
 *
 * The function runs under a signal that fires at its timeout, at the job's deadline, when a person cancels, when the
 * lease is lost, or when the worker shuts down. A function that heeds the signal ends soon and is settled then. One that
 * does not is settled without it after a grace; what it returns later goes nowhere, because its token is spent,
 * but it holds its slot until it returns. One that runs in a process of its own is ended with its grace.
 */
import type { Failure } from '../domain/decide.ts';
import type { BlobStore } from '../ports/blob-store.ts';
import type { Clock } from '../ports/clock.ts';
import type { Isolation } from '../ports/isolation.ts';
import type { ClaimedJob, InlineBlob, JobStore } from '../ports/job-store.ts';
import type { Log } from '../ports/telemetry.ts';
import type { Ledger } from '../ports/ledger.ts';
import type { ModelSession, OpenModels } from '../ports/models.ts';
import type { Reached } from './crash-points.ts';
import type { KnownWorkflow } from './define.ts';
import { createKeeper } from './durable.ts';
import type { Keeper } from './durable.ts';
import { AttemptEndedError, AttemptOverError } from './ending.ts';
import type { Ending } from './ending.ts';
import type { Patience } from './faults.ts';
import { createModelDesk } from './model-desk.ts';
import type { ModelDesk } from './model-desk.ts';
import { outcomeOf } from './outcome.ts';
import type { Outcome, OutcomeDeps } from './outcome.ts';
import type { Partials } from './partials.ts';
import { runIsolated } from './run-isolated.ts';
import { runWorkflow } from './run-workflow.ts';
import type { Ran, RunDeps } from './run-workflow.ts';
import type { Settle, Settling } from './settle.ts';
import type { EngineSettings } from './settings.ts';
import type { Limited, TimeLimits } from './time-limits.ts';

export interface AttemptDeps extends Pick<RunDeps, 'uploads'> {
  /** Where calls to models are written. */
  ledger: Ledger;
  jobs: Pick<JobStore, 'job' | 'inlineBlob'>;
  openModels: OpenModels;
  partials: Partials;
  /** A job of this workflow was put back until a provider's pause has passed. */
  onHeld: () => void;
  blobs: BlobStore;
  /** Where functions run that ask for a process of their own; null where no workflow does. */
  isolation: Isolation | null;
  clock: Clock;
  random: () => number;
  log: Log;
  settings: EngineSettings;
  progress: (job: ClaimedJob, fraction: number, note: string | null) => void;
  /** Writes the end of the attempt, however long that takes. */
  settle: Settle;
  timeLimits: TimeLimits;
  holder: AttemptHolder;
  reached?: Reached | undefined;
}

export interface Attempt {
  job: ClaimedJob;
  /** Fires the signal. The first cause counts. */
  end(cause: Ending): void;
}

/** Whoever holds an attempt hears of both of its ends, in either order, and never before it has been started. */
export interface AttemptHolder {
  /** The function has returned: its slot is free. */
  hasReturned(attempt: Attempt): void;
  /** The record no longer waits for this attempt. */
  hasConcluded(attempt: Attempt): void;
  /** The same, but its end could not be written. */
  isUnsettled(attempt: Attempt, error: unknown): void;
}

export function startAttempt(
  workflow: KnownWorkflow,
  job: ClaimedJob,
  now: number,
  deps: AttemptDeps,
): Attempt {
  return new RunningAttempt(workflow, job, now, deps);
}

/**
 * What few functions ask for (a signal, a log of the attempt's own) is made when it is asked for, and what is known at once
 * goes on at once: functions that end soon come by the thousand, and each promise is one to be made and waited for.
 */
class RunningAttempt implements Attempt, Limited, Settling, RunDeps, OutcomeDeps {
  readonly job: ClaimedJob;
  readonly keeper: Keeper;
  readonly #workflow: KnownWorkflow;
  readonly #deps: AttemptDeps;
  readonly #startedMs: number;
  /** The earlier of the attempt's timeout and the job's deadline. */
  readonly #limitMs: number;
  readonly #limitIs: 'timeout' | 'deadline_exceeded';
  #graceTimer: (() => void) | null = null;
  /** Ends the process that the function runs in, where it has one of its own. */
  #endProcess: (() => void) | null = null;
  #controller: AbortController | null = null;
  #log: Log | null = null;
  /** Null until it calls a model. */
  #calls: ModelDesk | null = null;
  /** Ends the wait for room on the disk, once the attempt is over. */
  #keeping: AbortController | null = null;
  #cause: Ending | null = null;
  /** What the function ended with, while its calls are waited for. */
  #ended: { result: Ran; elapsedMs: number } | null = null;
  #over = false;
  #isHeld = false;

  constructor(workflow: KnownWorkflow, job: ClaimedJob, now: number, deps: AttemptDeps) {
    this.job = job;
    this.#workflow = workflow;
    this.#deps = deps;
    this.#startedMs = deps.clock.monotonicMs();
    const deadlineMs = job.limits.deadlineAt - now;
    this.#limitMs = Math.min(job.limits.timeoutMs, deadlineMs);
    this.#limitIs = deadlineMs <= job.limits.timeoutMs ? 'deadline_exceeded' : 'timeout';
    deps.timeLimits.add(this);
    this.keeper = createKeeper(deps.blobs, job, deps.settings);
    deps.reached?.('attempt.starting');
    const isolation = workflow.definition.isolation === 'process' ? deps.isolation : null;
    const ran =
      isolation === null
        ? runWorkflow(workflow, job, this)
        : runIsolated(isolation, job, this, this.#givenUp());
    void ran.then((result) => this.#returned(result));
  }

  get overAtMs(): number {
    return this.#startedMs + this.#limitMs;
  }

  timeIsUp(): void {
    this.end(this.#limitIs);
  }

  get uploads() {
    return this.#deps.uploads;
  }

  get blobs() {
    return this.#deps.blobs;
  }

  openModels(): ModelSession {
    return this.#deps.openModels(this.calls, () => this.signal);
  }

  /** The record's side of its calls to models. */
  get calls(): ModelDesk {
    this.#calls ??= createModelDesk(this.#workflow.definition, this.job, {
      ...this.#deps,
      signal: this.signal,
      log: this.log,
    });
    return this.#calls;
  }

  get callsMade(): ModelDesk | null {
    return this.#calls;
  }

  get clock() {
    return this.#deps.clock;
  }

  get patience(): Patience {
    if (this.#keeping === null) {
      this.#keeping = new AbortController();
      if (this.#cause !== null) this.#keeping.abort(new AttemptEndedError(this.#cause));
    }
    return { clock: this.clock, signal: this.#keeping.signal, log: this.log };
  }

  get random() {
    return this.#deps.random;
  }

  get maxOutputBytes() {
    return this.#deps.settings.maxOutputBytes;
  }

  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController();
      if (this.#cause !== null) this.#controller.abort(new AttemptEndedError(this.#cause));
    }
    return this.#controller.signal;
  }

  get log(): Log {
    this.#log ??= this.#deps.log.child({ job_id: this.job.jobId, attempt: this.job.attempt });
    return this.#log;
  }

  progress(fraction: number, note: string | null): void {
    if (this.#cause === null) this.#deps.progress(this.job, fraction, note);
  }

  end(ending: Ending): void {
    if (this.#over) {
      this.#keeping?.abort(new AttemptEndedError(ending));
      return;
    }
    if (this.#cause === null) {
      this.#cause = ending;
      this.#controller?.abort(new AttemptEndedError(ending));
      this.#graceTimer = this.#deps.clock.after(this.#deps.settings.graceMs, () => this.#giveUp());
    }
    if (ending === 'shutdown') this.#giveUp(); // a grace under way ends too: nobody waits for it any more
  }

  /** Resolves where the function is not waited for any longer. */
  #givenUp(): Promise<void> {
    return new Promise((resolve) => {
      this.#endProcess = resolve;
    });
  }

  #giveUp(): void {
    // given up, a process is ended, so its end can be waited for
    if (this.#endProcess === null || this.#ended !== null) this.#conclude(this.#ended?.result ?? null);
    else this.#endProcess();
  }

  #returned(result: Ran): void {
    const { holder } = this.#deps;
    holder.hasReturned(this);
    this.job.input = null; // nobody reads it any more, and what waits to be written waits by the thousand
    const calls = this.#calls;
    if (calls === null || this.#over || !calls.isBusy()) return this.#conclude(result);
    void this.#callsEnded(calls, result).then(() => this.#conclude(result));
  }

  /**
   * A function may end while calls of its are under way: one of several failed. They are paid for, so what they answer is waited
   * for and stored, by a failure until its time is up, for the attempt to come, by a success for a grace. The rest is broken off.
   */
  async #callsEnded(calls: ModelDesk, result: Ran): Promise<void> {
    const elapsedMs = this.#elapsedMs();
    this.#ended = { result, elapsedMs };
    const ms = result.thrown === undefined ? this.#deps.settings.graceMs : this.#limitMs - elapsedMs;
    let stop = () => {};
    const waitedEnough = new Promise<void>((resolve) => {
      stop = this.#deps.clock.after(Math.max(0, ms), resolve);
      this.signal.addEventListener('abort', () => resolve(), { once: true });
    });
    this.#deps.timeLimits.remove(this); // the function is over: what is waited for here is not its time
    const isApart = this.#endProcess !== null; // its process is no longer there to answer
    await Promise.race([isApart ? null : calls.answersCame(), waitedEnough]);
    stop();
    if (calls.isBusy()) this.#controller?.abort(new AttemptOverError());
  }

  #conclude(result: Ran | null): void {
    if (this.#over) return;
    try {
      const outcome = this.#outcome(result);
      if (outcome instanceof Promise) void this.#settleOnce(outcome);
      else this.#settle(outcome);
    } catch (error) {
      this.isUnsettled(error);
    }
  }

  async #settleOnce(outcome: Promise<Outcome>): Promise<void> {
    try {
      this.#settle(await this.#kept(outcome));
    } catch (error) {
      this.isUnsettled(error);
    }
  }

  isSettled(): void {
    if (this.#isHeld) this.#deps.onHeld();
    this.#deps.holder.hasConcluded(this);
  }

  isUnsettled(error: unknown): void {
    this.#deps.holder.isUnsettled(this, error);
  }

  /** Null where the record has moved on; mostly known at once. */
  #outcome(result: Ran | null): Outcome | null | Promise<Outcome> {
    this.#deps.reached?.('attempt.returned');
    // a function that blocked the event loop past its limit returns before the timer could fire
    const elapsedMs = this.#ended?.elapsedMs ?? this.#elapsedMs();
    if (elapsedMs >= this.#limitMs) this.timeIsUp();
    this.#over = true;
    this.#deps.timeLimits.remove(this);
    this.#graceTimer?.();
    if (this.#calls !== null) this.#deps.partials.end(this.job);
    return outcomeFor(this.job, { result, cause: this.#cause, elapsedMs }, this);
  }

  #settle(outcome: Outcome | null): void {
    if (outcome === null) return this.isSettled();
    this.#deps.reached?.('attempt.kept');
    this.#isHeld = outcome.type === 'hold';
    this.#deps.settle(this, outcome, blobsOf(outcome, this.keeper.inline));
  }

  /** An artifact that finds no room is given up where the attempt is ended meanwhile. */
  async #kept(outcome: Promise<Outcome>): Promise<Outcome | null> {
    try {
      return await outcome;
    } catch (error) {
      if (!(error instanceof AttemptEndedError)) throw error;
      const ended = { result: null, cause: error.ending, elapsedMs: this.#elapsedMs() };
      return outcomeFor(this.job, ended, this);
    }
  }

  #elapsedMs(): number {
    return Math.round(this.#deps.clock.monotonicMs() - this.#startedMs);
  }
}

/** Null where the record has moved on without this attempt. */
function outcomeFor(
  job: ClaimedJob,
  { result, cause, elapsedMs }: { result: Ran | null; cause: Ending | null; elapsedMs: number },
  deps: OutcomeDeps,
): Outcome | null | Promise<Outcome> {
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
      const { timeoutMs } = job.limits;
      // the timer may be a part of a millisecond early
      const limit =
        cause === 'timeout' ? { limitMs: timeoutMs, elapsedMs: Math.max(elapsedMs, timeoutMs) } : {};
      const failure = { code: cause, elapsedMs, ...limit, ...responsesOf(deps) };
      return { type: 'fail', failure, jitter: deps.random() };
    }
    case null:
      throw new Error('an attempt concluded without a result or a cause');
  }
}

/** What the models said before it was too late. */
function responsesOf({ callsMade }: OutcomeDeps): Pick<Failure, 'evidence'> {
  const evidence = callsMade?.evidence() ?? [];
  return evidence.length === 0 ? {} : { evidence };
}

/** An attempt that failed leaves its evidence; what it saved for a success belongs to nobody. */
function blobsOf(outcome: Outcome, inline: readonly InlineBlob[]): readonly InlineBlob[] {
  return outcome.type === 'complete' ? inline : inline.filter((blob) => blob.uri.startsWith('evidence/'));
}
