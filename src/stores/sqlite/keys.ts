/** API keys, of which only a digest is kept. */
import type { KeyStore } from '../../ports/key-store.ts';
import { keyOf, quoted } from '../shared/rows.ts';
import type { KeyRow } from '../shared/rows.ts';
import type { StoreContext } from './context.ts';
import { prepared } from './statements.ts';

export function keyStore({ connection, now }: StoreContext): KeyStore {
  const sql = prepared<{ add: never; find: KeyRow; list: KeyRow; revoke: never }>(connection.db, 'keys');
  return {
    add: ({ id, tenant, name, scopes, secretSha256 }) =>
      connection.write(() => {
        const named = { id, tenant, name: quoted(name), scopes: JSON.stringify(scopes) };
        sql.add.run({ ...named, secret_sha256: secretSha256, created_at: now() });
      }),

    find: ({ id }) =>
      connection.read(() => {
        const row = sql.find.get({ id });
        return row?.id === id ? keyOf(row) : null;
      }),

    list: ({ tenant }) => connection.read(() => sql.list.all({ tenant }).map(keyOf)),

    revoke: ({ tenant, id }) => connection.write(() => sql.revoke.count({ tenant, id, now: now() }) === 1),
  };
}
