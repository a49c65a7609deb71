/** Acceptance, in every store. */
import type { NewJob, NewRequest } from '../../domain/accept.ts';
import type { Enqueued, Moved } from '../../ports/job-store.ts';

/** What a known idempotency key stands for. */
export interface KeyEntry {
  request_sha256: string;
  jobIds: string[];
}

/** The answer to a request whose key is known: that of the first, or a refusal where it is another request. */
export function repeated({ idempotency }: NewRequest, { request_sha256, jobIds }: KeyEntry): Enqueued {
  return idempotency?.requestSha256 === request_sha256
    ? { outcome: 'accepted', jobIds, repeated: true, moved: [] }
    : { outcome: 'idempotency_key_reused' };
}

export function acceptedMove(job: NewJob, due: number): Moved {
  return {
    jobId: job.jobId,
    tenant: job.tenant,
    workflow: job.workflow,
    event: 'queued',
    status: 'queued',
    attempt: 0,
    code: null,
    worker: null,
    revokedSession: null,
    due,
  };
}
