/**
 * Claims: what is due is promoted, then the lanes that have something ready are visited in turn, tenant by tenant.
 * A lane is read from its start, so the cost depends on what is taken, not on what waits or was done before.
 *
 * A claim does not write the record. The lease is the `running` event until the attempt ends.
 */
import type { Move } from '../../domain/decide.ts';
import type { ClaimedJob, JobStore, Moved } from '../../ports/job-store.ts';
import type { StoreContext } from './context.ts';
import { movedOf } from './moves.ts';
import { labelsOf, limitsOf, parsed } from './rows.ts';
import type { KnownRow } from './rows.ts';
import type { SessionRow } from './sessions.ts';
import { prepared } from './statements.ts';
import { Turns } from './turns.ts';

/** At most so many due jobs are promoted, and so many expired ones dropped, by one claim. */
const ASIDE_LIMIT = 1000;

interface ReadyRow extends KnownRow {
  input: string;
  input_ref: string | null;
  labels: string | null;
}

interface ReadyLane {
  key: number;
  tenant: string;
}

interface ReadyTenant {
  key: string;
  lanes: ReadyLane[];
}

type Claimed = Awaited<ReturnType<JobStore['claim']>>;
type ClaimParams = Parameters<JobStore['claim']>[0];

export function claimVerb(context: StoreContext): JobStore['claim'] {
  const { connection, lanes, moves, numbers } = context;
  const sql = prepared<{
    promote: never;
    dropPromoted: never;
    lanesWithReady: { lane: number; tenant: string };
    first: ReadyRow;
    leave: never;
    lease: never;
  }>(connection.db, 'claim');
  const { find: session } = prepared<{ find: SessionRow }>(connection.db, 'sessions');
  const tenantTurns = new Turns<string>();
  const laneTurns = new Map<string, Turns<number>>();

  function claim(params: ClaimParams): Claimed {
    const now = context.now();
    const claimed: Claimed = { lost: false, now, jobs: [], moved: [] };
    if (session.get({ session: params.session })?.reaped_at !== null) return { ...claimed, lost: true };
    promoteDue(now);
    const tenants = byTenant(params.lanes.flatMap(readyLanes));
    tenantTurns.take(tenants, params.limit, (tenant, limit) =>
      turnsOf(tenant.key).take(tenant.lanes, limit, (lane, share) => takeFrom(lane, share, params, claimed)),
    );
    return claimed;
  }

  function promoteDue(now: number): void {
    const due = { now, limit: ASIDE_LIMIT };
    if (sql.promote.run(due) > 0) sql.dropPromoted.run(due);
  }

  function readyLanes(lane: ClaimParams['lanes'][number]): ReadyLane[] {
    const { workflow, version, outputSchemaSha256: output_schema_sha256 } = lane;
    const found = sql.lanesWithReady.all({ workflow, version, output_schema_sha256 });
    return found.map((row) => ({ key: row.lane, tenant: row.tenant }));
  }

  function turnsOf(tenant: string): Turns<number> {
    const turns = laneTurns.get(tenant) ?? new Turns<number>();
    laneTurns.set(tenant, turns);
    return turns;
  }

  /** Takes up to `limit` jobs; those found dead on the way do not count. */
  function takeFrom(lane: ReadyLane, limit: number, params: ClaimParams, claimed: Claimed): number {
    let taken = 0;
    while (taken < limit && claimed.moved.length - claimed.jobs.length < ASIDE_LIMIT) {
      const rows = sql.first.all({ lane: lane.key, limit: limit - taken });
      if (rows.length === 0) break;
      taken += takeRows(rows, params, claimed);
    }
    return taken;
  }

  function takeRows(rows: ReadyRow[], params: ClaimParams, claimed: Claimed): number {
    const before = claimed.jobs.length;
    let token = numbers.take('token', rows.length);
    for (const row of rows) {
      const { move, refusal } = moves.decide(row, { type: 'claim', worker: params.worker }, claimed.now);
      if (move === undefined) throw new Error(`${row.id} is ready and cannot be claimed: ${refusal.refused}`);
      if (move.to !== 'running') {
        claimed.moved.push(moves.write(row, move, claimed.now, { revoke: false }));
        continue;
      }
      claimed.moved.push(lease(row, move, token, params, claimed.now));
      claimed.jobs.push(claimedJob(row, move, token));
      token += 1;
    }
    return claimed.jobs.length - before;
  }

  function lease(row: ReadyRow, move: Move, token: number, params: ClaimParams, since: number): Moved {
    const { lane, priority, place, number: job } = row;
    const { session, worker } = params;
    const hard_stop = Math.min(since + move.limits.timeoutMs, move.limits.deadlineAt);
    if (sql.leave.run({ lane, priority, place, job }) !== 1) throw new Error(`${row.id} is not where it was ready`);
    sql.lease.run({ job, token, session, worker, attempt: move.attempt, since, hard_stop });
    return movedOf(row, lanes.get(lane), move, null);
  }

  function claimedJob(row: ReadyRow, move: Move, token: number): ClaimedJob {
    const lane = lanes.get(row.lane);
    return {
      jobId: row.id,
      tenant: lane.tenant,
      workflow: lane.workflow,
      version: lane.version,
      outputSchemaSha256: lane.output_schema_sha256,
      input: parsed(row.input),
      inputRef: row.input_ref,
      labels: labelsOf(row.labels),
      limits: limitsOf(row),
      attempt: move.attempt,
      used: move.used,
      token,
    };
  }

  return (params) => connection.write(() => claim(params));
}

function byTenant(lanes: ReadyLane[]): ReadyTenant[] {
  const tenants = new Map<string, ReadyTenant>();
  for (const lane of lanes.toSorted((a, b) => a.key - b.key)) {
    const tenant = tenants.get(lane.tenant) ?? { key: lane.tenant, lanes: [] };
    tenant.lanes.push(lane);
    tenants.set(lane.tenant, tenant);
  }
  return [...tenants.values()].toSorted((a, b) => (a.key < b.key ? -1 : 1));
}
