/** What is known of the files that callers handed in. */
import type { Upload, UploadStore } from '../../ports/upload-store.ts';
import type { StoreContext } from './context.ts';
import { parsed, quoted } from './rows.ts';
import { prepared } from './statements.ts';

interface UploadRow {
  ref: string;
  tenant: string;
  sha256: string;
  bytes: number;
  media_type: string;
  file_name: string | null;
}

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

function uploadOf({ ref, tenant, sha256, bytes, media_type, file_name }: UploadRow): Upload {
  const fileName = file_name === null ? null : parsed<string>(file_name);
  return { ref, tenant, sha256, bytes, mediaType: parsed<string>(media_type), fileName };
}
