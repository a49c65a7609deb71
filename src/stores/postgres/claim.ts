/**
 * Claims: a look says which lanes have something ready, a share of each is settled, tenant by tenant in turn, and one statement
 * takes the shares: it locks the rows and skips those that others hold, removes them, and writes their leases. A lane
 * is read from its start, so the cost depends on what is taken, not on what waits or was done before.
 *
 * Where the last look found every lane empty, the next claim most likely follows the first job that came in: it spares the look
 * and tries an equal share of each lane, so that this job starts a round trip sooner. Where it found one lane alone with jobs, and
 * they filled the claim, the next ones take from that lane again for a moment.
 *
 * A claim does not write the record. The lease is the `running` event until the attempt ends.
 */
import { decide } from '../../domain/decide.ts';
import type { JobStore, Lane } from '../../ports/job-store.ts';
import { allowance, byTenant, claimedJob, readyOf } from '../shared/claims.ts';
import type { Allowance, ReadyLane, ReadyRow } from '../shared/claims.ts';
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

/** So long other lanes may go unseen behind one that fills every claim: about the time that a large claim takes. */
const ALONE_MS = 25;

type Claimed = Awaited<ReturnType<JobStore['claim']>>;
type ClaimParams = Parameters<JobStore['claim']>[0];

/** One row a lane, and at least one: what it says of the lane is null where there is none. */
type LookRow = Moment & { promote: boolean | null } & (WaitingLane | { lane: null });

interface Moment {
  now: number;
  /** Whether the session lives. */
  alive: boolean;
}

interface WaitingLane extends LaneRow {
  /** Where it was looked from; null for the start of the lane. */
  rank: number | null;
  place: number;
  job: number;
  waiting: number;
}

/** A job as `take` gives it: not named by its columns, since so many come. The token is null where the job is past its deadline. */
type Taken = [
  ...[
    shared: string,
    place: number,
    number: number,
    id: string,
    deadline_at: number,
    decision: string | null,
  ],
  ...[input: string, input_ref: string | null, labels: string | null, token: number | null],
];

/** Where there is no job, a row still says when that was, and whether the session lives. */
type TakenRow = Taken | [shared: string, place: null];

const TAKEN = 'shared,place,number,id,deadline_at,decision,input,input_ref,labels,token';

/** A job that was read, and what it is held as while it is leased. */
type Found = ReadyRow & SeenRow;

interface Share extends ReadyLane {
  waiting: number;
  share: number;
  from: Place;
}

export function claimVerb(context: StoreContext): JobStore['claim'] {
  const claims = new Claims(context);
  return (params) => claims.claim(params);
}

/** A claim under way: what it has, and how many it has dropped. */
interface Underway extends Claimed {
  dropped: number;
}

class Claims {
  readonly #context: StoreContext;
  readonly #sql;
  readonly #tenantTurns = new Turns<string>();
  readonly #laneTurns = new Map<string, Turns<number>>();
  /** By what was asked for: the lanes that the last look found, all of them empty but perhaps for suspects. */
  #empty = new WeakMap<Lane[], LaneRow[]>();
  /** By what was asked for: the only lane that the last look found with jobs, and when it looked. */
  #alone = new WeakMap<Lane[], { lane: WaitingLane; lookedMs: number }>();

  constructor(context: StoreContext) {
    this.#context = context;
    this.#sql = prepared<{ look: LookRow; take: never; promote: never; waiting: SeenRow }>(
      context.connection,
      'claim',
    );
    // what answers next may know other lanes by these numbers
    context.connection.onBreak(() => {
      this.#empty = new WeakMap();
      this.#alone = new WeakMap();
    });
  }

  async claim(params: ClaimParams): Promise<Claimed> {
    const claim: Underway = { lost: false, now: 0, jobs: [], moved: [], dropped: 0 };
    if (!(await this.#spared(params, claim))) {
      while ((await this.#take(params, await this.#shares(params, claim), claim)) === 'more');
    }
    const { lost, now, jobs, moved } = claim;
    return { lost: lost && jobs.length === 0, now, jobs, moved };
  }

  /** Takes what the last look leads to expect, without another. @returns whether that is all there is to take */
  async #spared(params: ClaimParams, claim: Underway): Promise<boolean> {
    const guess = this.#guess(params);
    if (guess !== null) return (await this.#take(params, guess, claim)) === 'enough';
    const again = this.#again(params);
    if (again === null) return false;
    await this.#take(params, again, claim);
    return claim.lost || claim.jobs.length >= params.limit;
  }

  /** An equal share of each lane, where the last look found them all empty. */
  #guess({ lanes: asked, limit }: ClaimParams): Share[] | null {
    const empty = this.#empty.get(asked);
    this.#empty.delete(asked);
    if (empty === undefined || empty.length > limit) return null;
    const marks = new Map(this.#context.marks.at(performance.now()).map((mark) => [mark.lane, mark]));
    const shares = empty.map(({ lane, tenant, suspicion }) => {
      const from = marks.get(lane) ?? startOf(lane);
      return { key: lane, tenant, suspicion, waiting: limit + 1, share: 0, from };
    });
    return this.#parted(shares, limit, allowance(undefined, []));
  }

  /** All of it from the lane that was alone a moment ago. */
  #again({ lanes, limit }: ClaimParams): Share[] | null {
    const alone = this.#alone.get(lanes);
    const now = performance.now();
    if (alone === undefined || now - alone.lookedMs > ALONE_MS) return null;
    const mark = this.#context.marks.at(now).find(({ lane }) => lane === alone.lane.lane);
    return [{ ...shareOf(alone.lane), from: mark ?? startOf(alone.lane.lane), share: limit }];
  }

  /** How many to take from which lane; none where nothing waits. */
  async #shares(params: ClaimParams, claim: Underway): Promise<Share[]> {
    const limit = params.limit - claim.jobs.length;
    let look = await this.#look(params, limit);
    if (look.promote && (await this.#sql.promote.count({ limit: ASIDE_LIMIT })) > 0) {
      look = await this.#look(params, limit);
    }
    claim.now = look.now;
    claim.lost = !look.alive;
    if (!look.alive) return [];
    const left = allowance(params.suspects, claim.jobs);
    const waiting = look.lanes
      .map((lane) => ({ ...lane, waiting: Math.min(lane.waiting, left[lane.suspicion]) }))
      .filter((lane) => lane.waiting > 0);
    const lanes = look.lanes.filter(({ suspicion }) => suspicion === 0);
    if (waiting.length === 0 && lanes.length > 0) this.#empty.set(params.lanes, lanes);
    const [only] = waiting;
    if (only?.suspicion === 0 && waiting.length === 1)
      this.#alone.set(params.lanes, { lane: only, lookedMs: performance.now() });
    if (only?.suspicion === 0 && look.lanes.length === 1) return [{ ...shareOf(only), share: limit }];
    return this.#parted(waiting.map(shareOf), limit, left);
  }

  #parted(shares: Share[], limit: number, left: Allowance): Share[] {
    this.#tenantTurns.take(byTenant(shares), limit, (tenant, part) =>
      this.#turnsOf(tenant.key).take(tenant.lanes, part, (lane, most) => {
        const given = Math.min(most, lane.waiting - lane.share, left[lane.suspicion]);
        left[lane.suspicion] -= given;
        lane.share += given;
        return given;
      }),
    );
    return shares;
  }

  async #look({ session, serial, lanes }: ClaimParams, limit: number) {
    const { marks } = this.#context;
    const from = performance.now();
    const places = marks.at(from);
    const rows = await this.#sql.look.all({
      session,
      serial,
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
    const [any] = rows;
    if (any === undefined) throw new Error('a look found no answer');
    const found = rows.filter((row) => row.lane !== null);
    this.#context.lanes.remember(found);
    return { now: any.now, alive: any.alive, promote: any.promote === true, lanes: found };
  }

  #turnsOf(tenant: string): Turns<number> {
    const turns = this.#laneTurns.get(tenant) ?? new Turns<number>();
    this.#laneTurns.set(tenant, turns);
    return turns;
  }

  /** @returns `more` where another round may bring more; `nothing` where there was nothing at all */
  async #take(params: ClaimParams, shares: Share[], claim: Underway): Promise<'more' | 'enough' | 'nothing'> {
    if (shares.length === 0) return 'nothing';
    const rows = await this.#sql.take.lists<TakenRow>(TAKEN, {
      session: params.session,
      worker: params.worker,
      serial: params.serial,
      lanes: numbers(shares.map(({ key }) => key)),
      shares: numbers(shares.map(({ share }) => share)),
      ranks: numbers(shares.map(({ from }) => from.rank)),
      places: numbers(shares.map(({ from }) => from.place)),
      jobs: numbers(shares.map(({ from }) => from.job)),
    });
    const { now, alive, found } = readTaken(rows, params);
    claim.now = now;
    claim.lost = !alive;
    const late = found.filter((row) => row.token === null);
    const leased = late.length === 0 ? found : found.filter((row) => row.token !== null);
    this.#add(leased, params.worker, claim);
    const buried = await this.#bury(late);
    claim.moved.push(...buried);
    claim.dropped += late.length;
    if (claim.lost || claim.jobs.length >= params.limit || claim.dropped >= ASIDE_LIMIT) return 'enough';
    if (found.length === 0) return 'nothing';
    const given = new Map<number, number>();
    for (const { lane } of found) given.set(lane, (given.get(lane) ?? 0) + 1);
    const more = shares.some(({ key, waiting, share }) => waiting > share && given.get(key) === share);
    return buried.length > 0 || more ? 'more' : 'enough';
  }

  /** What the statement leased is what the domain would have: anything else is a defect of the statement. */
  #add(leased: Found[], worker: string, { jobs, moved, now }: Claimed): void {
    const { held, lanes, rules } = this.#context;
    for (const row of leased) {
      const token = row.token ?? 0;
      const { move } = decide(readyOf(row), { type: 'claim', worker }, now, rules);
      if (move?.to !== 'running') throw new Error(`${row.id} was leased and cannot run`);
      const lane = lanes.get(row.lane);
      moved.push(movedOf(row, lane, move, null));
      jobs.push(claimedJob(row, lane, move, token));
      row.input = ''; // is its attempt's, and not needed to settle it
      held.add(token, row);
    }
    this.#mark(leased);
  }

  /** They came lane by lane, in the order of the claim. */
  #mark(leased: readonly Found[]): void {
    let last: Found | null = null;
    for (const row of leased) {
      if (last !== null && last.lane !== row.lane) this.#markAt(last);
      last = row;
    }
    if (last !== null) this.#markAt(last);
  }

  #markAt({ lane, priority, place, number: job }: Found): void {
    this.#context.marks.claimed({ lane, rank: -priority, place, job });
  }

  async #bury(late: Found[]) {
    if (late.length === 0) return [];
    const rows = await this.#sql.waiting.all({ jobs: numbers(late.map(({ number }) => number)) });
    return this.#context.moves.force(rows, () => ({ type: 'expire' }), { revoke: false });
  }
}

function readTaken(rows: readonly TakenRow[], params: ClaimParams) {
  const [any] = rows;
  if (any === undefined) throw new Error('a claim found no answer');
  let shared = sharedOf(any[0]);
  const { now, alive } = shared;
  const found: Found[] = [];
  for (const row of rows) {
    if (row[1] === null) continue;
    if (row[0] !== shared.text) shared = sharedOf(row[0]);
    found.push(foundOf(row, shared, params));
  }
  return { now, alive, found };
}

/** What the jobs of a claim mostly have in common, and its text by which that shows. */
function sharedOf(text: string) {
  // biome-ignore format: as the statement has them
  const [
    now = 0, alive = 0, lane = 0, priority = 0, attempt = 0, used = 0, replays = 0, timeout_ms = 0, max_attempts = 0,
    deadline_ms = 0, event_count = 0,
  ] = text.split(',').map(Number);
  // biome-ignore format: no more than their names
  return {
    text, now, alive: alive === 1, lane, priority, attempt, used, replays, timeout_ms, max_attempts, deadline_ms, event_count,
  };
}

function foundOf(taken: Taken, shared: ReturnType<typeof sharedOf>, { session, worker }: ClaimParams): Found {
  const [, place, number, id, deadline_at, decision, input, input_ref, labels, token] = taken;
  const { now, lane, priority, attempt, used, replays, timeout_ms, max_attempts, deadline_ms, event_count } =
    shared;
  // biome-ignore format: no more than their names
  return {
    number, id, lane, status: 'queued', priority, place, attempt, used, replays, timeout_ms, max_attempts, deadline_at, deadline_ms,
    decision, event_count, token, session, worker, since: now, now, input, input_ref, labels,
  };
}

function shareOf({ lane, tenant, suspicion, waiting, rank, place, job }: WaitingLane): Share {
  const from = rank === null ? startOf(lane) : { lane, rank, place, job };
  return { key: lane, tenant, suspicion, waiting, share: 0, from };
}

function startOf(lane: number): Place {
  return { lane, rank: -1000, place: 0, job: 0 };
}
