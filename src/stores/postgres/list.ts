/**
 * Lists: newest first, in the order in which the store accepted them. One statement applies the whole filter, starting
 * from the table that holds little else than what is asked for, so a page costs one pass however little matches. Another
 * reads what is shown of the jobs that were found.
 */
import type { JobStore } from '../../ports/job-store.ts';
import type { LaneTitle } from '../shared/lanes.ts';
import { quoted } from '../shared/rows.ts';
import { statusOf } from '../shared/views.ts';
import type { StatusRow } from '../shared/views.ts';
import { isPlain, numbers, texts } from './columns.ts';
import type { StoreContext } from './context.ts';
import { prepared } from './statements.ts';

interface Numbered {
  number: number;
}

type ListParams = Parameters<JobStore['list']>[0];

export function listVerb({ connection }: StoreContext): JobStore['list'] {
  const sql = prepared<{
    position: Numbered;
    inLane: Numbered;
    queued: Numbered;
    running: Numbered;
    dead: Numbered;
    deadWithCode: Numbered;
    withLabel: Numbered;
    status: StatusRow & LaneTitle;
  }>(connection, 'list');

  async function positionOf(after: string | null): Promise<number> {
    if (after === null) return Number.MAX_SAFE_INTEGER;
    if (!isPlain(after)) return 0;
    return (await sql.position.get({ id: after }))?.number ?? 0;
  }

  /** The newest `limit` jobs below `before` that the filter fits. */
  async function matching(
    { tenant, filter }: ListParams,
    before: number,
    limit: number,
  ): Promise<Numbered[]> {
    const { code = null, workflow = null } = filter;
    // Only a dead letter has a code.
    const status = filter.status ?? (code === null ? null : 'dead_letter');
    if (code !== null && status !== 'dead_letter') return [];
    const pairs = Object.entries(filter.labels ?? {}).map(([name, value]) => [quoted(name), quoted(value)]);
    const common = { tenant, workflow, before, limit };
    const labels = columnsOf(pairs);
    if (code !== null) return sql.deadWithCode.all({ ...common, ...labels, code });
    if (status === 'dead_letter') return sql.dead.all({ ...common, ...labels });
    if (status === 'running') return sql.running.all({ ...common, ...labels });
    const [first, ...others] = pairs;
    if (first !== undefined) {
      const [name = '', value = ''] = first;
      return sql.withLabel.all({ ...common, ...columnsOf(others), name, value, status });
    }
    if (status === 'queued') return sql.queued.all(common);
    return sql.inLane.all({ ...common, completed: status === 'completed' });
  }

  return async (params) => {
    const { after, limit } = params;
    const found = await matching(params, await positionOf(after), limit + 1);
    if (found.length === 0) return { jobs: [], next: null };
    const page = numbers(found.slice(0, limit).map(({ number }) => number));
    const jobs = (await sql.status.all({ numbers: page })).map((row) => statusOf(row, row));
    return { jobs, next: found.length > limit ? (jobs.at(-1)?.jobId ?? null) : null };
  };
}

function columnsOf(pairs: string[][]) {
  return {
    labels: pairs.length,
    names: texts(pairs.map(([name = '']) => name)),
    values: texts(pairs.map(([, value = '']) => value)),
  };
}
