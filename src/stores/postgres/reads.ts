/** What readers see: a job's record or its status, on one snapshot, with the lease of a running attempt in it. */
import type { ArtifactRef } from '../../domain/record.ts';
import type { InlineBlob, JobStore } from '../../ports/job-store.ts';
import type { CallRow } from '../shared/calls.ts';
import type { LaneTitle } from '../shared/lanes.ts';
import { parsed } from '../shared/rows.ts';
import { jobOf, statusOf } from '../shared/views.ts';
import type { JobRow, StatusRow } from '../shared/views.ts';
import { isName, isPlain, jobIn, names } from './columns.ts';
import type { StoreContext } from './context.ts';
import { prepared } from './statements.ts';

/** Bytes that are described by themselves, or by the record that they are in. */
type BlobRow = { bytes: Uint8Array } & (
  | { artifact: null; uri: string; media_type: string }
  | { artifact: string }
);

type ReadVerbs = Pick<JobStore, 'statuses' | 'job' | 'inlineBlob'>;

export function readVerbs({ connection }: StoreContext): ReadVerbs {
  const sql = prepared<{
    statuses: StatusRow & Pick<LaneTitle, 'tenant' | 'workflow'>;
    job: JobRow & LaneTitle & { calls: CallRow[] | null };
    inlineBlob: BlobRow;
  }>(connection, 'reads');
  return {
    async statuses(asked) {
      const ids = new Set(asked.map(({ jobId }) => jobId).filter(isName));
      const rows = ids.size === 0 ? [] : await sql.statuses.all({ ids: names([...ids]) });
      const byId = new Map(rows.map((row) => [row.id, row]));
      return asked.map(({ tenant, jobId }) => {
        const row = byId.get(jobId);
        return row?.tenant === tenant ? statusOf(row, row) : null;
      });
    },

    async job({ tenant, jobId }) {
      const row = isPlain(jobId) ? await sql.job.get({ id: jobId, tenant }) : undefined;
      return row === undefined ? null : jobOf(row, row, row.calls ?? []);
    },

    async inlineBlob({ uri }) {
      if (!isPlain(uri)) return null;
      const rows = await sql.inlineBlob.all({ uri, id: jobIn(uri) });
      return rows.map(blobOf).find((blob) => blob.uri === uri) ?? null;
    },
  };
}

function blobOf(row: BlobRow): InlineBlob {
  const { uri, mediaType } =
    row.artifact === null
      ? { uri: row.uri, mediaType: parsed<string>(row.media_type) }
      : parsed<ArtifactRef>(row.artifact);
  return { uri, mediaType, bytes: new Uint8Array(row.bytes) };
}
