/**
 * Accepts jobs. A caller's jobs are all checked before the first of them is written, so a refusal has nothing to
 * undo and the callers that share the transaction do not feel it.
 */
import { accept } from '../../domain/accept.ts';
import type { Accepted, NewJob } from '../../domain/accept.ts';
import type { Enqueued, JobStore, Moved } from '../../ports/job-store.ts';
import type { StoreContext } from './context.ts';
import type { LaneRow } from './lanes.ts';
import { quoted, toLines } from './rows.ts';
import { prepared } from './statements.ts';

interface Checked {
  job: NewJob;
  accepted: Accepted;
}

export function enqueueVerb(context: StoreContext): JobStore['enqueue'] {
  const { connection, lanes, moves, numbers, rules } = context;
  const sql = prepared<{
    findKey: { job_id: string; request_sha256: string };
    addJob: never;
    addRequest: never;
    addLabel: never;
    addKey: never;
  }>(connection.db, 'enqueue');

  function one(jobs: NewJob[], now: number): Enqueued {
    const known = repeated(jobs);
    if (known !== null) return known;
    const checked: Checked[] = [];
    for (const [index, job] of jobs.entries()) {
      const { accepted, issues } = accept(job, rules.caps, now);
      if (accepted === null) return { outcome: 'invalid', index, issues };
      checked.push({ job, accepted });
    }
    const first = numbers.take('job', checked.length);
    const moved = checked.map((entry, index) => write(entry, first + index, now));
    return { outcome: 'accepted', jobIds: jobs.map((job) => job.jobId), repeated: false, moved };
  }

  /** The answer that idempotency keys give: all of the caller's jobs are known, or none; a mixture is another request. */
  function repeated(jobs: NewJob[]): Enqueued | null {
    const seen = new Set<string>();
    const jobIds: string[] = [];
    for (const [index, { tenant, idempotency }] of jobs.entries()) {
      if (idempotency === null) continue;
      const found = sql.findKey.get({ tenant, name: quoted(idempotency.key) });
      const twice = seen.has(idempotency.key);
      if (twice || (found !== undefined && found.request_sha256 !== idempotency.requestSha256)) {
        return { outcome: 'idempotency_key_reused', index };
      }
      seen.add(idempotency.key);
      if (found !== undefined) jobIds.push(found.job_id);
    }
    if (jobIds.length === 0) return null;
    if (jobIds.length < jobs.length) return { outcome: 'idempotency_key_reused', index: firstKnown(jobs) };
    return { outcome: 'accepted', jobIds, repeated: true, moved: [] };
  }

  function firstKnown(jobs: NewJob[]): number {
    return jobs.findIndex(
      ({ tenant, idempotency }) =>
        idempotency !== null && sql.findKey.get({ tenant, name: quoted(idempotency.key) }) !== undefined,
    );
  }

  function write({ job, accepted }: Checked, number: number, now: number): Moved {
    const { limits, runAt, event } = accepted;
    const lane = lanes.named({
      tenant: job.tenant,
      workflow: job.workflow,
      version: job.workflowVersion,
      output_schema_sha256: job.outputSchemaSha256,
    });
    sql.addJob.run({
      number,
      id: job.jobId,
      lane: lane.lane,
      priority: job.priority,
      place: runAt,
      timeout_ms: limits.timeoutMs,
      max_attempts: limits.maxAttempts,
      deadline_at: limits.deadlineAt,
      deadline_ms: limits.deadlineMs,
      run_at: runAt,
      now,
      keyed: job.idempotency === null ? 0 : 1,
      events: toLines([event]),
    });
    writeRequest(job, number);
    const { priority } = job;
    moves.queue({ lane: lane.lane, priority, job: number, deadlineAt: limits.deadlineAt, due: runAt, place: runAt, now });
    return acceptedMove(job, lane, runAt);
  }

  function writeRequest(job: NewJob, number: number): void {
    const labels = Object.entries(job.labels);
    sql.addRequest.run({
      job: number,
      input: JSON.stringify(job.input),
      input_ref: job.inputRef,
      input_sha256: job.inputSha256,
      labels: labels.length === 0 ? null : JSON.stringify(job.labels),
    });
    const { tenant, jobId: job_id, idempotency } = job;
    for (const [name, value] of labels) {
      sql.addLabel.run({ tenant, name: quoted(name), value: quoted(value), job: number });
    }
    if (idempotency === null) return;
    const { key, requestSha256: request_sha256 } = idempotency;
    sql.addKey.run({ tenant, name: quoted(key), request_sha256, job: number, job_id });
  }

  return (requests) =>
    connection.write(() => {
      const now = context.now();
      return requests.map((jobs) => one(jobs, now));
    });
}

function acceptedMove(job: NewJob, lane: LaneRow, due: number): Moved {
  return {
    jobId: job.jobId,
    tenant: lane.tenant,
    workflow: lane.workflow,
    event: 'queued',
    status: 'queued',
    attempt: 0,
    code: null,
    worker: null,
    revokedSession: null,
    due,
  };
}
