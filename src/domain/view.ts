/** A job as its readers see it: the shapes of the API, snake case and ISO dates. Pure rendering. */
import { answersOf } from './answers.ts';
import type { Answers } from './answers.ts';
import { callJson, spendingJson } from './call-view.ts';
import type { CallJson, SpendingJson } from './call-view.ts';
import { usdOf } from './dollars.ts';
import { FAILURES, type ErrorCode } from './failures.ts';
import { iso } from './instant.ts';
import type { JsonValue } from './json.ts';
import type {
  ArtifactRef,
  ErrorEntry,
  Evidence,
  Job,
  JobEvent,
  Status,
  StatusView,
  ValidationIssue,
} from './record.ts';

export interface ArtifactJson {
  uri: string;
  sha256: string;
  bytes: number;
  media_type: string;
}

export interface StatusJson {
  job_id: string;
  status: Status;
  attempt: number;
  artifact: ArtifactJson | null;
  error: { code: ErrorCode; message: string; attempt: number } | null;
  updated_at: string;
}

export interface EventJson {
  seq: number;
  type: string;
  from: Status | null;
  to: Status;
  at: string;
  attempt: number;
  code?: ErrorCode;
  due?: string;
  worker?: string;
  actor?: string;
  reason?: string;
  detail?: JsonValue;
}

export interface ErrorJson {
  attempt: number;
  code: ErrorCode;
  message: string;
  at: string;
  elapsed_ms: number;
  limit_ms?: number;
  issues?: ValidationIssue[];
  evidence?: Evidence[];
  rule?: string;
}

export interface RecordJson {
  job_id: string;
  tenant: string;
  workflow: string;
  workflow_version: string;
  output_schema_sha256: string;
  status: Status;
  attempt: number;
  priority: number;
  labels: Record<string, string>;
  input: JsonValue;
  input_ref: string | null;
  input_sha256: string;
  /** `spending_usd` only where the job has such a limit. */
  limits: { timeout_ms: number; max_attempts: number; deadline_at: string; spending_usd?: number };
  run_at: string;
  lease: { worker: string; token: number; until: string } | null;
  /** Only where the running attempt has said how far it is. */
  progress?: { fraction: number; note: string | null; at: string };
  errors: ErrorJson[];
  events: EventJson[];
  artifact: ArtifactJson | null;
  artifacts: (ArtifactJson & { name: string })[];
  /** Only where there are some. */
  calls?: CallJson[];
  /** Only where there are calls or a limit. */
  spending?: SpendingJson;
  decision: DecisionJson | null;
  answers: Answers;
  created_at: string;
  updated_at: string;
  started_at: string | null;
  finished_at: string | null;
}

export interface DecisionJson {
  decision_id: string;
  open: boolean;
  code: ErrorCode;
  question: string;
  choices: string[];
  choice?: string;
  actor?: string;
  reason?: string;
  taken_at?: string;
}

export interface BriefJson {
  id: string;
  status: Status;
  attempt: number;
  errors: ErrorCode[];
  events: string[];
}

export function statusJson(view: StatusView): StatusJson {
  return {
    job_id: view.jobId,
    status: view.status,
    attempt: view.attempt,
    artifact: artifactJson(view.artifact),
    error: view.error,
    updated_at: iso(view.updatedAt),
  };
}

/** The status that a whole job shows; the error is the last entry's, in dead letter only. */
export function statusOf(job: Job): StatusView {
  const last = job.status === 'dead_letter' ? job.errors.at(-1) : undefined;
  return {
    jobId: job.jobId,
    workflow: job.workflow,
    status: job.status,
    attempt: job.attempt,
    artifact: job.artifact,
    error: last === undefined ? null : { code: last.code, message: last.message, attempt: last.attempt },
    updatedAt: job.updatedAt,
    seq: job.events.length,
  };
}

export function recordJson(job: Job): RecordJson {
  const { timeoutMs, maxAttempts, deadlineAt } = job.limits;
  return {
    job_id: job.jobId,
    tenant: job.tenant,
    workflow: job.workflow,
    workflow_version: job.workflowVersion,
    output_schema_sha256: job.outputSchemaSha256,
    status: job.status,
    attempt: job.attempt,
    priority: job.priority,
    labels: { ...job.labels },
    input: job.input,
    input_ref: job.inputRef,
    input_sha256: job.inputSha256,
    limits: {
      timeout_ms: timeoutMs,
      max_attempts: maxAttempts,
      deadline_at: iso(deadlineAt),
      ...(job.spending.limit === null ? {} : { spending_usd: usdOf(job.spending.limit) }),
    },
    run_at: iso(job.runAt),
    lease: job.lease && { worker: job.lease.worker, token: job.lease.token, until: iso(job.lease.until) },
    ...(job.progress === null ? {} : { progress: { ...job.progress, at: iso(job.progress.at) } }),
    errors: job.errors.map(errorJson),
    events: eventsJson(job.events),
    artifact: artifactJson(job.artifact),
    artifacts: job.artifacts.map(({ name, ...ref }) => ({ name, ...refJson(ref) })),
    ...moneyJson(job),
    decision: decisionJson(job),
    answers: answersOf(job),
    created_at: iso(job.createdAt),
    updated_at: iso(job.updatedAt),
    started_at: isoOrNull(job.startedAt),
    finished_at: isoOrNull(job.finishedAt),
  };
}

/** Keys that a record has only where it has something to say there. */
function moneyJson({ calls, spending }: Job): Pick<RecordJson, 'calls' | 'spending'> {
  if (calls.length === 0 && spending.limit === null) return {};
  const made = calls.length === 0 ? {} : { calls: calls.map(callJson) };
  return { ...made, spending: spendingJson(spending) };
}

export function briefJson(job: Job): BriefJson {
  return {
    id: job.jobId,
    status: job.status,
    attempt: job.attempt,
    errors: job.errors.map((error) => error.code),
    events: job.events.map((event) => event.type),
  };
}

export function eventsJson(events: readonly JobEvent[]): EventJson[] {
  return events.map(({ type, from, to, at, attempt, due, ...rest }, index) => ({
    seq: index + 1,
    type,
    from,
    to,
    at: iso(at),
    attempt,
    ...(due === undefined ? {} : { due: iso(due) }),
    ...rest,
  }));
}

function errorJson({ elapsedMs, limitMs, at, ...entry }: ErrorEntry): ErrorJson {
  const { attempt, code, message, ...rest } = entry;
  const limit = limitMs === undefined ? {} : { limit_ms: limitMs };
  return { attempt, code, message, at: iso(at), elapsed_ms: elapsedMs, ...limit, ...rest };
}

function decisionJson({ decision }: Job): DecisionJson | null {
  if (decision === null) return null;
  const { decisionId, open, code, takenAt, ...taken } = decision;
  const { question } = FAILURES[code];
  const when = takenAt === undefined ? {} : { taken_at: iso(takenAt) };
  return { decision_id: decisionId, open, code, question, choices: ['replay', 'give_up'], ...taken, ...when };
}

export function artifactJson(ref: ArtifactRef | null): ArtifactJson | null {
  return ref === null ? null : refJson(ref);
}

function refJson({ uri, sha256, bytes, mediaType }: ArtifactRef): ArtifactJson {
  return { uri, sha256, bytes, media_type: mediaType };
}

function isoOrNull(at: number | null): string | null {
  return at === null ? null : iso(at);
}
