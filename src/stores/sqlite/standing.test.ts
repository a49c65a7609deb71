import { afterEach, beforeEach, expect, test } from 'vitest';
import { DatabaseSync } from '@photostructure/sqlite';
import { Fixture, LANES } from '../../testkit/store/fixture.ts';
import type { OpenedStore } from '../../testkit/store/fixture.ts';
import { openSqliteForTest } from '../../testkit/store/sqlite.ts';
import type { Claimed, StandingClaim } from '../../ports/job-store.ts';

let opened: OpenedStore;
let f: Fixture;

beforeEach(async () => {
  opened = await openSqliteForTest();
  f = new Fixture(opened);
  await f.openSession('ses_1');
});
afterEach(() => opened.dispose());

/** A claim of an idle worker, and what it has brought so far. */
function standBy(changes: { session?: string; limit?: number } = {}): StandingClaim & { got: Claimed[] } {
  const params = { session: 'ses_1', worker: 'w', serial: 1, lanes: LANES, limit: 2, ...changes };
  const standing = f.jobs.standBy?.(params);
  if (standing === undefined) throw new Error('the store takes no standing claims');
  const got: Claimed[] = [];
  void standing.claimed.then((claimed) => got.push(claimed));
  return { ...standing, got };
}

test('what an enqueue brings is leased to the worker that stands by, in the same transaction', async () => {
  const standing = standBy();
  const [jobId = ''] = await f.enqueue({});
  expect(standing.got.flatMap(({ jobs }) => jobs)).toMatchObject([{ jobId, attempt: 1 }]);
  expect(standing.withdraw()).toBe(false);
  expect(await f.eventTypes(jobId)).toEqual(['queued', 'running']);
  expect(await f.claim('ses_1', { serial: 2 })).toMatchObject({ jobs: [] });
});

test('a standing claim is made once, for as many as it asked for', async () => {
  const standing = standBy();
  await f.enqueue({}, {}, {});
  await f.enqueue({});
  expect(standing.got.map(({ jobs }) => jobs.length)).toEqual([2]);
  expect((await f.claim('ses_1', { serial: 2 })).jobs).toHaveLength(2);
});

test('one that was withdrawn gets nothing', async () => {
  const standing = standBy();
  expect(standing.withdraw()).toBe(true);
  const [jobId = ''] = await f.enqueue({});
  expect(await f.statusOf(jobId)).toBe('queued');
});

test('one stays where what came in is not yet due, or is for other workers', async () => {
  const standing = standBy();
  await f.enqueue({ runAt: Date.UTC(2026, 0, 1) + 1000 }, { workflow: 'another' });
  expect(standing.got).toEqual([]);
  expect(standing.withdraw()).toBe(true);
});

test('the claim of a session that was reaped hears so, and leaves the job', async () => {
  await f.jobs.reapSession({ session: 'ses_1' });
  const standing = standBy();
  const [jobId = ''] = await f.enqueue({});
  expect(standing.got).toMatchObject([{ lost: true, jobs: [] }]);
  expect(await f.statusOf(jobId)).toBe('queued');
});

test('a claim that has a fault of its own takes no enqueue along, and still waits', async () => {
  const standing = standBy();
  const file = /^sqlite (.*)$/.exec(f.store.description)?.[1] ?? '';
  const other = new DatabaseSync(file);
  other.exec("CREATE TRIGGER full BEFORE INSERT ON leases BEGIN SELECT RAISE(ABORT, 'no lease'); END");
  const [first = ''] = await f.enqueue({});
  expect(standing.got).toEqual([]);
  expect(await f.statusOf(first)).toBe('queued');
  other.exec('DROP TRIGGER full');
  other.close();
  const [second = ''] = await f.enqueue({});
  expect(standing.got.flatMap(({ jobs }) => jobs)).toMatchObject([{ jobId: first }, { jobId: second }]);
});

test('where an enqueue is undone nothing was claimed, and the claim waits for the next', async () => {
  const standing = standBy();
  const file = /^sqlite (.*)$/.exec(f.store.description)?.[1] ?? '';
  const other = new DatabaseSync(file);
  other.exec("CREATE TRIGGER full BEFORE INSERT ON ready BEGIN SELECT RAISE(ABORT, 'no room'); END");
  await expect(f.enqueue({})).rejects.toThrow('no room');
  expect(standing.got).toEqual([]);
  other.exec('DROP TRIGGER full');
  other.close();
  const [jobId = ''] = await f.enqueue({});
  expect(standing.got.flatMap(({ jobs }) => jobs)).toMatchObject([{ jobId }]);
});
