/** What readers see: a job's record or its status, on one snapshot, with the lease of a running attempt in it. */
import type { JobStore } from '../../ports/job-store.ts';
import type { CallRow } from '../shared/calls.ts';
import type { LaneTitle } from '../shared/lanes.ts';
import { parsed } from '../shared/rows.ts';
import { jobOf, statusOf } from '../shared/views.ts';
import type { JobRow, StatusRow } from '../shared/views.ts';
import { isName, isPlain, names } from './columns.ts';
import type { StoreContext } from './context.ts';
import { prepared } from './statements.ts';

interface BlobRow {
  uri: string;
  media_type: string;
  bytes: Uint8Array;
}

type ReadVerbs = Pick<JobStore, 'statuses' | 'job' | 'inlineBlob'>;

export function readVerbs({ connection }: StoreContext): ReadVerbs {
  const sql = prepared<{
    statuses: StatusRow & LaneTitle;
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
      const row = isPlain(uri) ? await sql.inlineBlob.get({ uri }) : undefined;
      if (row === undefined) return null;
      return { uri, mediaType: parsed<string>(row.media_type), bytes: new Uint8Array(row.bytes) };
    },
  };
}
