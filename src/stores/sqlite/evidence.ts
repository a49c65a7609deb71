import type { EvidenceStore } from '../../ports/evidence-store.ts';
import type { StoreContext } from './context.ts';
import { prepared } from './statements.ts';

export function evidenceStore({ connection, lanes, now }: StoreContext): EvidenceStore {
  const sql = prepared<{
    old: { id: string; lane: number };
    ended: { number: number };
    mark: never;
    drop: never;
    gone: never;
  }>(connection.db, 'evidence');

  return {
    old: ({ olderThanMs, limit }) =>
      connection.read(() => {
        const rows = sql.old.all({ before: now() - olderThanMs, limit });
        return rows.map(({ id: jobId, lane }) => ({ jobId, tenant: lanes.get(lane).tenant }));
      }),

    erase: ({ jobId: id, olderThanMs, uris }) =>
      connection.write(() => {
        const ended = sql.ended.get({ id, before: now() - olderThanMs });
        if (ended === undefined) return;
        sql.mark.run({ job: ended.number, now: now() });
        for (const uri of uris) sql.drop.run({ uri });
      }),

    gone: ({ jobId: id }) => connection.write(() => sql.gone.run({ id })),
  };
}
