/**
 * Accepts jobs. A caller's jobs are all checked before the first of them is written, so a refusal has nothing to
 * undo and the callers that share the transaction do not feel it.
 */
import { accept } from '../../domain/accept.ts';
import type { Accepted, NewJob, NewRequest } from '../../domain/accept.ts';
import type { Enqueued, JobStore, Moved } from '../../ports/job-store.ts';
import { acceptedMove, repeated } from '../shared/accepting.ts';
import type { KeyEntry } from '../shared/accepting.ts';
import { quoted, toLines } from '../shared/rows.ts';
import type { StoreContext } from './context.ts';
import { prepared } from './statements.ts';

interface Checked {
  job: NewJob;
  accepted: Accepted;
}

/** @param ride makes the claims that wait for what came in, and gives what tells of them */
export function enqueueVerb(
  context: StoreContext,
  ride: (requests: readonly NewRequest[]) => () => void,
): JobStore['enqueue'] {
  const intake = new Intake(context);
  return (requests) => {
    let tell = () => {};
    const write = () => {
      const now = context.now();
      const enqueued = requests.map((request) => intake.take(request, now));
      tell = ride(requests);
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
    }>(context.connection.db, 'enqueue');
  }

  /** Takes all of one caller's jobs, or none. */
  take(request: NewRequest, now: number): Enqueued {
    const { jobs } = request;
    const known = this.#known(request);
    if (known !== null) return repeated(request, known);
    const checked: Checked[] = [];
    for (const [index, job] of jobs.entries()) {
      const { accepted, issues } = accept(job, this.#context.rules.caps, now);
      if (accepted === null) return { outcome: 'invalid', index, issues };
      checked.push({ job, accepted });
    }
    const first = this.#context.numbers.take('job', checked.length);
    const moved = checked.map((entry, index) => this.#write(entry, first + index, now));
    this.#keep(request, first, now);
    return { outcome: 'accepted', jobIds: jobs.map((job) => job.jobId), repeated: false, moved };
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

  #write({ job, accepted }: Checked, number: number, now: number): Moved {
    const { limits, runAt, event } = accepted;
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
    this.#context.moves.queue(
      { lane, priority, job: number, deadlineAt: limits.deadlineAt, place: runAt },
      { due: runAt, now },
    );
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
