/** Rows of a job as readers see them: the lease of a running attempt, and the event that it stands for, are part of the job. */
import type {
  ArtifactRef,
  Decision,
  ErrorEntry,
  Job,
  JobEvent,
  Lease,
  NamedArtifact,
} from '../../domain/record.ts';
import type { Progress, Status, StatusView } from '../../domain/record.ts';
import { callOf } from './calls.ts';
import type { CallRow } from './calls.ts';
import type { LaneTitle } from './lanes.ts';
import { fromLines, labelsOf, limitsOf, parsed, runningEvent } from './rows.ts';

export interface StatusRow {
  id: string;
  lane: number;
  status: Exclude<Status, 'running'>;
  attempt: number;
  artifact: string | null;
  updated_at: number;
  event_count: number;
  since: number | null;
  error: string | null;
}

export interface JobRow {
  number: number;
  id: string;
  lane: number;
  status: Exclude<Status, 'running'>;
  priority: number;
  attempt: number;
  used: number;
  replays: number;
  timeout_ms: number;
  max_attempts: number;
  deadline_at: number;
  deadline_ms: number;
  run_at: number;
  created_at: number;
  updated_at: number;
  started_at: number | null;
  finished_at: number | null;
  events: string;
  errors: string;
  artifact: string | null;
  artifacts: string | null;
  decision: string | null;
  spending_limit: number | null;
  /** Null as long as no call was begun. */
  spent: number | null;
  reserved: number | null;
  input: string;
  input_ref: string | null;
  input_sha256: string;
  labels: string | null;
  token: number | null;
  session: string;
  worker: string;
  lease_attempt: number;
  since: number;
  hard_stop: number;
  progress: string | null;
  expires_at: number | null;
}

export function statusOf(row: StatusRow, lane: Pick<LaneTitle, 'workflow'>): StatusView {
  const running = row.since === null ? 0 : 1;
  return {
    jobId: row.id,
    workflow: lane.workflow,
    status: running === 1 ? 'running' : row.status,
    attempt: row.attempt + running,
    artifact: row.artifact === null ? null : parsed<ArtifactRef>(row.artifact),
    error: row.error === null ? null : parsed<StatusView['error']>(row.error),
    updatedAt: row.since ?? row.updated_at,
    seq: row.event_count + running,
  };
}

export function jobOf(row: JobRow, lane: LaneTitle, calls: readonly CallRow[]): Job {
  const lease = leaseOf(row);
  const running = lease === null ? 0 : 1;
  const events = fromLines<JobEvent>(row.events);
  if (lease !== null) events.push(runningEvent(lease));
  return {
    jobId: row.id,
    tenant: lane.tenant,
    workflow: lane.workflow,
    workflowVersion: lane.version,
    outputSchemaSha256: lane.output_schema_sha256,
    status: lease === null ? row.status : 'running',
    attempt: row.attempt + running,
    used: row.used + running,
    replays: row.replays,
    priority: row.priority,
    labels: labelsOf(row.labels),
    input: parsed(row.input),
    inputRef: row.input_ref,
    inputSha256: row.input_sha256,
    limits: limitsOf(row),
    runAt: row.run_at,
    lease,
    progress: row.progress === null ? null : parsed<Progress>(row.progress),
    errors: fromLines<ErrorEntry>(row.errors),
    events,
    artifact: row.artifact === null ? null : parsed<ArtifactRef>(row.artifact),
    artifacts: row.artifacts === null ? [] : parsed<NamedArtifact[]>(row.artifacts),
    decision: row.decision === null ? null : parsed<Decision>(row.decision),
    calls: calls.map((call) => callOf(call, row.token)),
    spending: { limit: row.spending_limit, spent: row.spent ?? 0, reserved: row.reserved ?? 0 },
    createdAt: row.created_at,
    updatedAt: lease?.since ?? row.updated_at,
    startedAt: row.started_at ?? lease?.since ?? null,
    finishedAt: row.finished_at,
  };
}

function leaseOf(row: JobRow): Lease | null {
  if (row.token === null) return null;
  const { token, session, worker, since, lease_attempt: attempt, hard_stop, expires_at } = row;
  return { worker, session, token, attempt, since, until: Math.min(hard_stop, expires_at ?? hard_stop) };
}
