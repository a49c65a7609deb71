/**
 * Lists: newest first, in the order in which the store accepted them. Each filter has a table that holds little else than
 * what it asks for; the narrowest of them gives candidates, newest first, and every candidate is checked against the
 * whole filter.
 */
import type { StatusView } from '../../domain/record.ts';
import type { JobFilter, JobStore } from '../../ports/job-store.ts';
import { statusOf } from '../shared/views.ts';
import type { StatusRow } from '../shared/views.ts';
import type { StoreContext } from './context.ts';
import { quoted } from '../shared/rows.ts';
import { prepared } from './statements.ts';

const CANDIDATES = 200;

interface ListRow extends StatusRow {
  code: string | null;
}

interface Numbered {
  number: number;
}

type ListParams = Parameters<JobStore['list']>[0];

/** Up to `CANDIDATES` job numbers below `before`, newest first; none means that there are no more. */
type Source = (before: number) => Numbered[];

export function listVerb({ connection, lanes }: StoreContext): JobStore['list'] {
  const sql = prepared<{
    position: Numbered;
    status: ListRow;
    hasLabel: { found: 1 };
    lanes: { lane: number };
    inLane: Numbered;
    withLabel: Numbered;
    dead: Numbered;
    deadWithCode: Numbered;
    running: Numbered;
    queued: Numbered;
  }>(connection.db, 'list');
  const limit = CANDIDATES;

  function sourceOf(tenant: string, filter: JobFilter): Source {
    const [label] = Object.entries(filter.labels ?? {});
    if (label !== undefined) {
      const [name, value] = [quoted(label[0]), quoted(label[1])];
      return (before) => sql.withLabel.all({ tenant, name, value, before, limit });
    }
    const { code, status } = filter;
    if (code !== undefined) return (before) => sql.deadWithCode.all({ tenant, code, before, limit });
    if (status === 'dead_letter') return (before) => sql.dead.all({ before, limit });
    if (status === 'running') return (before) => sql.running.all({ before, limit });
    if (status === 'queued') return (before) => sql.queued.all({ before, limit });
    return ofLanes(tenant, filter.workflow ?? null, status === 'completed');
  }

  /** @param completed leaves out in SQL what is not, since all that waits may lie in front of it */
  function ofLanes(tenant: string, workflow: string | null, completed: boolean): Source {
    const ended = completed ? 1 : 0;
    const numbers = sql.lanes.all({ tenant, workflow });
    return (before) =>
      numbers
        .flatMap(({ lane }) => sql.inLane.all({ lane, before, limit, ended }))
        .toSorted((a, b) => b.number - a.number)
        .slice(0, limit);
  }

  function matching(tenant: string, filter: JobFilter, number: number): StatusView | null {
    const row = sql.status.get({ number });
    if (row === undefined) return null;
    const lane = lanes.get(row.lane);
    const view = statusOf(row, lane);
    const { status = view.status, workflow = lane.workflow, code = row.code, labels = {} } = filter;
    const same =
      lane.tenant === tenant && view.status === status && lane.workflow === workflow && row.code === code;
    return same && Object.entries(labels).every((label) => hasLabel(tenant, number, label)) ? view : null;
  }

  function hasLabel(tenant: string, job: number, [name, value]: [string, string]): boolean {
    return sql.hasLabel.get({ tenant, job, name: quoted(name), value: quoted(value) }) !== undefined;
  }

  function* matches(tenant: string, filter: JobFilter, after: string | null): Generator<StatusView> {
    const source = sourceOf(tenant, filter);
    let before = after === null ? Number.MAX_SAFE_INTEGER : positionOf(after);
    for (;;) {
      const candidates = source(before);
      if (candidates.length === 0) return;
      for (const { number } of candidates) {
        const view = matching(tenant, filter, number);
        if (view !== null) yield view;
        before = number;
      }
    }
  }

  /** The number that the page goes on below; for an id that is no more, that of the next older one and itself. */
  function positionOf(after: string): number {
    const found = sql.position.get({ id: after });
    if (found === undefined) return 0;
    return sql.status.get({ number: found.number })?.id === after ? found.number : found.number + 1;
  }

  function page(params: ListParams) {
    const jobs: StatusView[] = [];
    for (const view of matches(params.tenant, params.filter, params.after)) {
      if (jobs.length === params.limit) return { jobs, next: jobs.at(-1)?.jobId ?? null };
      jobs.push(view);
    }
    return { jobs, next: null };
  }

  return (params) => connection.read(() => page(params));
}
