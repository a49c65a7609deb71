/** Acceptance, in every store. */
import type { NewJob } from '../../domain/accept.ts';
import type { Enqueued, Moved } from '../../ports/job-store.ts';
import { quoted } from './rows.ts';

/** What a known idempotency key stands for. */
export interface KeyEntry {
  job_id: string;
  request_sha256: string;
}

/** The answer that idempotency keys give: all of the caller's jobs are known, or none; a mixture is another request. */
export function repeated(
  jobs: readonly NewJob[],
  find: (key: { tenant: string; name: string }) => KeyEntry | undefined,
): Enqueued | null {
  const seen = new Set<string>();
  const jobIds: string[] = [];
  let firstKnown = -1;
  for (const [index, { tenant, idempotency }] of jobs.entries()) {
    if (idempotency === null) continue;
    const { key, requestSha256 } = idempotency;
    const found = find({ tenant, name: quoted(key) });
    const other = found !== undefined && found.request_sha256 !== requestSha256;
    if (other || seen.has(key)) return { outcome: 'idempotency_key_reused', index };
    seen.add(key);
    if (found === undefined) continue;
    if (jobIds.length === 0) firstKnown = index;
    jobIds.push(found.job_id);
  }
  if (jobIds.length === 0) return null;
  if (jobIds.length < jobs.length) return { outcome: 'idempotency_key_reused', index: firstKnown };
  return { outcome: 'accepted', jobIds, repeated: true, moved: [] };
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
