/** Claims, in every store: what was found ready, and what a worker gets of it. */
import type { Move, Suspicion } from '../../domain/decide.ts';
import type { ClaimedJob, Suspects } from '../../ports/job-store.ts';
import type { LaneRow } from './lanes.ts';
import { labelsOf, parsed } from './rows.ts';
import type { SeenRow } from './rows.ts';

/** A job that waits, as a claim reads it; as it is held once it was leased. */
export interface ReadyRow extends SeenRow {
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

/** The row of a job that was just leased, as its settlement needs it: nothing else is written of it while its lease is there. */
export function asHeld(
  row: ReadyRow,
  lease: { token: number; session: string; worker: string; since: number },
): SeenRow {
  row.token = lease.token;
  row.session = lease.session;
  row.worker = lease.worker;
  row.since = lease.since;
  row.input = ''; // the attempt's from now on
  return row;
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
