/**
 * A settlement whose answer was lost is sent again, and refused: the first has spent its token. The record tells whether
 * that was so, or whether somebody else ended the attempt.
 */
import type { Job, JobEvent } from '../domain/record.ts';
import type { ClaimedJob, JobStore, Moved } from '../ports/job-store.ts';
import type { Outcome } from './outcome.ts';

/** What the first settlement moved; null where it never arrived. */
export async function settledBefore(
  store: JobStore,
  { tenant, jobId, attempt }: ClaimedJob,
  outcome: Outcome,
): Promise<Moved | null> {
  const job = await store.job({ tenant, jobId });
  const end = job?.events.find(
    (event) => event.attempt === attempt && event.from === 'running' && event.to !== 'running',
  );
  if (job === null || end === undefined || !isEnd(job, end, outcome)) return null;
  return {
    jobId,
    tenant,
    workflow: job.workflow,
    event: end.type,
    status: end.to,
    attempt,
    code: end.code ?? null,
    worker: end.worker ?? null,
    revokedSession: null,
    due: end.to === 'queued' ? (end.due ?? end.at) : null,
  };
}

function isEnd(job: Job, end: JobEvent, outcome: Outcome): boolean {
  switch (outcome.type) {
    case 'complete':
      return job.artifact?.uri === outcome.artifact.uri; // its key carries the token
    case 'release':
      return isUnspent(end) && end.due === undefined;
    case 'hold':
      return (isUnspent(end) && end.due !== undefined) || end.code === 'deadline_exceeded';
    case 'fail':
      return end.code === outcome.failure.code || end.code === 'deadline_exceeded';
  }
}

function isUnspent({ type, code }: JobEvent): boolean {
  return type === 'queued' && code === undefined;
}
