/** Workers' boots: one heartbeat each, which also brings the news of attempts that were taken away. */
import type { JobStore } from '../../ports/job-store.ts';
import { numbers } from './columns.ts';
import type { StoreContext } from './context.ts';
import type { SeenRow } from '../shared/rows.ts';
import { prepared } from './statements.ts';

type SessionVerbs = Pick<JobStore, 'openSession' | 'renew' | 'reconcile' | 'closeSession'>;

/** Given up sooner than other statements: a lease waits for them, and the next may have a connection that lives. */
const ANSWER_MS = 3000;

export function sessionVerbs({ connection, moves }: StoreContext): SessionVerbs {
  const sql = prepared<{
    raiseTokens: never;
    open: never;
    renew: { job_id: string | null; token: number };
    closeClaims: never;
    close: never;
  }>(connection, 'sessions', { withinMs: ANSWER_MS });
  const leases = prepared<{ held: SeenRow }>(connection, 'sweep');

  return {
    async openSession({ session, worker, host, leaseMs }) {
      await sql.raiseTokens.count({});
      const opened = await sql.open.count({ session, worker, host, lease_ms: leaseMs });
      if (opened === 0) throw new Error(`the session ${session} was reaped; open another`);
    },

    async renew({ session, heard }) {
      const rows = await sql.renew.all({ session, heard: numbers(heard) });
      const revoked = rows.flatMap(({ job_id, token }) =>
        job_id === null ? [] : [{ jobId: job_id, token }],
      );
      return { lost: rows.length === 0, revoked };
    },

    async reconcile({ session, serial, held }) {
      await sql.raiseTokens.count({});
      if ((await sql.closeClaims.count({ session, serial })) === 0)
        return { lost: true, gone: [], moved: [] };
      const rows = await leases.held.all({ session, limit: Number.MAX_SAFE_INTEGER });
      const known = new Set<number | null>(held);
      const strays = rows.filter(({ token }) => !known.has(token));
      const moved = await moves.force(strays, () => ({ type: 'disown' }), { revoke: false });
      const there = new Set(rows.map(({ token }) => token));
      return { lost: false, gone: held.filter((token) => !there.has(token)), moved };
    },

    async closeSession({ session }) {
      await sql.close.count({ session });
    },
  };
}
