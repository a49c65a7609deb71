/**
 * What time does to jobs. A sweep first looks, without the write lock, whether there is anything to do; then each kind
 * of work is a transaction of its own, so that no other writer waits for all of them.
 *
 * A session is reaped in two steps that may be far apart: first it is marked, in a transaction of its own, and from
 * then on it can neither renew nor claim; then its leases are recovered in batches, and with the last of
 * them its row goes. Whoever sweeps next carries on where a sweeper died.
 */
import type { JobStore, Moved, Swept } from '../../ports/job-store.ts';
import type { StoreContext } from './context.ts';
import type { KnownRow } from '../shared/rows.ts';
import { prepared } from './statements.ts';

/** How many leases of one session are recovered in one transaction. */
const RECOVERY_BATCH = 500;

type SweepParams = Parameters<JobStore['sweep']>[0];
type SweepVerbs = Pick<JobStore, 'sweep' | 'reapSession' | 'nextDueInMs'>;

export function sweepVerbs(context: StoreContext): SweepVerbs {
  const sweeper = new Sweeper(context);
  return {
    sweep: (params) => sweeper.sweep(params),
    reapSession: ({ session }) => sweeper.reapSession(session),
    nextDueInMs: () => context.connection.read(() => sweeper.nextDueInMs()),
  };
}

class Sweeper {
  readonly #context: StoreContext;
  readonly #sql;

  constructor(context: StoreContext) {
    this.#context = context;
    this.#sql = prepared<{
      work: { found: 0 | 1 };
      expired: KnownRow;
      overdue: KnownRow;
      held: KnownRow;
      promote: never;
      dropPromoted: never;
      silent: { session: string };
      reap: never;
      forgetRevoked: never;
      forgetSession: never;
      oldKeys: { tenant: string; name: string; open_at: number };
      keepKey: never;
      forgetKey: never;
      nextDue: { due: number | null };
    }>(context.connection.db, 'sweep');
  }

  async sweep(params: SweepParams): Promise<Swept> {
    const { connection } = this.#context;
    if (!(await connection.read(() => this.#hasWork(params)))) return { moved: [], more: false };
    const moved: Moved[] = [];
    let left = params.limit;
    const count = (part: Moved[]) => {
      moved.push(...part);
      left -= part.length;
    };
    count(await connection.write(() => this.#expire(left)));
    left -= await connection.write(() => this.#promote(left));
    count(await connection.write(() => this.#stopOverdue(params, left)));
    if (params.reap) count(await this.#reapSilent(left));
    left -= await connection.write(() => this.#forgetKeys(params, left));
    return { moved, more: left <= 0 };
  }

  async reapSession(session: string): Promise<Moved[]> {
    const { connection, now } = this.#context;
    await connection.write(() => this.#sql.reap.run({ session, now: now() }));
    const moved: Moved[] = [];
    for (;;) {
      const part = await connection.write(() => this.#recover(session, RECOVERY_BATCH));
      moved.push(...part);
      if (part.length < RECOVERY_BATCH) return moved;
    }
  }

  nextDueInMs(): number | null {
    const due = this.#sql.nextDue.get({})?.due ?? null;
    return due === null ? null : Math.max(0, due - this.#context.now());
  }

  #hasWork(params: SweepParams): boolean {
    return this.#sql.work.get({ ...this.#bounds(params), reap: params.reap ? 1 : 0 })?.found === 1;
  }

  /**
   * An attempt's own worker settles it one grace after its hard stop; the sweep waits for a second one, so that it
   * does not overtake a settlement that is on its way.
   */
  #bounds({ graceMs, idempotencyMs }: SweepParams) {
    const now = this.#context.now();
    return { now, stopped_before: now - 2 * graceMs, open_before: now - idempotencyMs };
  }

  #expire(limit: number): Moved[] {
    const { moves, now } = this.#context;
    const at = now();
    const rows = this.#sql.expired.all({ now: at, limit });
    return rows.map((row) => moves.force(row, { type: 'expire' }, at, { revoke: false }));
  }

  #promote(limit: number): number {
    const due = { now: this.#context.now(), limit };
    const promoted = this.#sql.promote.count(due);
    if (promoted > 0) this.#sql.dropPromoted.run(due);
    return promoted;
  }

  #stopOverdue(params: SweepParams, limit: number): Moved[] {
    const { now, stopped_before } = this.#bounds(params);
    const rows = this.#sql.overdue.all({ stopped_before, limit });
    return rows.map((row) => {
      const command = { type: 'overdue' as const, jitter: params.jitter() };
      return this.#context.moves.force(row, command, now, { revoke: true });
    });
  }

  async #reapSilent(limit: number): Promise<Moved[]> {
    const { connection } = this.#context;
    const moved: Moved[] = [];
    while (moved.length < limit) {
      const session = await connection.write(() => this.#markSilent());
      if (session === null) break;
      moved.push(...(await connection.write(() => this.#recover(session, limit - moved.length))));
    }
    return moved;
  }

  /** The longest silent session, marked; null where all are alive. */
  #markSilent(): string | null {
    const now = this.#context.now();
    const found = this.#sql.silent.get({ now });
    if (found === undefined) return null;
    this.#sql.reap.run({ session: found.session, now });
    return found.session;
  }

  #recover(session: string, limit: number): Moved[] {
    const { moves, now } = this.#context;
    const at = now();
    const rows = this.#sql.held.all({ session, limit });
    const moved = rows.map((row) => moves.force(row, { type: 'lose' }, at, { revoke: false }));
    if (rows.length < limit) {
      this.#sql.forgetRevoked.run({ session });
      this.#sql.forgetSession.run({ session });
    }
    return moved;
  }

  /** A key goes a time after the last of its jobs has ended; until then it is known that it was open at least so long. */
  #forgetKeys(params: SweepParams, limit: number): number {
    const { now, open_before } = this.#bounds(params);
    const old = this.#sql.oldKeys.all({ now, open_before, limit });
    for (const { tenant, name, open_at } of old) {
      if (open_at <= open_before) this.#sql.forgetKey.run({ tenant, name });
      else this.#sql.keepKey.run({ tenant, name, open_at });
    }
    return old.length;
  }
}
