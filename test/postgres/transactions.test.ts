/** Jobs that are written within the caller's own transaction. */
import { Client, Pool } from 'pg';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { NewJob, NewRequest } from '../../src/domain/accept.ts';
import type { Enqueued } from '../../src/ports/job-store.ts';
import type { Store } from '../../src/ports/store.ts';
import { openPostgresStore } from '../../src/stores/postgres/store.ts';
import { accepted, Fixture, TENANT } from '../../src/testkit/store/fixture.ts';
import { RULES } from '../../src/testkit/store/sqlite.ts';
import { databaseUrl, dropSchema, newSchema, withClient } from './database.ts';

let schema: string;
let store: Store;
let f: Fixture;
let client: Client;
let woken: number;

beforeEach(async () => {
  const url = await databaseUrl();
  schema = newSchema();
  const ready = new Promise<void>((resolve) => {
    const onHint = () => {
      woken += 1;
      resolve();
    };
    woken = 0;
    void openPostgresStore({ url, schema, rules: RULES, onHint }).then((opened) => {
      store = opened;
    });
  });
  await ready;
  f = new Fixture({ store, advance: () => {}, dispose: () => store.close() });
  client = new Client({ connectionString: url });
  await client.connect();
});

afterEach(async () => {
  await client.end();
  await store.close();
  await dropSchema(schema);
});

async function within(jobs: NewJob[], idempotency: NewRequest['idempotency'] = null): Promise<Enqueued> {
  const answer = await store.jobs.enqueueWithin?.(client, { jobs, idempotency });
  if (answer === undefined) throw new Error('this store has no transactions to share');
  return answer;
}

/** Resolves when a statement waits for another's transaction. */
async function untilSomebodyWaits(): Promise<void> {
  const waiting = `SELECT count(*)::integer AS count FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%"${schema}".%'`;
  await expect
    .poll(() => withClient(async (own) => (await own.query<{ count: number }>(waiting)).rows[0]?.count), {
      timeout: 5000,
    })
    .toBe(1);
}

const KEY = { key: 'order 17', requestSha256: 'digest' };

it('a job is there with the commit, and not before', async () => {
  const job = f.newJob({ labels: { order: '17' } });
  await client.query('BEGIN');
  expect((await within([job])).outcome).toBe('accepted');
  expect(await f.statusOf(job.jobId)).toBeUndefined();
  await client.query('COMMIT');
  expect(await f.statusOf(job.jobId)).toBe('queued');
  expect((await f.claimOne('ses_1')).jobId).toBe(job.jobId);
});

it('a job is never there where the transaction is rolled back, and its key is free', async () => {
  const job = f.newJob();
  await client.query('BEGIN');
  await within([job], KEY);
  await client.query('ROLLBACK');
  expect(await f.statusOf(job.jobId)).toBeUndefined();
  expect(await f.keyed(KEY, {})).toMatchObject({ outcome: 'accepted', repeated: false });
});

it('workers hear of it after the commit', async () => {
  const before = woken;
  await client.query('BEGIN');
  await within([f.newJob()]);
  await f.jobs.ping();
  expect(woken).toBe(before);
  await client.query('COMMIT');
  await expect.poll(() => woken, { timeout: 5000 }).toBe(before + 1);
});

it('a refusal writes nothing, and the transaction goes on', async () => {
  await client.query('BEGIN');
  const refused = await within([f.newJob({ requestedLimits: { maxAttempts: 1_000_000 } })]);
  expect(refused.outcome).toBe('invalid');
  expect((await within([f.newJob()])).outcome).toBe('accepted');
  await client.query('COMMIT');
  expect((await store.jobs.list({ tenant: TENANT, filter: {}, after: null, limit: 5 })).jobs).toHaveLength(1);
});

it('a known key answers with its job', async () => {
  const { jobIds } = accepted(await f.keyed(KEY, {}));
  await client.query('BEGIN');
  expect(await within([f.newJob()], KEY)).toMatchObject({ repeated: true, jobIds });
  await client.query('COMMIT');
});

it('of two that write the same key at the same time, the second waits and repeats the first', async () => {
  const job = f.newJob();
  await client.query('BEGIN');
  await within([job], KEY);
  const second = f.keyed(KEY, {});
  await untilSomebodyWaits();
  await client.query('COMMIT');
  expect(await second).toMatchObject({ outcome: 'accepted', repeated: true, jobIds: [job.jobId] });
});

it('a transaction that meets a key of another, repeats it once that commits, and goes on', async () => {
  const other = new Client({ connectionString: await databaseUrl() });
  await other.connect();
  const job = f.newJob();
  await other.query('BEGIN');
  await store.jobs.enqueueWithin?.(other, { jobs: [job], idempotency: KEY });
  await client.query('BEGIN');
  const second = within([f.newJob()], KEY);
  await untilSomebodyWaits();
  await other.query('COMMIT');
  expect(await second).toMatchObject({ repeated: true, jobIds: [job.jobId] });
  await client.query('COMMIT');
  await other.end();
});

it('what is no client of a transaction is refused by name', async () => {
  await expect(store.jobs.enqueueWithin?.({}, f.request(null, {}))).rejects.toThrow('`tx`');
  await expect(store.jobs.enqueueWithin?.(null, f.request(null, {}))).rejects.toThrow('`tx`');
});

it('a client that is in no transaction, and a pool, are told to begin one, and no job is left', async () => {
  const pool = new Pool({ connectionString: await databaseUrl() });
  const job = f.newJob();
  await expect(within([job])).rejects.toThrow(/no transaction: send BEGIN/);
  await expect(store.jobs.enqueueWithin?.(pool, f.request(null, {}))).rejects.toThrow(/one client/);
  expect(await store.jobs.job({ tenant: job.tenant, jobId: job.jobId })).toBeNull();
  await pool.end();
});
