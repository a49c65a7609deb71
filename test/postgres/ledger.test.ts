/** The ledger under several processes at once: what its locks keep apart, and what its statements read. */
import type { Client } from 'pg';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Store } from '../../src/ports/store.ts';
import type { ModelCall } from '../../src/domain/model-call.ts';
import { Connection } from '../../src/stores/postgres/connection.ts';
import { prepared } from '../../src/stores/postgres/statements.ts';
import type { SqlValue } from '../../src/stores/postgres/statements.ts';
import { openPostgresStore } from '../../src/stores/postgres/store.ts';
import { begun, callOf, ended, opening } from '../../src/testkit/store/calls.ts';
import { Fixture, TENANT } from '../../src/testkit/store/fixture.ts';
import { RULES } from '../../src/testkit/store/sqlite.ts';
import { databaseUrl, dropSchema, newSchema, withClient } from './database.ts';

let schema: string;
let stores: [Store, Store];

beforeEach(async () => {
  const url = await databaseUrl();
  schema = newSchema();
  const open = () => openPostgresStore({ url, schema, rules: RULES });
  stores = [await open(), await open()];
});

afterEach(async () => {
  await Promise.all(stores.map((store) => store.close()));
  await dropSchema(schema);
});

function fixtureOf(store: Store): Fixture {
  return new Fixture({ store, advance: () => {}, dispose: () => store.close() });
}

function totals(calls: readonly ModelCall[]): [number, number] {
  const held = calls.filter(({ billing }) => billing === null || billing === 'unknown');
  return [
    calls.reduce((sum, { cost }) => sum + (cost ?? 0), 0),
    held.reduce((sum, { reserved }) => sum + reserved, 0),
  ];
}

it('two processes share a limit: fifty calls of many jobs begin at once, and ten are let through', async () => {
  const fixtures = stores.map(fixtureOf);
  await fixtures[0]!.enqueue(...Array.from({ length: 50 }, () => ({})));
  const running = await Promise.all(
    fixtures.map(async (f, own) => {
      await f.openSession(`ses_${own}`);
      return (await f.claim(`ses_${own}`, { limit: 25 })).jobs;
    }),
  );
  const answers = await Promise.all(
    running.flatMap((jobs, own) =>
      jobs.map((job) => stores[own]!.ledger.begin(opening(job, { limits: { workflow: null, day: 100 } }))),
    ),
  );
  expect(answers).toHaveLength(50);
  expect(answers.filter(({ outcome }) => outcome === 'begun')).toHaveLength(10);
  expect(answers.filter(({ outcome }) => outcome === 'over_limit')).toHaveLength(40);
  expect((await stores[0].ledger.limits()).map(({ reserved }) => reserved)).toEqual([100, 100]);
});

it('begin, end, settle and reap across each other, and every account is the sum of its calls', async () => {
  const fixtures = stores.map(fixtureOf);
  await fixtures[0]!.enqueue(
    ...Array.from({ length: 24 }, () => ({ requestedLimits: { maxAttempts: 50 }, spendingLimit: 60 })),
  );
  const limits = { workflow: 700, day: 800 };

  async function labour(f: Fixture, own: number): Promise<void> {
    for (let round = 0; round < 6; round += 1) {
      const session = `ses_${own}_${round}`;
      await f.openSession(session);
      const { jobs } = await f.claim(session, { limit: 12, serial: 1 });
      const calls = jobs.flatMap((job, index) =>
        [1, 2].map(async (place) => {
          const begin = opening(job, { place, limits, workflow: `flow-${index % 2}` });
          const answer = await f.store.ledger.begin(begin);
          if (answer.outcome === 'begun' && index % 4 !== 0)
            await ended(f, job, answer.n, { cost: index % 4 === 1 ? null : 4 });
        }),
      );
      await Promise.all([...calls.slice(5), f.jobs.reapSession({ session }), ...calls.slice(0, 5)]);
    }
  }

  async function person(f: Fixture): Promise<void> {
    for (let round = 0; round < 15; round += 1) {
      const unknown = await f.store.ledger.unknownCalls({ limit: 3 });
      const settle = ({ jobId, call: { n } }: (typeof unknown)[number]) =>
        f.store.ledger.settleUnknown({ tenant: TENANT, jobId, n, cost: 5, actor: 'a', reason: 'r' });
      await Promise.all(unknown.map(settle));
    }
  }

  await Promise.all(fixtures.flatMap((f, own) => [labour(f, own), person(f)]));
  const [f] = fixtures as [Fixture, Fixture];
  const { jobs } = await f.jobs.list({ tenant: TENANT, filter: {}, after: null, limit: 100 });
  const records = await Promise.all(jobs.map(({ jobId }) => f.job(jobId)));
  for (const { calls, spending } of records) {
    expect([spending.spent, spending.reserved]).toEqual(totals(calls));
    expect(spending.spent + spending.reserved).toBeLessThanOrEqual(60);
    expect(calls.map(({ n }) => n)).toEqual(calls.map((_, index) => index + 1));
  }
  const all = records.flatMap(({ calls }) => calls);
  const lines = (await f.store.ledger.limits()).map(({ spent, reserved }) => [spent, reserved]);
  const [day, one, other] = lines;
  expect(day).toEqual(totals(all));
  expect([one![0]! + other![0]!, one![1]! + other![1]!]).toEqual(day);
  expect(all.length).toBeGreaterThan(20);
});

/**
 * Resolves when so many others wait for this client, or for one who does. Within a transaction the server shows what it
 * showed before, unless told to forget it.
 */
async function waiting(client: Client, count: number): Promise<void> {
  const sql = `WITH RECURSIVE waiting (pid) AS (
    SELECT pg_backend_pid() UNION
    SELECT a.pid FROM waiting w JOIN pg_stat_activity a ON a.wait_event_type = 'Lock' AND w.pid = ANY (pg_blocking_pids(a.pid))
  ) SELECT pid FROM waiting WHERE pid <> pg_backend_pid()`;
  const look = async () => {
    await client.query('SELECT pg_stat_clear_snapshot()');
    return (await client.query(sql)).rowCount;
  };
  await expect.poll(look, { timeout: 8000 }).toBe(count);
}

it('a reap that comes amid a begin waits for it, and leaves its call unknown and held', async () => {
  const [f, reaper] = stores.map(fixtureOf) as [Fixture, Fixture];
  const first = await f.running('ses_1');
  await begun(f, first);
  const answer = await withClient(async (client) => {
    await client.query('BEGIN');
    await client.query(`SELECT FROM "${schema}".spending FOR UPDATE`);
    const beginning = f.store.ledger.begin(opening(first, { place: 2 }));
    await waiting(client, 1);
    const reaping = reaper.jobs.reapSession({ session: 'ses_1' });
    await waiting(client, 2);
    await client.query('COMMIT');
    expect((await reaping).map((moved) => moved.event)).toEqual(['requeued_after_restart']);
    return beginning;
  });
  expect(answer).toEqual({ outcome: 'begun', n: 2 });
  expect((await callOf(f, first.jobId, 2)).billing).toBe('unknown');
  expect((await f.job(first.jobId)).spending.reserved).toBe(20);
});

it('a begin and an end that a reap forestalls hear of it, and hold and settle nothing', async () => {
  const f = fixtureOf(stores[0]);
  const claimed = await f.running('ses_1');
  const n = await begun(f, claimed);
  const answers = await withClient(async (client) => {
    await client.query('BEGIN');
    await client.query(`DELETE FROM "${schema}".leases`);
    const both = [f.store.ledger.begin(opening(claimed, { place: 2 })), ended(f, claimed, n)];
    await waiting(client, 2);
    await client.query('COMMIT');
    return Promise.all(both);
  });
  expect(answers).toEqual([{ outcome: 'lease_lost' }, false]);
  expect((await f.job(claimed.jobId)).spending).toEqual({ limit: null, spent: 0, reserved: 10 });
});

it('neither the begin of a call nor its end reads a table from its start', async () => {
  const connection = new Connection(await databaseUrl(), schema);
  const sql = prepared<Record<'begin' | 'end' | 'settleUnknown', never>>(connection, 'ledger');
  const anything = new Proxy({}, { get: () => null }) as Record<string, SqlValue>;
  await withClient(async (client) => {
    await client.query('SET enable_seqscan = off; SET enable_mergejoin = off; SET jit = off');
    const explain = {
      async query(query: object) {
        const { text } = query as { text: string };
        const { rows } = await client.query({ text: `EXPLAIN (GENERIC_PLAN) ${text}`, rowMode: 'array' });
        return { rows, rowCount: 0, fields: [{ name: 'line' }] };
      },
    };
    for (const name of ['begin', 'end', 'settleUnknown'] as const) {
      const lines = (await sql[name].all(anything, explain)) as { line: string }[];
      const plan = lines.map(({ line }) => line);
      expect(plan.filter((line) => line.includes('Seq Scan'))).toEqual([]);
      const scans = plan.flatMap((line, index) => (/Index( Only)? Scan/.test(line) ? [index] : []));
      expect(scans.length).toBeGreaterThan(3);
      for (const index of scans) expect(plan[index + 1], plan[index]).toContain('Index Cond');
    }
  });
  await connection.close();
});
