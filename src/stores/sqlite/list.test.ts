import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { JobFilter } from '../../ports/job-store.ts';
import { Fixture, TENANT } from '../../testkit/store/fixture.ts';
import type { OpenedStore } from '../../testkit/store/fixture.ts';
import { openSqliteForTest } from '../../testkit/store/sqlite.ts';

/** The statements of `list.sql` that were run. */
const ran = vi.hoisted(() => [] as string[]);

vi.mock(import('./statements.ts'), async (original) => {
  const { prepared } = await original();
  const counted: typeof prepared = (db, file) => {
    const statements = prepared<Record<string, never>>(db, file);
    const entries = Object.entries(statements).map(([name, statement]) => {
      const note = () => void (file === 'list' && ran.push(name));
      const noted: typeof statement = {
        ...statement,
        get: (params) => (note(), statement.get(params)),
        all: (params) => (note(), statement.all(params)),
      };
      return [name, noted];
    });
    return Object.fromEntries(entries) as never;
  };
  return { prepared: counted };
});

let opened: OpenedStore;
let f: Fixture;

beforeEach(async () => {
  opened = await openSqliteForTest();
  f = new Fixture(opened);
});

afterEach(async () => {
  await opened.dispose();
});

async function statementsOf(filter: JobFilter): Promise<number> {
  ran.length = 0;
  const { jobs } = await f.jobs.list({ tenant: TENANT, filter, after: null, limit: 50 });
  expect(jobs).toEqual([]);
  return ran.length;
}

it('a list that nothing matches is one statement, however many jobs fit a part of its filter', async () => {
  const jobs = Array.from({ length: 2500 }, () => ({ labels: { kind: 'a' } }));
  await f.enqueue(...jobs);
  await f.enqueue(...jobs);
  await f.enqueue({ workflow: 'other', labels: { kind: 'b' } });
  const filters: JobFilter[] = [
    { status: 'queued', workflow: 'none' },
    { status: 'queued', workflow: 'other', labels: { kind: 'a' } },
    { status: 'running', labels: { kind: 'a' } },
    { status: 'queued', labels: { kind: 'a', size: 'none' } },
    { status: 'dead_letter', labels: { kind: 'a' } },
    { status: 'completed', labels: { kind: 'a' } },
    { workflow: 'other', labels: { kind: 'a' } },
  ];
  for (const filter of filters) expect(await statementsOf(filter), JSON.stringify(filter)).toBe(1);
});
