/** Commands of persons: cancel and replay. */
import type { JobStore } from '../../ports/job-store.ts';
import type { StoreContext } from './context.ts';
import { knownOf } from '../shared/rows.ts';
import type { KnownRow } from '../shared/rows.ts';
import { prepared } from './statements.ts';

export function actVerb({ connection, moves, now }: StoreContext): JobStore['act'] {
  const sql = prepared<{ find: KnownRow }>(connection.db, 'act');
  return ({ tenant, jobId, command }) =>
    connection.write(() => {
      const row = sql.find.get({ id: jobId, tenant });
      // A bound string ends at its first U+0000: only the id as it was asked for is an answer.
      if (row?.id !== jobId) return { outcome: 'not_found' };
      const at = now();
      const { move, refusal } = moves.decide(knownOf(row), command, at);
      if (move === undefined) return { outcome: 'refused', refusal };
      return { outcome: 'moved', moved: moves.write(row, move, at, { revoke: true }) };
    });
}
