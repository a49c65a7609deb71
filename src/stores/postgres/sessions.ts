/** Workers' boots: one heartbeat each, which also brings the news of attempts that were taken away. */
import type { JobStore } from '../../ports/job-store.ts';
import type { StoreContext } from './context.ts';
import { prepared } from './statements.ts';

type SessionVerbs = Pick<JobStore, 'openSession' | 'renew' | 'closeSession'>;

export function sessionVerbs({ connection }: StoreContext): SessionVerbs {
  const sql = prepared<{
    open: never;
    renew: { job_id: string | null; token: number };
    close: never;
  }>(connection, 'sessions');

  return {
    async openSession({ session, worker, host, leaseMs }) {
      const opened = await sql.open.count({ session, worker, host, lease_ms: leaseMs });
      if (opened === 0) throw new Error(`the session ${session} was reaped; open another`);
    },

    async renew({ session }) {
      const rows = await sql.renew.all({ session });
      const revoked = rows.flatMap(({ job_id, token }) =>
        job_id === null ? [] : [{ jobId: job_id, token }],
      );
      return { lost: rows.length === 0, revoked };
    },

    async closeSession({ session }) {
      await sql.close.count({ session });
    },
  };
}
