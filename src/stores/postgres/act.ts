/** Commands of persons: cancel and replay. */
import { StoreUnavailableError } from '../../ports/job-store.ts';
import type { JobStore } from '../../ports/job-store.ts';
import { isPlain } from './columns.ts';
import type { StoreContext } from './context.ts';
import type { SeenRow } from '../shared/rows.ts';
import { prepared } from './statements.ts';

/** A job that others move each time between our look and our hand is read and decided again. */
const TRIES = 20;

export function actVerb({ connection, moves }: StoreContext): JobStore['act'] {
  const sql = prepared<{ find: SeenRow }>(connection, 'act');
  return async ({ tenant, jobId, command }) => {
    if (!isPlain(jobId)) return { outcome: 'not_found' };
    for (let attempt = 1; attempt <= TRIES; attempt += 1) {
      const row = await sql.find.get({ id: jobId, tenant });
      if (row === undefined) return { outcome: 'not_found' };
      const { move, refusal } = moves.decide(row, command);
      if (move === undefined) return { outcome: 'refused', refusal };
      const [moved] = await moves.apply([{ row, move }], { revoke: true });
      if (moved) return { outcome: 'moved', moved };
    }
    throw new StoreUnavailableError(`${jobId} is moved by others all the time`);
  };
}
