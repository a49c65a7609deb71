/** Claims, in every store: what was found ready, and what a worker gets of it. */
import type { Known, Move } from '../../domain/decide.ts';
import type { ClaimedJob } from '../../ports/job-store.ts';
import type { LaneRow } from './lanes.ts';
import { decisionOf, labelsOf, limitsOf, parsed } from './rows.ts';

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
  input: string;
  input_ref: string | null;
  labels: string | null;
}

/** As much of it as a claim's decision and its answer need. */
export type ReadyJob = Omit<ReadyRow, 'number' | 'priority' | 'place'>;

export interface ReadyLane {
  key: number;
  tenant: string;
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
