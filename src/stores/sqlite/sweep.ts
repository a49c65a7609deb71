/**
 * What time does to jobs. A sweep first looks, without the write lock, whether there is anything to do; then each kind
 * of work is a transaction of its own, so that no other writer waits for all of them.
 *
 * A session is reaped in two steps that may be far apart: first it is marked, in a transaction of its own, and from
 * then on it can neither renew nor claim; then its leases are recovered in batches, and with the last of
 * them its row goes. Whoever sweeps next carries on where a sweeper died.
 */
import type { Command } from '../../domain/decide.ts';
import type { JobStore, Moved } from '../../ports/job-store.ts';
import type { StoreContext } from './context.ts';
import type { KnownRow } from './rows.ts';
import { prepared } from './statements.ts';

/** How many leases of one session are recovered in one transaction. */
const RECOVERY_BATCH = 500;

type SweepParams = Parameters<JobStore['sweep']>[0];
type SweepVerbs = Pick<JobStore, 'sweep' | 'reapSession' | 'nextDueInMs'>;

export function sweepVerbs({ connection, moves, now }: StoreContext): SweepVerbs {
  const sql = prepared<{
    expired: KnownRow;
    overdue: KnownRow;
    held: KnownRow;
    promote: never;
    dropPromoted: never;
    silent: { session: string };
    reap: never;
    forgetRevoked: never;
    forgetSession: never;
    forgetKeys: never;
    work: { found: 0 | 1 };
    nextDue: { due: number | null };
  }>(connection.db, 'sweep');

  /**
   * An attempt's own worker settles it one grace after its hard stop; the sweep waits for a second one, so that it does not
   * overtake a settlement that is on its way.
   */
  function bounds({ graceMs, idempotencyMs }: SweepParams) {
    const at = now();
    return { now: at, stopped_before: at - 2 * graceMs, ended_before: at - idempotencyMs };
  }

  function expire(limit: number): Moved[] {
    const at = now();
    const rows = sql.expired.all({ now: at, limit });
    return rows.map((row) => moves.force(row, { type: 'expire' }, at, { revoke: false }));
  }

  function promote(limit: number): number {
    const due = { now: now(), limit };
    const promoted = sql.promote.run(due);
    if (promoted > 0) sql.dropPromoted.run(due);
    return promoted;
  }

  function stopOverdue(params: SweepParams, limit: number): Moved[] {
    const { now: at, stopped_before } = bounds(params);
    const rows = sql.overdue.all({ stopped_before, limit });
    return rows.map((row) => end(row, { type: 'overdue', jitter: params.jitter() }, at));
  }

  function end(row: KnownRow, command: Command, at: number): Moved {
    return moves.force(row, command, at, { revoke: true });
  }

  /** The longest silent session, marked; null where all are alive. */
  function markSilent(): string | null {
    const at = now();
    const found = sql.silent.get({ now: at });
    if (found === undefined) return null;
    sql.reap.run({ session: found.session, now: at });
    return found.session;
  }

  function recover(session: string, limit: number): Moved[] {
    const at = now();
    const rows = sql.held.all({ session, limit });
    const moved = rows.map((row) => moves.force(row, { type: 'lose' }, at, { revoke: false }));
    if (rows.length < limit) {
      sql.forgetRevoked.run({ session });
      sql.forgetSession.run({ session });
    }
    return moved;
  }

  async function reapSilent(limit: number): Promise<Moved[]> {
    const moved: Moved[] = [];
    while (moved.length < limit) {
      const session = await connection.write(markSilent);
      if (session === null) break;
      moved.push(...(await connection.write(() => recover(session, limit - moved.length))));
    }
    return moved;
  }

  async function sweep(params: SweepParams): Promise<{ moved: Moved[]; more: boolean }> {
    const found = await connection.read(() => sql.work.get({ ...bounds(params), reap: params.reap ? 1 : 0 }));
    if (found?.found !== 1) return { moved: [], more: false };
    let left = params.limit;
    const moved: Moved[] = [];
    const count = (part: Moved[]) => {
      moved.push(...part);
      left -= part.length;
    };
    count(await connection.write(() => expire(left)));
    left -= await connection.write(() => promote(left));
    count(await connection.write(() => stopOverdue(params, left)));
    if (params.reap) count(await reapSilent(left));
    left -= await connection.write(() => sql.forgetKeys.run({ ended_before: bounds(params).ended_before, limit: left }));
    return { moved, more: left <= 0 };
  }

  async function reapSession({ session }: { session: string }): Promise<Moved[]> {
    await connection.write(() => sql.reap.run({ session, now: now() }));
    const moved: Moved[] = [];
    for (;;) {
      const part = await connection.write(() => recover(session, RECOVERY_BATCH));
      moved.push(...part);
      if (part.length < RECOVERY_BATCH) return moved;
    }
  }

  return {
    sweep,
    reapSession,
    nextDueInMs: () =>
      connection.read(() => {
        const due = sql.nextDue.get({})?.due ?? null;
        return due === null ? null : Math.max(0, due - now());
      }),
  };
}
