/**
 * Accepts jobs. A caller's jobs are all checked before the first of them is written, so a refusal has nothing to
 * undo and the callers that share the transaction do not feel it. What callers share is done once for all of them: their
 * jobs' numbers are one block, by which all are queued.
 */
import { accept } from '../../domain/accept.ts';
import type { Accepted, NewJob, NewRequest } from '../../domain/accept.ts';
import type { Enqueued, JobStore, Moved } from '../../ports/job-store.ts';
import { acceptedMove, repeated } from '../shared/accepting.ts';
import type { KeyEntry } from '../shared/accepting.ts';
import { quoted, toLines } from '../shared/rows.ts';
import type { StoreContext } from './context.ts';
import type { StandingClaims } from './standing.ts';
import { prepared } from './statements.ts';

interface Checked {
  job: NewJob;
  accepted: Accepted;
}

/** What is accepted in one transaction. */
interface Batch {
  now: number;
  /** The most numbers that may be needed. */
  most: number;
  /** Of the block of numbers; null until the first is needed. */
  first: number | null;
  used: number;
  /** Whether any of its jobs may run at once, and whether any is to wait. */
  isAnyDue: boolean;
  isAnyLater: boolean;
}

export function enqueueVerb(context: StoreContext, standing: StandingClaims): JobStore['enqueue'] {
  const intake = new Intake(context);
  return (requests) => {
    let tell = () => {};
    const write = () => {
      const enqueued = intake.take(requests);
      tell = standing.ride(requests);
      return enqueued;
    };
    return context.connection.write(write, () => tell());
  };
}

class Intake {
  readonly #context: StoreContext;
  readonly #sql;

  constructor(context: StoreContext) {
    this.#context = context;
    this.#sql = prepared<{
      findKey: { request_sha256: string; job_ids: string };
      addJob: never;
      addRequest: never;
      addLabel: never;
      addKey: never;
      queueNow: never;
      queueLater: never;
    }>(context.connection.db, 'enqueue');
  }

  take(requests: readonly NewRequest[]): Enqueued[] {
    const now = this.#context.now();
    const most = requests.reduce((count, { jobs }) => count + jobs.length, 0);
    const batch: Batch = { now, most, first: null, used: 0, isAnyDue: false, isAnyLater: false };
    const answers = requests.map((request) => this.#takeOne(request, batch));
    if (batch.first !== null) {
      const accepted = { first: batch.first, last: batch.first + batch.used - 1, now };
      if (batch.isAnyDue) this.#sql.queueNow.run(accepted);
      if (batch.isAnyLater) this.#sql.queueLater.run(accepted);
    }
    return answers;
  }

  /** Takes all of one caller's jobs, or none. */
  #takeOne(request: NewRequest, batch: Batch): Enqueued {
    const { jobs } = request;
    const known = this.#known(request);
    if (known !== null) return repeated(request, known);
    const checked: Checked[] = [];
    for (const [index, job] of jobs.entries()) {
      const { accepted, issues } = accept(job, this.#context.rules.caps, batch.now);
      if (accepted === null) return { outcome: 'invalid', index, issues };
      checked.push({ job, accepted });
    }
    const first = this.#numbers(checked.length, batch);
    const moved = checked.map((entry, index) => this.#write(entry, first + index, batch));
    this.#keep(request, first, batch.now);
    return { outcome: 'accepted', jobIds: jobs.map((job) => job.jobId), repeated: false, moved };
  }

  /** The first of `count` numbers in a row. */
  #numbers(count: number, batch: Batch): number {
    batch.first ??= this.#context.numbers.take('job', batch.most);
    const first = batch.first + batch.used;
    batch.used += count;
    return first;
  }

  #known({ jobs, idempotency }: NewRequest): KeyEntry | null {
    const tenant = jobs[0]?.tenant;
    if (idempotency === null || tenant === undefined) return null;
    const row = this.#sql.findKey.get({ tenant, name: quoted(idempotency.key) });
    return row === undefined ? null : { request_sha256: row.request_sha256, jobIds: row.job_ids.split(' ') };
  }

  #keep({ jobs, idempotency }: NewRequest, first: number, now: number): void {
    const tenant = jobs[0]?.tenant;
    if (idempotency === null || tenant === undefined) return;
    this.#sql.addKey.run({
      tenant,
      name: quoted(idempotency.key),
      request_sha256: idempotency.requestSha256,
      first_job: first,
      last_job: first + jobs.length - 1,
      now,
    });
  }

  #write({ job, accepted }: Checked, number: number, batch: Batch): Moved {
    const { limits, runAt, event } = accepted;
    const { now } = batch;
    if (runAt > now) batch.isAnyLater = true;
    else batch.isAnyDue = true;
    const { lane } = this.#context.lanes.named({
      tenant: job.tenant,
      workflow: job.workflow,
      version: job.workflowVersion,
      output_schema_sha256: job.outputSchemaSha256,
      suspicion: 0,
    });
    const { priority, jobId: id } = job;
    this.#sql.addJob.run({
      number,
      id,
      lane,
      priority,
      place: runAt,
      timeout_ms: limits.timeoutMs,
      max_attempts: limits.maxAttempts,
      deadline_at: limits.deadlineAt,
      deadline_ms: limits.deadlineMs,
      run_at: runAt,
      now,
      events: toLines([event]),
      spending_limit: job.spendingLimit,
    });
    this.#writeRequest(job, number);
    return acceptedMove(job, runAt);
  }

  #writeRequest(job: NewJob, number: number): void {
    const { tenant } = job;
    const labels = Object.entries(job.labels);
    this.#sql.addRequest.run({
      job: number,
      input: job.inputJson,
      input_ref: job.inputRef,
      input_sha256: job.inputSha256,
      labels: labels.length === 0 ? null : JSON.stringify(job.labels),
    });
    for (const [name, value] of labels) {
      this.#sql.addLabel.run({ tenant, name: quoted(name), value: quoted(value), job: number });
    }
  }
}
