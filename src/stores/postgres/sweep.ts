/**
 * What time does to jobs. A sweep first looks, in one statement, what there is to do; then each kind of work is
 * statements of its own. Any number of processes may sweep at once: of two that find the same job, one moves it.
 *
 * A session is reaped in two steps that may be far apart: first it is marked, and from then on it can neither renew nor
 * claim; then its leases are recovered in batches, and with the last of them its row goes. Whoever sweeps next carries
 * on where a sweeper died.
 */
import type { JobStore, Moved, Swept } from '../../ports/job-store.ts';
import type { StoreContext } from './context.ts';
import type { SeenRow } from '../shared/rows.ts';
import { prepared } from './statements.ts';

/** How many leases of one session are recovered in one transaction. */
const RECOVERY_BATCH = 500;

type SweepParams = Parameters<JobStore['sweep']>[0];
type SweepVerbs = Pick<JobStore, 'sweep' | 'reapSession' | 'nextDueInMs'>;

interface WorkRow {
  expired: boolean;
  due: boolean;
  overdue: boolean;
  forgotten: boolean;
  silent: boolean;
}

export function sweepVerbs(context: StoreContext): SweepVerbs {
  const sweeper = new Sweeper(context);
  return {
    sweep: (params) => sweeper.sweep(params),
    reapSession: ({ session }) => sweeper.reapSession(session),
    nextDueInMs: () => sweeper.nextDueInMs(),
  };
}

class Sweeper {
  readonly #context: StoreContext;
  readonly #sql;
  readonly #promote;

  constructor(context: StoreContext) {
    this.#context = context;
    this.#sql = prepared<{
      work: WorkRow;
      expired: SeenRow;
      overdue: SeenRow;
      held: SeenRow;
      silent: { session: string };
      reap: never;
      forgetSession: never;
      forgetKeys: never;
      nextDue: { due_ms: number; due: number | null };
    }>(context.connection, 'sweep');
    this.#promote = prepared<{ promote: never }>(context.connection, 'claim').promote;
  }

  async sweep(params: SweepParams): Promise<Swept> {
    const { reap, graceMs, idempotencyMs, limit } = params;
    const work = await this.#sql.work.get({ reap, grace_ms: graceMs, idempotency_ms: idempotencyMs });
    if (work === undefined) throw new Error('a sweep found no answer');
    const moved: Moved[] = [];
    let left = limit;
    const count = (part: Moved[]) => {
      moved.push(...part);
      left -= part.length;
    };
    if (work.expired) count(await this.#expire(left));
    if (work.due) left -= await this.#promote.count({ limit: left });
    if (work.overdue) count(await this.#stopOverdue(params, left));
    if (work.silent) count(await this.#reapSilent(left));
    if (work.forgotten)
      left -= await this.#sql.forgetKeys.count({ idempotency_ms: idempotencyMs, limit: left });
    return { moved, more: left <= 0 };
  }

  async reapSession(session: string): Promise<Moved[]> {
    await this.#sql.reap.count({ session });
    const moved: Moved[] = [];
    for (;;) {
      const { found, moved: part } = await this.#recover(session, RECOVERY_BATCH);
      moved.push(...part);
      if (found < RECOVERY_BATCH) return moved;
    }
  }

  async nextDueInMs(): Promise<number | null> {
    const row = await this.#sql.nextDue.get({});
    const dueMs = row === undefined || row.due === null ? null : row.due_ms;
    const restMs = this.#context.marks.restMs(performance.now());
    if (dueMs === null || restMs === null) return dueMs ?? restMs;
    return Math.min(dueMs, restMs);
  }

  async #expire(limit: number): Promise<Moved[]> {
    const rows = await this.#sql.expired.all({ limit });
    return this.#context.moves.force(rows, () => ({ type: 'expire' }), { revoke: false });
  }

  async #stopOverdue({ graceMs, jitter }: SweepParams, limit: number): Promise<Moved[]> {
    const rows = await this.#sql.overdue.all({ grace_ms: graceMs, limit });
    return this.#context.moves.force(rows, () => ({ type: 'overdue', jitter: jitter() }), { revoke: true });
  }

  async #reapSilent(limit: number): Promise<Moved[]> {
    const moved: Moved[] = [];
    while (moved.length < limit) {
      const silent = await this.#sql.silent.get({});
      if (silent === undefined) break;
      const { found, moved: part } = await this.#recover(silent.session, limit - moved.length);
      moved.push(...part);
      if (part.length < found) break; // another sweeper is at it
    }
    return moved;
  }

  async #recover(session: string, limit: number): Promise<{ found: number; moved: Moved[] }> {
    const rows = await this.#sql.held.all({ session, limit });
    const moved = await this.#context.moves.force(rows, () => ({ type: 'lose' }), { revoke: false });
    if (rows.length < limit) await this.#sql.forgetSession.count({ session });
    return { found: rows.length, moved };
  }
}
