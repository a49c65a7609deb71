/** The ends of attempts, and how far they are: each fenced by the token of its lease. */
import type { JobStore, Settled, Settlement } from '../../ports/job-store.ts';
import { blobKeeper } from './blobs.ts';
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
  const keep = blobKeeper(connection);

  function one({ jobId, token, command, blobs }: Settlement, at: number): Settled {
    const row = held.get(token, jobId) ?? sql.held.get({ id: jobId, token });
    if (row === undefined) return { refused: 'lease_lost' };
    const { move } = moves.decide(knownOf(row), command, at);
    const moved = move === undefined ? null : moves.settle(row, move, at);
    if (moved === null) return { refused: 'lease_lost' };
    for (const blob of blobs) keep(blob);
    return { moved };
  }

  return {
    async settle(settlements) {
      const settled = await connection.write(() => {
        const at = now();
        return settlements.map((settlement) => one(settlement, at));
      });
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
