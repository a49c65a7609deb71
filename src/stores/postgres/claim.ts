/**
 * Claims: a look says which lanes have something ready, a share of each is settled, tenant by tenant in turn, and one statement
 * takes the shares: it locks the rows and skips those that others hold, removes them, and writes their leases. A lane
 * is read from its start, so the cost depends on what is taken, not on what waits or was done before.
 *
 * A claim does not write the record. The lease is the `running` event until the attempt ends.
 */
import { decide } from '../../domain/decide.ts';
import type { JobStore } from '../../ports/job-store.ts';
import { byTenant, claimedJob, heldRow, readyOf } from '../shared/claims.ts';
import type { ReadyJob } from '../shared/claims.ts';
import type { LaneRow } from '../shared/lanes.ts';
import { movedOf } from '../shared/moves.ts';
import { Turns } from '../shared/turns.ts';
import { numbers, texts } from './columns.ts';
import type { StoreContext } from './context.ts';
import type { Place } from './marks.ts';
import type { SeenRow } from '../shared/rows.ts';
import { prepared } from './statements.ts';

/** At most so many due jobs are promoted, and so many expired ones dropped, by one claim. */
const ASIDE_LIMIT = 1000;

type Claimed = Awaited<ReturnType<JobStore['claim']>>;
type ClaimParams = Parameters<JobStore['claim']>[0];

interface LookRow extends LaneRow {
  /** Where it was looked from; null for the start of the lane. */
  rank: number | null;
  place: number;
  job: number;
  waiting: number;
  promote: boolean | null;
}

interface TakenRow extends ReadyJob {
  now: number;
  lane: number;
  rank: number;
  place: number;
  /** Null where nothing was taken. */
  number: number | null;
  /** Null where the job is past its deadline. */
  token: number | null;
}

type Found = TakenRow & { number: number };

interface Share {
  key: number;
  tenant: string;
  waiting: number;
  share: number;
  from: Place;
}

export function claimVerb(context: StoreContext): JobStore['claim'] {
  const claims = new Claims(context);
  return (params) => claims.claim(params);
}

class Claims {
  readonly #context: StoreContext;
  readonly #sql;
  readonly #tenantTurns = new Turns<string>();
  readonly #laneTurns = new Map<string, Turns<number>>();

  constructor(context: StoreContext) {
    this.#context = context;
    this.#sql = prepared<{ look: LookRow; take: TakenRow; promote: never; waiting: SeenRow }>(
      context.connection,
      'claim',
    );
  }

  async claim(params: ClaimParams): Promise<Claimed> {
    const claimed: Claimed = { lost: false, now: 0, jobs: [], moved: [] };
    let dropped = 0;
    for (;;) {
      const wanted = params.limit - claimed.jobs.length;
      const shares = await this.#shares(params, wanted);
      const rows = await this.#take(params, shares);
      const [any] = rows;
      if (any === undefined) return { ...claimed, lost: claimed.jobs.length === 0 };
      claimed.now = any.now;
      const found = rows.filter((row): row is Found => row.number !== null);
      const late = found.filter((row) => row.token === null);
      this.#add(found, params, claimed);
      claimed.moved.push(...(await this.#bury(late)));
      dropped += late.length;
      const more = shares.some(({ waiting, share }) => waiting > share);
      const full = claimed.jobs.length >= params.limit || dropped >= ASIDE_LIMIT;
      if (full || found.length === 0 || (late.length === 0 && !more)) return claimed;
    }
  }

  /** How many to take from which lane. */
  async #shares(params: ClaimParams, limit: number): Promise<Share[]> {
    let lanes = await this.#look(params, limit);
    if (lanes[0]?.promote === true && (await this.#sql.promote.count({ limit: ASIDE_LIMIT })) > 0) {
      lanes = await this.#look(params, limit);
    }
    const waiting = lanes.filter((lane) => lane.waiting > 0);
    const shares = waiting.map(shareOf);
    const [only] = shares;
    if (only !== undefined && lanes.length === 1) return [{ ...only, share: limit }];
    this.#tenantTurns.take(byTenant(shares), limit, (tenant, part) =>
      this.#turnsOf(tenant.key).take(tenant.lanes, part, (lane, most) => {
        const given = Math.min(most, lane.waiting - lane.share);
        lane.share += given;
        return given;
      }),
    );
    return shares;
  }

  async #look({ lanes }: ClaimParams, limit: number): Promise<LookRow[]> {
    if (lanes.length === 0) return [];
    const { marks } = this.#context;
    const from = performance.now();
    const places = marks.at(from);
    const rows = await this.#sql.look.all({
      limit,
      workflows: texts(lanes.map((lane) => lane.workflow)),
      versions: texts(lanes.map((lane) => lane.version)),
      schemas: texts(lanes.map((lane) => lane.outputSchemaSha256)),
      mark_lanes: numbers(places.map(({ lane }) => lane)),
      mark_ranks: numbers(places.map(({ rank }) => rank)),
      mark_places: numbers(places.map(({ place }) => place)),
      mark_jobs: numbers(places.map(({ job }) => job)),
    });
    const now = performance.now();
    if (places.length === 0) marks.looked(now, now - from);
    this.#context.lanes.remember(rows);
    return rows;
  }

  #turnsOf(tenant: string): Turns<number> {
    const turns = this.#laneTurns.get(tenant) ?? new Turns<number>();
    this.#laneTurns.set(tenant, turns);
    return turns;
  }

  #take({ session, worker, serial }: ClaimParams, shares: Share[]): Promise<TakenRow[]> {
    return this.#sql.take.all({
      session,
      worker,
      serial,
      lanes: numbers(shares.map(({ key }) => key)),
      shares: numbers(shares.map(({ share }) => share)),
      ranks: numbers(shares.map(({ from }) => from.rank)),
      places: numbers(shares.map(({ from }) => from.place)),
      jobs: numbers(shares.map(({ from }) => from.job)),
    });
  }

  /** What the statement leased is what the domain would have: anything else is a defect of the statement. */
  #add(found: Found[], { session, worker }: ClaimParams, { jobs, moved, now }: Claimed): void {
    for (const row of found) {
      const { token } = row;
      if (token === null) continue;
      const { rank, place, number: job } = row;
      this.#context.marks.claimed({ lane: row.lane, rank, place, job });
      const { move } = decide(readyOf(row), { type: 'claim', worker }, now, this.#context.rules);
      if (move?.to !== 'running') throw new Error(`${row.id} was leased and cannot run`);
      const lane = this.#context.lanes.get(row.lane);
      moved.push(movedOf(row, lane, move, null));
      const stand = { number: job, lane: row.lane, priority: -rank, place };
      this.#context.held.add(token, heldRow(row, stand, { token, session, worker, since: now }));
      jobs.push(claimedJob(row, lane, move, token));
    }
  }

  async #bury(late: Found[]) {
    if (late.length === 0) return [];
    const rows = await this.#sql.waiting.all({ jobs: numbers(late.map(({ number }) => number)) });
    return this.#context.moves.force(rows, () => ({ type: 'expire' }), { revoke: false });
  }
}

function shareOf({ lane, tenant, waiting, rank, place, job }: LookRow): Share {
  const from = rank === null ? { lane, rank: -1000, place: 0, job: 0 } : { lane, rank, place, job };
  return { key: lane, tenant, waiting, share: 0, from };
}
