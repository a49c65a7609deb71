/**
 * Through a real pgbouncer in transaction mode with two connections to the server, which all of a process's connections share:
 * whatever one of them left there would meet another. Nothing can be heard there, so workers find their jobs by polling, which is
 * also tested where there is no pgbouncer.
 */
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { canonicalJson } from '../../src/domain/json.ts';
import { RetryableError, defineWorkflow } from '../../src/index.ts';
import { demoWorkflow } from '../../src/examples/demo.ts';
import { Clients } from '../../src/testkit/crash/clients.ts';
import { drained } from '../../src/testkit/crash/judge.ts';
import { databaseUrl, dropSchema, newSchema } from '../postgres/database.ts';
import { PGBOUNCER, startPgbouncer } from '../postgres/pgbouncer.ts';
import type { Pgbouncer } from '../postgres/pgbouncer.ts';
import { startProxy } from '../postgres/proxy.ts';
import { tempDir } from '../support/claimcheck.ts';
import { judged, judgedBy, Party } from './party.ts';

const CONNECTIONS = 2;
const PATIENCE = { timeout: 20_000 };

let bouncer: Pgbouncer;
let schema: string;

const test = defineWorkflow({
  name: 'test',
  version: '1',
  input: z.any(),
  output: z.any(),
  async run({ input, signal, attempt }) {
    if (input === 'flaky' && attempt === 1) throw new RetryableError('once');
    if (input === 'wrong') throw new Error('wrong');
    if (input === 'endless') {
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
      signal.throwIfAborted();
    }
    return input;
  },
});

function open(url: string, dataDir?: string): Promise<Party> {
  const shared = dataDir === undefined ? {} : { dataDir };
  return Party.open({ url, schema, workflows: [test, demoWorkflow], ...shared });
}

/** Hands in a job within a transaction that ends like this. */
async function within({ parts, clients }: Party, end: 'COMMIT' | 'ROLLBACK'): Promise<string> {
  const client = new Client({ connectionString: bouncer.url });
  await client.connect();
  await client.query('BEGIN');
  const caller = { tenant: 'default', actor: 'local:test' };
  const ticket = await parts.engine.enqueue(caller, { workflow: 'test', input: end }, { tx: client });
  await client.query(end);
  await client.end();
  const jobId = ticket.ok ? ticket.value.jobId : '';
  const inputSha256 = createHash('sha256').update(canonicalJson(end)).digest('hex');
  if (end === 'COMMIT') clients.creates.push({ tenant: 'default', told: 'accepted', jobId, inputSha256 });
  return jobId;
}

/** What the sessions of the pool hold that does not end with a transaction. */
async function leftBehind(): Promise<unknown[]> {
  const sql = `SELECT pg_backend_pid() AS pid, current_setting('plan_cache_mode') AS plans, current_setting('enable_seqscan') AS scans,
    (SELECT count(*)::integer FROM pg_prepared_statements) AS prepared,
    (SELECT count(*)::integer FROM pg_listening_channels()) AS heard,
    (SELECT count(*)::integer FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()) AS locks,
    pg_sleep(0.3)::text AS slept`;
  const asked = Array.from({ length: CONNECTIONS }, async () => {
    const client = new Client({ connectionString: bouncer.url });
    await client.connect();
    const { rows } = await client.query<{ pid: number }>(sql);
    await client.end();
    return rows[0]!;
  });
  const found = await Promise.all(asked);
  expect(new Set(found.map(({ pid }) => pid)).size).toBe(CONNECTIONS);
  return found.map((row) => ({ ...row, pid: 0 }));
}

const NOTHING = { pid: 0, plans: 'auto', scans: 'on', prepared: 0, heard: 0, locks: 0, slept: '' };

beforeEach(() => {
  const own = newSchema();
  schema = own;
  onTestFinished(async () => void (await dropSchema(own)));
});

describe.skipIf(PGBOUNCER === null)(
  `pgbouncer in transaction mode${PGBOUNCER === null ? ' (skipped: it is not installed)' : ''}`,
  () => {
    beforeAll(async () => {
      bouncer = await startPgbouncer(await databaseUrl(), CONNECTIONS);
    });

    afterAll(() => bouncer.stop());

    it('every verb works through it, also within a caller’s own transaction, and nothing is left in its sessions', async () => {
      const party = await open(bouncer.url);
      party.startWorker();
      const [flaky, wrong, endless] = await Promise.all(
        ['flaky', 'wrong', 'endless'].map((one) => party.accepted(one)),
      );
      expect(await party.ended(flaky!)).toMatchObject({ status: 'completed', attempt: 2 });
      expect(await party.ended(wrong!)).toMatchObject({ status: 'dead_letter', errors: ['workflow_error'] });
      const { decision } = await party.record(wrong!);
      expect((await party.replay(wrong!, (decision as { decision_id: string }).decision_id)).status).toBe(
        202,
      );
      await expect.poll(() => party.statusOf(endless!)).toBe('running');
      expect((await party.cancel(endless!)).status).toBe(200);
      const [first, again] = [
        await party.create('keyed', { idempotencyKey: 'a' }),
        await party.create('keyed', { idempotencyKey: 'a' }),
      ];
      expect(again.json['job_id']).toBe(first.json['job_id']);
      expect((await party.ask('GET', '/ai-jobs?status=dead_letter')).status).toBe(200);
      expect((await party.ask('GET', '/readyz')).status).toBe(200);

      expect(await party.statusOf(await within(party, 'ROLLBACK'))).toBe(404);
      expect(await party.statusOf(await within(party, 'COMMIT'))).toMatch(/queued|running|completed/);
      await judged(party);
      expect(await leftBehind()).toEqual([NOTHING, NOTHING]);
    });

    it('two processes with many clients share its connections, it is killed on the way, and every invariant holds', async () => {
      const dataDir = await tempDir();
      const [one, two] = [await open(bouncer.url, dataDir), await open(bouncer.url, dataDir)];
      for (const party of [one, two]) {
        party.parts.sweeper.start();
        party.startWorker();
      }
      const apis = [await one.listen(), await two.listen()];
      let asked = 0;
      const address = () => apis[(asked += 1) % apis.length]!.address();
      const clients = new Clients({ ...apis[0]!, address }, Math.random);
      const over = new AbortController();
      const asking = [1, 2, 3, 4, 5, 6].map(() => clients.run(over.signal));
      await expect.poll(() => clients.acknowledged(), PATIENCE).toBeGreaterThan(30);
      const [borrowers, servers] = [await bouncer.show('CLIENTS'), await bouncer.show('SERVERS')];
      expect(borrowers.length).toBeGreaterThan(2 * CONNECTIONS);
      expect(servers.length).toBeLessThanOrEqual(CONNECTIONS);

      await bouncer.restart();
      const before = clients.acknowledged();
      await expect.poll(() => clients.acknowledged(), PATIENCE).toBeGreaterThan(before + 30);
      over.abort();
      await Promise.all(asking);
      expect(await drained(one.parts.store, PATIENCE.timeout)).toBe(true);
      await clients.followed();
      expect((await judgedBy(one, clients.log)).completed).toBeGreaterThan(0);
      expect(await leftBehind()).toEqual([NOTHING, NOTHING]);
    }, 60_000);
  },
);

it('where nothing can be heard, an idle worker finds a job of another process within a second', async () => {
  const proxy = await startProxy(await databaseUrl(), { pooler: true });
  onTestFinished(() => proxy.close());
  const [party, elsewhere] = [await open(proxy.url), await open(proxy.url)];
  elsewhere.startWorker();
  await party.ended(await party.accepted('first'));
  const took: number[] = [];
  for (let time = 0; time < 5; time += 1) {
    await sleep(50 + Math.random() * 200); // so that the poll is met at any moment
    const jobId = await party.accepted(time);
    await party.ended(jobId);
    const { created_at: created, started_at: started } = await party.record(jobId);
    took.push(Date.parse(started as string) - Date.parse(created as string));
  }
  expect(took.toSorted((a, b) => a - b)[2]).toBeLessThan(1000);
  await judged(party);
});
