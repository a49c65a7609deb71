/** Claims, in every store: what was found ready, and what a worker gets of it. */
import type { Known, Move, Suspicion } from '../../domain/decide.ts';
import type { ClaimedJob, Suspects } from '../../ports/job-store.ts';
import type { LaneRow } from './lanes.ts';
import { decisionOf, labelsOf, limitsOf, parsed } from './rows.ts';
import type { SeenRow } from './rows.ts';

export interface ReadyRow {
  number: number;
  priority: number;
  place: number;
  id: string;
  attempt: number;
  used: number;
  replays: number;
  timeout_ms: number;
  max_attempts: number;
  deadline_at: number;
  deadline_ms: number;
  decision: string | null;
  event_count: number;
  input: string;
  input_ref: string | null;
  labels: string | null;
}

/** As much of it as a claim's decision and its answer need. */
export type ReadyJob = Omit<ReadyRow, 'number' | 'priority' | 'place'>;

export interface ReadyLane {
  key: number;
  tenant: string;
  suspicion: Suspicion;
}

export interface ReadyTenant<One extends ReadyLane = ReadyLane> {
  key: string;
  lanes: One[];
}

export function claimedJob(row: ReadyJob, lane: LaneRow, move: Move, token: number): ClaimedJob {
  return {
    jobId: row.id,
    tenant: lane.tenant,
    workflow: lane.workflow,
    version: lane.version,
    outputSchemaSha256: lane.output_schema_sha256,
    input: parsed(row.input),
    inputRef: row.input_ref,
    labels: labelsOf(row.labels),
    limits: move.limits,
    attempt: move.attempt,
    used: move.used,
    token,
    suspicion: lane.suspicion,
  };
}

export function readyOf(row: ReadyJob): Known {
  const { id, attempt, used, replays } = row;
  const limits = limitsOf(row);
  return {
    jobId: id,
    status: 'queued',
    attempt,
    used,
    replays,
    limits,
    decision: decisionOf(row),
    running: null,
  };
}

/** The row of a job that was just leased, as its settlement needs it: nothing else is written of it while its lease is there. */
export function heldRow(
  row: ReadyJob,
  stand: { number: number; lane: number; priority: number; place: number },
  lease: { token: number; session: string; worker: string; since: number },
): SeenRow {
  return {
    number: stand.number,
    id: row.id,
    lane: stand.lane,
    status: 'queued',
    priority: stand.priority,
    place: stand.place,
    attempt: row.attempt,
    used: row.used,
    replays: row.replays,
    timeout_ms: row.timeout_ms,
    max_attempts: row.max_attempts,
    deadline_at: row.deadline_at,
    deadline_ms: row.deadline_ms,
    decision: row.decision,
    event_count: row.event_count,
    token: lease.token,
    session: lease.session,
    worker: lease.worker,
    since: lease.since,
    now: lease.since,
  };
}

/** How many jobs of each suspicion a claim may still bring. */
export type Allowance = Record<Suspicion, number>;

/** @param brought what it has brought so far */
export function allowance(suspects: Suspects | undefined, brought: readonly ClaimedJob[]): Allowance {
  const { POSITIVE_INFINITY: any } = Number;
  const left: Allowance = { 0: any, 1: any, 2: any, ...suspects };
  for (const { suspicion } of brought) left[suspicion] -= 1;
  return left;
}

/** Lanes under their tenants, each in a fixed order. */
export function byTenant<One extends ReadyLane>(lanes: readonly One[]): ReadyTenant<One>[] {
  const tenants = new Map<string, ReadyTenant<One>>();
  for (const lane of lanes.toSorted((a, b) => a.key - b.key)) {
    const tenant = tenants.get(lane.tenant) ?? { key: lane.tenant, lanes: [] };
    tenant.lanes.push(lane);
    tenants.set(lane.tenant, tenant);
  }
  return [...tenants.values()].toSorted((a, b) => (a.key < b.key ? -1 : 1));
}
