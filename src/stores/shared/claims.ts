/** Claims, in every store: what was found ready, and what a worker gets of it. */
import type { Known, Move, Suspicion } from '../../domain/decide.ts';
import type { ClaimedJob, Suspects } from '../../ports/job-store.ts';
import type { LaneRow } from './lanes.ts';
import { decisionOf, labelsOf, limitsOf, parsed } from './rows.ts';
import type { SeenRow } from './rows.ts';

/** A job that waits, as a claim reads it. */
export interface ReadyRow
  extends Pick<
    SeenRow,
    | 'number'
    | 'priority'
    | 'place'
    | 'id'
    | 'attempt'
    | 'used'
    | 'replays'
    | 'timeout_ms'
    | 'max_attempts'
    | 'deadline_at'
    | 'deadline_ms'
    | 'decision'
    | 'event_count'
  > {
  input: string;
  input_ref: string | null;
  labels: string | null;
}

export interface ReadyLane {
  key: number;
  tenant: string;
  suspicion: Suspicion;
}

export interface ReadyTenant<One extends ReadyLane = ReadyLane> {
  key: string;
  lanes: One[];
}

export function claimedJob(row: ReadyRow, lane: LaneRow, move: Move, token: number): ClaimedJob {
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

export function readyOf(row: ReadyRow): Known {
  return {
    jobId: row.id,
    status: 'queued',
    attempt: row.attempt,
    used: row.used,
    replays: row.replays,
    limits: limitsOf(row),
    decision: decisionOf(row),
    running: null,
  };
}

/** The row of a job that was just leased, as its settlement needs it: nothing else is written of it while its lease is there. */
export function heldRow(
  row: ReadyRow,
  lane: number,
  lease: { token: number; session: string; worker: string; now: number },
): SeenRow {
  return {
    number: row.number,
    id: row.id,
    lane,
    status: 'queued',
    priority: row.priority,
    place: row.place,
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
    since: lease.now,
    now: lease.now,
  };
}

/** How many jobs of each suspicion a claim may still bring. */
export type Allowance = Record<Suspicion, number>;

/** @param brought what it has brought so far */
export function allowance(
  suspects: Suspects | undefined,
  brought: readonly Pick<ClaimedJob, 'suspicion'>[],
): Allowance {
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
