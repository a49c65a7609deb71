import type { EvidenceStore } from '../../ports/evidence-store.ts';
import type { StoreContext } from './context.ts';
import { prepared } from './statements.ts';

export function evidenceStore({ connection }: StoreContext): EvidenceStore {
  const sql = prepared<{ old: { id: string; tenant: string }; erase: never; gone: never }>(
    connection,
    'evidence',
  );
  return {
    async old({ olderThanMs, limit }) {
      const rows = await sql.old.all({ older_than_ms: olderThanMs, limit });
      return rows.map(({ id: jobId, tenant }) => ({ jobId, tenant }));
    },

    async erase({ jobId: id, olderThanMs, uris }) {
      await sql.erase.count({ id, older_than_ms: olderThanMs, uris: uris.join('\n') });
    },

    async gone({ jobId: id }) {
      await sql.gone.count({ id });
    },
  };
}
