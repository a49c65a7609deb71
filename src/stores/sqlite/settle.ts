/** The ends of attempts, and how far they are: each fenced by the token of its lease. */
import type { Move } from '../../domain/decide.ts';
import type { JobStore, Settled, Settlement } from '../../ports/job-store.ts';
import { settledKeeper } from './blobs.ts';
import type { StoreContext } from './context.ts';
import { knownOf } from '../shared/rows.ts';
import type { KnownRow } from '../shared/rows.ts';
import { prepared } from './statements.ts';

export function settleVerbs({
  connection,
  moves,
  held,
  now,
}: StoreContext): Pick<JobStore, 'settle' | 'progress'> {
  const sql = prepared<{ held: KnownRow; progress: never }>(connection.db, 'settle');
  const keep = settledKeeper(connection);

  /** A token is spent by the first settlement that uses it. */
  function settleAll(settlements: Settlement[], at: number): Settled[] {
    const planned = settlements.map((settlement) => plan(settlement, at));
    const ended = moves.endLeases(planned.flatMap((one) => one?.row ?? []));
    return settlements.map(({ token, blobs }, index) => {
      const one = planned[index];
      if (one == null || !ended.delete(token)) return { refused: 'lease_lost' };
      const moved = moves.end(one.row, one.move, at);
      keep(one.row, one.move.artifact, blobs);
      return { moved };
    });
  }

  function plan({ jobId, token, command }: Settlement, at: number): { row: KnownRow; move: Move } | null {
    const row = held.get(token, jobId) ?? sql.held.get({ id: jobId, token });
    if (row === undefined) return null;
    const { move } = moves.decide(knownOf(row), command, at);
    return move === undefined ? null : { row, move };
  }

  return {
    async settle(settlements) {
      const settled = await connection.write(() => settleAll(settlements, now()));
      for (const { token } of settlements) held.forget(token);
      return settled;
    },

    progress: ({ jobId, token, progress }) =>
      connection.write(() => {
        const text = JSON.stringify({ ...progress, at: now() });
        return sql.progress.count({ id: jobId, token, progress: text }) === 1;
      }),
  };
}
