/** What is known of the files that callers handed in. */
import type { UploadStore } from '../../ports/upload-store.ts';
import { quoted, uploadOf } from '../shared/rows.ts';
import type { UploadRow } from '../shared/rows.ts';
import { isPlain } from './columns.ts';
import type { StoreContext } from './context.ts';
import { prepared } from './statements.ts';

export function uploadStore({ connection }: StoreContext): UploadStore {
  const sql = prepared<{ add: never; find: UploadRow }>(connection, 'uploads');
  return {
    async add({ ref, tenant, sha256, bytes, mediaType, fileName }) {
      const file_name = fileName === null ? null : quoted(fileName);
      await sql.add.count({ ref, tenant, sha256, bytes, media_type: quoted(mediaType), file_name });
    },

    async find({ tenant, ref }) {
      const row = isPlain(ref) ? await sql.find.get({ tenant, ref }) : undefined;
      return row === undefined ? null : uploadOf(row);
    },
  };
}
