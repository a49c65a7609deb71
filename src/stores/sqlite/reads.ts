/** What readers see: a job's record or its status, on one snapshot, with the lease of a running attempt in it. */
import type { JobStore } from '../../ports/job-store.ts';
import type { CallRow } from '../shared/calls.ts';
import { parsed } from '../shared/rows.ts';
import { jobOf, statusOf } from '../shared/views.ts';
import type { JobRow, StatusRow } from '../shared/views.ts';
import { blobReader } from './blobs.ts';
import type { StoreContext } from './context.ts';
import { prepared } from './statements.ts';

/** As the statement `statuses` lists them. */
type StatusColumns = [
  id: string,
  lane: number,
  status: StatusRow['status'],
  attempt: number,
  artifact: string | null,
  updatedAt: number,
  eventCount: number,
  since: number | null,
  error: string | null,
];

type ReadVerbs = Pick<JobStore, 'statuses' | 'job' | 'inlineBlob'>;

export function readVerbs({ connection, lanes }: StoreContext): ReadVerbs {
  const sql = prepared<{ statuses: { rows: string }; job: JobRow }>(connection.db, 'reads');
  const blob = blobReader(connection);
  const { calls } = prepared<{ calls: CallRow }>(connection.db, 'ledger');

  /** Another tenant's row is none. A bound string ends at its first U+0000, so the id is compared again as well. */
  function own<Row extends { id: string; lane: number }>(
    row: Row | undefined,
    jobId: string,
    tenant: string,
  ) {
    if (row?.id !== jobId) return null;
    const lane = lanes.get(row.lane);
    return lane.tenant === tenant ? { row, lane } : null;
  }

  return {
    // as one text: the driver takes longer to hand over the rows than all else takes
    statuses: (asked) =>
      connection.read(() => {
        const ids = JSON.stringify(asked.map(({ jobId }) => jobId));
        const rows = parsed<StatusColumns[]>(sql.statuses.get({ ids })?.rows ?? '[]');
        const byId = new Map(rows.map((columns) => [columns[0], statusRow(columns)]));
        return asked.map(({ tenant, jobId }) => {
          const found = own(byId.get(jobId), jobId, tenant);
          return found === null ? null : statusOf(found.row, found.lane);
        });
      }),

    job: ({ tenant, jobId }) =>
      connection.read(() => {
        const found = own(sql.job.get({ id: jobId }), jobId, tenant);
        return found === null ? null : jobOf(found.row, found.lane, calls.all({ id: jobId }));
      }),

    inlineBlob: ({ uri }) => connection.read(() => blob(uri)),
  };
}

function statusRow(columns: StatusColumns): StatusRow {
  const [id, lane, status, attempt, artifact, updated_at, event_count, since, error] = columns;
  return { id, lane, status, attempt, artifact, updated_at, event_count, since, error };
}
