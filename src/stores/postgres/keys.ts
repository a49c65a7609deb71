/** API keys, of which only a digest is kept. */
import type { KeyStore } from '../../ports/key-store.ts';
import { keyOf, quoted } from '../shared/rows.ts';
import type { KeyRow } from '../shared/rows.ts';
import { isPlain } from './columns.ts';
import type { StoreContext } from './context.ts';
import { prepared } from './statements.ts';

export function keyStore({ connection }: StoreContext): KeyStore {
  const sql = prepared<{ add: never; find: KeyRow; list: KeyRow; revoke: never }>(connection, 'keys');
  return {
    async add({ id, tenant, name, scopes, secretSha256 }) {
      const named = { id, tenant, name: quoted(name), scopes: JSON.stringify(scopes) };
      await sql.add.count({ ...named, secret_sha256: secretSha256 });
    },

    async find({ id }) {
      const row = isPlain(id) ? await sql.find.get({ id }) : undefined;
      return row === undefined ? null : keyOf(row);
    },

    list: async ({ tenant }) => (await sql.list.all({ tenant })).map(keyOf),

    revoke: async ({ tenant, id }) => isPlain(id) && (await sql.revoke.count({ tenant, id })) === 1,
  };
}
