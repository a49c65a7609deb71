import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { JobFilter } from '../../src/ports/job-store.ts';
import { Fixture, TENANT } from '../../src/testkit/store/fixture.ts';
import type { OpenedStore } from '../../src/testkit/store/fixture.ts';
import { openPostgresForTest } from './database.ts';

/** The statements of `list.sql` that were run. */
const ran = vi.hoisted(() => [] as string[]);

vi.mock(import('../../src/stores/postgres/statements.ts'), async (original) => {
  const { prepared, ...rest } = await original();
  const counted: typeof prepared = (connection, file) => {
    const statements = prepared<Record<string, never>>(connection, file);
    const entries = Object.entries(statements).map(([name, statement]) => {
      const all: typeof statement.all = (params, on) => {
        if (file === 'list') ran.push(name);
        return statement.all(params, on);
      };
      return [name, { ...statement, all }];
    });
    return Object.fromEntries(entries) as never;
  };
  return { ...rest, prepared: counted };
});

let opened: OpenedStore;
let f: Fixture;

beforeEach(async () => {
  opened = await openPostgresForTest();
  f = new Fixture(opened);
});

afterEach(() => opened.dispose());

async function statementsOf(filter: JobFilter, found: number): Promise<string[]> {
  ran.length = 0;
  const { jobs } = await f.jobs.list({ tenant: TENANT, filter, after: null, limit: 50 });
  expect(jobs).toHaveLength(found);
  return ran;
}

it('a list is one statement that finds and one that reads, however many jobs fit a part of its filter', async () => {
  const jobs = Array.from({ length: 2000 }, () => ({ labels: { kind: 'a' } }));
  await f.enqueue({ labels: { kind: 'a', size: 'one' } });
  await f.enqueue(...jobs);
  await f.enqueue({ workflow: 'other', labels: { kind: 'b' } });
  const none: JobFilter[] = [
    { status: 'queued', workflow: 'none' },
    { status: 'queued', workflow: 'other', labels: { kind: 'a' } },
    { status: 'running', labels: { kind: 'a' } },
    { status: 'queued', labels: { kind: 'a', size: 'none' } },
    { status: 'dead_letter', labels: { kind: 'a' } },
    { status: 'completed', labels: { kind: 'a' } },
    { workflow: 'other', labels: { kind: 'a' } },
  ];
  for (const filter of none) expect(await statementsOf(filter, 0), JSON.stringify(filter)).toHaveLength(1);
  expect(await statementsOf({ labels: { kind: 'a', size: 'one' } }, 1)).toEqual(['withLabel', 'status']);
});
