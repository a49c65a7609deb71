/** Small artifacts and evidence, kept in the transaction of what refers to them. */
import type { ArtifactRef } from '../../domain/record.ts';
import type { InlineBlob } from '../../ports/job-store.ts';
import type { Connection } from './connection.ts';
import { isTaken } from './errors.ts';
import { prepared } from './statements.ts';

/**
 * Only within a write. URIs carry the token of an attempt, so bytes are never replaced by others: that would be a defect of
 * the caller.
 */
export function blobKeeper({ db }: Connection): (blob: InlineBlob) => void {
  const sql = prepared<{ add: never; same: { same: 1 } }>(db, 'blobs');
  return ({ uri, mediaType, bytes }) => {
    const params = { uri, media_type: mediaType, bytes };
    try {
      sql.add.run(params);
    } catch (error) {
      if (!isTaken(error)) throw error;
      if (sql.same.get(params) === undefined)
        throw new Error(`${uri} holds other bytes already`, { cause: error });
    }
  };
}

interface Owner {
  number: number;
  id: string;
}

/** Keeps what a settlement brings: the output by its job's number, which takes half the time, all else by its URI. Only within a write. */
export function settledKeeper(
  connection: Connection,
): (job: Owner, output: ArtifactRef | null, blobs: readonly InlineBlob[]) => void {
  const keep = blobKeeper(connection);
  const { addOutput } = prepared<{ addOutput: never }>(connection.db, 'blobs');
  return (job, output, blobs) => {
    for (const blob of blobs) {
      if (isOutput(blob, job, output)) addOutput.run({ job: job.number, bytes: blob.bytes });
      else keep(blob);
    }
  };
}

/** Whether the job's record says all of it but the bytes, and its URI says which job's it is. */
function isOutput({ uri, mediaType }: InlineBlob, { id }: Owner, output: ArtifactRef | null): boolean {
  return output !== null && uri === output.uri && mediaType === output.mediaType && jobIn(uri) === id;
}

/** Reads what was kept, within a transaction. A bound string ends at its first U+0000, so URIs are compared again. */
export function blobReader({ db }: Connection): (uri: string) => InlineBlob | null {
  const sql = prepared<{
    find: { uri: string; media_type: string; bytes: Uint8Array };
    output: { artifact: string; bytes: Uint8Array };
  }>(db, 'blobs');
  return (uri) => {
    const output = sql.output.get({ id: jobIn(uri) });
    if (output !== undefined) {
      const artifact = JSON.parse(output.artifact) as ArtifactRef;
      if (artifact.uri === uri) return { uri, mediaType: artifact.mediaType, bytes: output.bytes };
    }
    const row = sql.find.get({ uri });
    return row?.uri === uri ? { uri, mediaType: row.media_type, bytes: row.bytes } : null;
  };
}

/** `artifacts/<job>/…`; of another URI something that is no job's id. */
function jobIn(uri: string): string {
  return uri.split('/', 2)[1] ?? '';
}
