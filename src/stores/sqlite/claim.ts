/**
 * Claims: what is due is promoted, then the lanes that have something ready are visited in turn, tenant by tenant.
 * A lane is read from its start, so the cost depends on what is taken, not on what waits or was done before.
 *
 * A claim does not write the record. The lease is the `running` event until the attempt ends. What a worker is told of it is
 * made once it is committed, for other processes wait for the lock.
 */
import type { Move } from '../../domain/decide.ts';
import type { Claimed, ClaimParams, JobStore, Lane, Moved } from '../../ports/job-store.ts';
import { allowance, byTenant, claimedJob, heldRow, readyOf } from '../shared/claims.ts';
import type { ReadyLane, ReadyRow } from '../shared/claims.ts';
import type { LaneRow } from '../shared/lanes.ts';
import { movedOf } from '../shared/moves.ts';
import { Turns } from '../shared/turns.ts';
import type { StoreContext } from './context.ts';
import type { SessionRow } from './sessions.ts';
import { prepared } from './statements.ts';

/** At most so many due jobs are promoted, and so many expired ones dropped, by one claim. */
const ASIDE_LIMIT = 1000;

/** A job that was leased. */
interface Taken {
  row: ReadyRow;
  lane: LaneRow;
  move: Move;
  token: number;
}

/** A claim that was made and of which nobody has been told. */
export interface Claiming {
  lost: boolean;
  now: number;
  taken: Taken[];
  /** Of those that were found dead on the way. */
  moved: Moved[];
}

export function claimVerb(context: StoreContext, claims: Claims): JobStore['claim'] {
  return async (params) => {
    const claiming = await context.connection.write(() => claims.claim(params));
    return claims.told(claiming, params);
  };
}

export class Claims {
  readonly #context: StoreContext;
  readonly #sql;
  readonly #session;
  readonly #tenantTurns = new Turns<string>();
  readonly #laneTurns = new Map<string, Turns<number>>();

  constructor(context: StoreContext) {
    const { db } = context.connection;
    this.#context = context;
    this.#sql = prepared<{
      isDue: { is_due: number };
      promote: never;
      dropPromoted: never;
      lanesWithReady: Pick<LaneRow, 'lane' | 'tenant' | 'suspicion'>;
      first: ReadyRow;
      lease: never;
      leaveUrgent: never;
      leaveUpTo: never;
    }>(db, 'claim');
    this.#session = prepared<{ find: SessionRow }>(db, 'sessions').find;
  }

  /** Within a transaction that writes. */
  claim(params: ClaimParams): Claiming {
    const now = this.#context.now();
    const claiming: Claiming = { lost: false, now, taken: [], moved: [] };
    if (!this.#mayClaim(params)) return { ...claiming, lost: true };
    this.#promoteDue(now);
    const tenants = byTenant(params.lanes.flatMap((lane) => this.#readyLanes(lane)));
    this.#tenantTurns.take(tenants, params.limit, ({ key, lanes }, limit) =>
      this.#turnsOf(key).take(lanes, limit, (lane, share) => {
        const brought = claiming.taken.map(({ lane: of }) => of);
        const left = allowance(params.suspects, brought)[lane.suspicion];
        return this.#takeFrom(lane, Math.min(share, left), params, claiming);
      }),
    );
    return claiming;
  }

  /** Once it is committed. */
  told({ lost, now, taken, moved }: Claiming, { session, worker }: ClaimParams): Claimed {
    const claimed: Claimed = { lost, now, jobs: [], moved };
    for (const { row, lane, move, token } of taken) {
      moved.push(movedOf(row, lane, move, null));
      claimed.jobs.push(claimedJob(row, lane, move, token));
      this.#context.held.add(token, heldRow(row, lane.lane, { token, session, worker, now }));
    }
    return claimed;
  }

  #mayClaim({ session, serial }: ClaimParams): boolean {
    const row = this.#session.get({ session });
    return row?.reaped_at === null && row.claims_after < serial;
  }

  #promoteDue(now: number): void {
    if (this.#sql.isDue.get({ now }) === undefined) return;
    const due = { now, limit: ASIDE_LIMIT };
    this.#sql.promote.run(due);
    this.#sql.dropPromoted.run(due);
  }

  #readyLanes(lane: Lane): ReadyLane[] {
    const { workflow, version, outputSchemaSha256: output_schema_sha256 } = lane;
    const found = this.#sql.lanesWithReady.all({ workflow, version, output_schema_sha256 });
    return found.map(({ lane: key, tenant, suspicion }) => ({ key, tenant, suspicion }));
  }

  #turnsOf(tenant: string): Turns<number> {
    const turns = this.#laneTurns.get(tenant) ?? new Turns<number>();
    this.#laneTurns.set(tenant, turns);
    return turns;
  }

  /** Takes up to `limit` jobs; those found dead on the way do not count. */
  #takeFrom({ key: lane }: ReadyLane, limit: number, params: ClaimParams, claiming: Claiming): number {
    let taken = 0;
    let isEmptied = false;
    while (taken < limit && !isEmptied && claiming.moved.length < ASIDE_LIMIT) {
      const asked = limit - taken;
      const rows = this.#sql.first.all({ lane, limit: asked });
      isEmptied = rows.length < asked;
      if (rows.length > 0) taken += this.#takeRows(rows, this.#context.lanes.get(lane), params, claiming);
    }
    return taken;
  }

  #takeRows(
    rows: ReadyRow[],
    lane: LaneRow,
    { session, worker }: ClaimParams,
    { now, taken, moved }: Claiming,
  ): number {
    const { moves, numbers } = this.#context;
    const leased: number[] = [];
    const firstToken = numbers.take('token', rows.length);
    for (const row of rows) {
      const { move, refusal } = moves.decide(readyOf(row), { type: 'claim', worker }, now);
      if (move === undefined) throw new Error(`${row.id} is ready and cannot be claimed: ${refusal.refused}`);
      if (move.to === 'running') {
        const token = firstToken + leased.push(row.number) - 1;
        taken.push({ row, lane, move, token });
      } else {
        moved.push(moves.write(moves.queuedJob(row.number), move, now, { revoke: false }));
      }
    }
    if (leased.length === 0) return 0;
    this.#sql.lease.run({
      first_token: firstToken,
      session,
      worker,
      since: now,
      jobs: JSON.stringify(leased),
    });
    this.#leave(rows, lane.lane);
    return leased.length;
  }

  /** Takes from the lane what stands up to the last of these rows, which are its first. */
  #leave(rows: readonly ReadyRow[], lane: number): void {
    const [first] = rows;
    const last = rows.at(-1);
    if (first === undefined || last === undefined) return;
    const { priority, place, number: job } = last;
    if (first.priority > priority) this.#sql.leaveUrgent.run({ lane, priority });
    this.#sql.leaveUpTo.run({ lane, priority, place, job });
  }
}
