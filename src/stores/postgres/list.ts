/**
 * Lists: newest first, in the order in which the store accepted them. Each filter has a table that holds little else than
 * what it asks for; the narrowest of them gives candidates, newest first, and every candidate is checked against the
 * whole filter.
 */
import type { StatusView } from '../../domain/record.ts';
import type { JobFilter, JobStore } from '../../ports/job-store.ts';
import type { LaneTitle } from '../shared/lanes.ts';
import { labelsOf, quoted } from '../shared/rows.ts';
import { statusOf } from '../shared/views.ts';
import type { StatusRow } from '../shared/views.ts';
import { isPlain, numbers } from './columns.ts';
import type { StoreContext } from './context.ts';
import { prepared } from './statements.ts';

const CANDIDATES = 200;

interface ListRow extends StatusRow, LaneTitle {
  code: string | null;
  labels: string | null;
}

interface Numbered {
  number: number;
}

type ListParams = Parameters<JobStore['list']>[0];

/** Up to `limit` job numbers below `before`, newest first; none means that there are no more. */
type Source = (before: number, limit: number) => Promise<Numbered[]>;

export function listVerb({ connection }: StoreContext): JobStore['list'] {
  const sql = prepared<{
    position: Numbered;
    inLane: Numbered;
    withLabel: Numbered;
    dead: Numbered;
    deadWithCode: Numbered;
    running: Numbered;
    queued: Numbered;
    status: ListRow;
  }>(connection, 'list');

  function sourceOf(tenant: string, { labels = {}, code, status, workflow }: JobFilter): Source {
    const [label] = Object.entries(labels);
    if (label !== undefined) {
      const [name, value] = [quoted(label[0]), quoted(label[1])];
      return (before, limit) => sql.withLabel.all({ tenant, name, value, before, limit });
    }
    if (code !== undefined) return (before, limit) => sql.deadWithCode.all({ tenant, code, before, limit });
    if (status === 'dead_letter') return (before, limit) => sql.dead.all({ tenant, before, limit });
    if (status === 'running') return (before, limit) => sql.running.all({ before, limit });
    if (status === 'queued') return (before, limit) => sql.queued.all({ tenant, before, limit });
    return (before, limit) => sql.inLane.all({ tenant, workflow: workflow ?? null, before, limit });
  }

  async function startOf(after: string | null): Promise<number> {
    if (after === null) return Number.MAX_SAFE_INTEGER;
    if (!isPlain(after)) return 0;
    return (await sql.position.get({ id: after }))?.number ?? 0;
  }

  async function* matches({ tenant, filter, after, limit }: ListParams): AsyncGenerator<StatusView> {
    const source = sourceOf(tenant, filter);
    const candidates = Math.max(CANDIDATES, limit + 1);
    let before = await startOf(after);
    for (;;) {
      const found = await source(before, candidates);
      const last = found.at(-1);
      if (last === undefined) return;
      const rows = await sql.status.all({ numbers: numbers(found.map(({ number }) => number)) });
      yield* rows.filter((row) => fits(row, tenant, filter)).map((row) => statusOf(row, row));
      if (found.length < candidates) return;
      before = last.number;
    }
  }

  return async (params) => {
    const jobs: StatusView[] = [];
    for await (const view of matches(params)) {
      if (jobs.length === params.limit) return { jobs, next: jobs.at(-1)?.jobId ?? null };
      jobs.push(view);
    }
    return { jobs, next: null };
  };
}

function fits(row: ListRow, tenant: string, filter: JobFilter): boolean {
  const status = row.since === null ? row.status : 'running';
  const own = labelsOf(row.labels);
  return (
    row.tenant === tenant &&
    status === (filter.status ?? status) &&
    row.workflow === (filter.workflow ?? row.workflow) &&
    row.code === (filter.code ?? row.code) &&
    Object.entries(filter.labels ?? {}).every(([name, value]) => own[name] === value)
  );
}
