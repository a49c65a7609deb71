/** What is known of the files that callers handed in. */
import type { UploadStore } from '../../ports/upload-store.ts';
import { quoted, uploadOf } from '../shared/rows.ts';
import type { UploadRow } from '../shared/rows.ts';
import type { StoreContext } from './context.ts';
import { prepared } from './statements.ts';

export function uploadStore({ connection }: StoreContext): UploadStore {
  const sql = prepared<{ add: never; find: UploadRow }>(connection.db, 'uploads');
  return {
    add: ({ ref, tenant, sha256, bytes, mediaType, fileName }) =>
      connection.write(() => {
        const file_name = fileName === null ? null : quoted(fileName);
        sql.add.run({ ref, tenant, sha256, bytes, media_type: quoted(mediaType), file_name });
      }),

    find: ({ tenant, ref }) =>
      connection.read(() => {
        const row = sql.find.get({ tenant, ref });
        return row?.ref === ref ? uploadOf(row) : null;
      }),
  };
}
