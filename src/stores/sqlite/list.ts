/**
 * Lists: newest first, in the order in which the store accepted them. One statement applies the whole filter, starting
 * from the table that holds little else than what is asked for, so a page costs one pass however little matches.
 */
import type { StatusView } from '../../domain/record.ts';
import type { JobStore } from '../../ports/job-store.ts';
import { statusOf } from '../shared/views.ts';
import type { StatusRow } from '../shared/views.ts';
import type { StoreContext } from './context.ts';
import { quoted } from '../shared/rows.ts';
import { prepared } from './statements.ts';

interface Numbered {
  number: number;
}

type ListParams = Parameters<JobStore['list']>[0];

export function listVerb({ connection, lanes }: StoreContext): JobStore['list'] {
  const sql = prepared<{
    position: Numbered;
    status: StatusRow;
    lanes: { lane: number };
    inLane: Numbered;
    queued: Numbered;
    runningOrDead: Numbered;
    withLabel: Numbered;
  }>(connection.db, 'list');

  /** The number that the page goes on below; for an id that is no more, that of the next older one and itself. */
  function positionOf(after: string): number {
    const found = sql.position.get({ id: after });
    if (found === undefined) return 0;
    return sql.status.get({ number: found.number })?.id === after ? found.number : found.number + 1;
  }

  /** The newest `limit` jobs below `before` that the filter fits. */
  function matching({ tenant, filter }: ListParams, before: number, limit: number): Numbered[] {
    const { code = null, workflow = null } = filter;
    // Only a dead letter has a code.
    const status = filter.status ?? (code === null ? null : 'dead_letter');
    if (code !== null && status !== 'dead_letter') return [];
    const pairs = Object.entries(filter.labels ?? {}).map(([name, value]) => [quoted(name), quoted(value)]);
    const labels = JSON.stringify(pairs);
    const common = { tenant, workflow, before, limit };
    if (status === 'running' || status === 'dead_letter')
      return sql.runningOrDead.all({ ...common, status, code, labels });
    if (pairs.length > 0) return sql.withLabel.all({ ...common, status, labels });
    if (status === 'queued') return sql.queued.all(common);
    const completed = status === 'completed' ? 1 : 0;
    return sql.lanes
      .all({ tenant, workflow })
      .flatMap(({ lane }) => sql.inLane.all({ lane, before, limit, completed }))
      .toSorted((a, b) => b.number - a.number)
      .slice(0, limit);
  }

  function viewOf({ number }: Numbered): StatusView {
    const row = sql.status.get({ number });
    if (row === undefined) throw new Error(`there is no job of number ${number}`);
    return statusOf(row, lanes.get(row.lane));
  }

  function page(params: ListParams) {
    const { after, limit } = params;
    const before = after === null ? Number.MAX_SAFE_INTEGER : positionOf(after);
    const found = matching(params, before, limit + 1);
    const jobs = found.slice(0, limit).map(viewOf);
    return { jobs, next: found.length > limit ? (jobs.at(-1)?.jobId ?? null) : null };
  }

  return (params) => connection.read(() => page(params));
}
