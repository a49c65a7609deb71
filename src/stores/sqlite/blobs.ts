/** Small artifacts and evidence, kept in the transaction of what refers to them. */
import type { InlineBlob } from '../../ports/job-store.ts';
import type { Connection } from './connection.ts';
import { isTaken } from './errors.ts';
import { prepared } from './statements.ts';

/**
 * Only within a write. URIs carry the token of an attempt, so bytes are never replaced by others: that would be a defect of
 * the caller.
 */
export function blobKeeper({ db }: Connection): (blob: InlineBlob) => void {
  const sql = prepared<{ addBlob: never; sameBlob: { same: 1 } }>(db, 'settle');
  return ({ uri, mediaType, bytes }) => {
    const params = { uri, media_type: mediaType, bytes };
    try {
      sql.addBlob.run(params);
    } catch (error) {
      if (!isTaken(error)) throw error;
      if (sql.sameBlob.get(params) === undefined)
        throw new Error(`${uri} holds other bytes already`, { cause: error });
    }
  };
}
