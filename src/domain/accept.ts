/** Acceptance: a request that passed its checks becomes the first state of a job. */
import type { NanoUsd } from './money.ts';
import { resolveLimits } from './policy.ts';
import type { LimitPolicy, RequestedLimits } from './policy.ts';
import type { JobEvent, Limits, ValidationIssue } from './record.ts';

export interface NewJob {
  jobId: string;
  tenant: string;
  workflow: string;
  workflowVersion: string;
  outputSchemaSha256: string;
  /** The input as JSON text. */
  inputJson: string;
  inputRef: string | null;
  inputSha256: string;
  requestedLimits: RequestedLimits;
  workflowLimits: Partial<LimitPolicy>;
  /** What all of its calls to models may cost together; null: no limit of its own. */
  spendingLimit: NanoUsd | null;
  /** When it may first run; null for at once. */
  runAt: number | null;
  priority: number;
  labels: Readonly<Record<string, string>>;
}

/** One caller's jobs, of one tenant: all of them are accepted, or none. */
export interface NewRequest {
  jobs: readonly NewJob[];
  /** Set where the caller wants the same answer for the same request. */
  idempotency: { key: string; requestSha256: string } | null;
}

export interface Accepted {
  limits: Limits;
  runAt: number;
  event: JobEvent;
}

export function accept(
  job: Pick<NewJob, 'requestedLimits' | 'workflowLimits' | 'runAt'>,
  caps: LimitPolicy,
  now: number,
): { accepted: Accepted; issues: [] } | { accepted: null; issues: ValidationIssue[] } {
  const { limits, issues } = resolveLimits(job.requestedLimits, job.workflowLimits, caps, now);
  if (limits === null) return { accepted: null, issues };
  const runAt = Math.max(job.runAt ?? now, now);
  // Written so that an instant which is no number is refused too.
  if (!(runAt < limits.deadlineAt)) {
    const message = `is not before the job's deadline, ${new Date(limits.deadlineAt).toISOString()}`;
    return { accepted: null, issues: [{ path: '/run_at', message }] };
  }
  const due = runAt > now ? { due: runAt } : {};
  const event: JobEvent = { type: 'queued', from: null, to: 'queued', at: now, attempt: 0, ...due };
  return { accepted: { limits, runAt, event }, issues: [] };
}
