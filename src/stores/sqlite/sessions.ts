/** Workers' boots: one heartbeat each, which also brings the news of attempts that were taken away. */
import type { JobStore } from '../../ports/job-store.ts';
import type { StoreContext } from './context.ts';
import type { KnownRow } from '../shared/rows.ts';
import { prepared } from './statements.ts';

export interface SessionRow {
  session: string;
  lease_ms: number;
  expires_at: number;
  reaped_at: number | null;
  claims_after: number;
}

type SessionVerbs = Pick<JobStore, 'openSession' | 'renew' | 'reconcile' | 'closeSession'>;

export function sessionVerbs({ connection, moves, numbers, now }: StoreContext): SessionVerbs {
  const sql = prepared<{
    elsewhere: { worker: string; host: string };
    find: SessionRow;
    open: never;
    extend: never;
    revoked: { job_id: string; token: number };
    forgetHeard: never;
    closeClaims: never;
    forgetRevoked: never;
    holdsLease: { held: 1 };
    close: never;
  }>(connection.db, 'sessions');
  const leases = prepared<{ held: KnownRow }>(connection.db, 'sweep');

  /** A WAL is shared by memory, which machines do not share: two of them on one file would corrupt it. */
  function refuseOtherHosts(host: string): void {
    const other = sql.elsewhere.get({ host, now: now() });
    if (other === undefined) return;
    throw new Error(
      `a worker on another machine (${other.worker} on ${other.host}) uses this SQLite store: ` +
        'SQLite serves the processes of one machine only',
    );
  }

  return {
    openSession: ({ session, worker, host, leaseMs }) =>
      connection.write(() => {
        refuseOtherHosts(host);
        numbers.raiseTokens(now());
        const params = { session, worker, host, lease_ms: leaseMs, expires_at: now() + leaseMs };
        if (sql.open.count(params) === 0) throw new Error(`the session ${session} was reaped; open another`);
      }),

    renew: ({ session, heard }) =>
      connection.write(() => {
        if (sql.extend.count({ session, now: now() }) === 0) return { lost: true, revoked: [] };
        for (const token of heard) sql.forgetHeard.run({ session, token });
        const revoked = sql.revoked.all({ session });
        return { lost: false, revoked: revoked.map(({ job_id, token }) => ({ jobId: job_id, token })) };
      }),

    reconcile: ({ session, serial, held }) =>
      connection.write(() => {
        if (sql.closeClaims.count({ session, serial }) === 0) return { lost: true, gone: [], moved: [] };
        const at = now();
        const rows = leases.held.all({ session, limit: -1 });
        const known = new Set<number | null>(held);
        const moved = rows
          .filter(({ token }) => !known.has(token))
          .map((row) => moves.force(row, { type: 'disown' }, at, { revoke: false }));
        const there = new Set(rows.map(({ token }) => token));
        return { lost: false, gone: held.filter((token) => !there.has(token)), moved };
      }),

    closeSession: ({ session }) =>
      connection.write(() => {
        if (sql.holdsLease.get({ session }) !== undefined) return;
        sql.forgetRevoked.run({ session });
        sql.close.run({ session });
      }),
  };
}
