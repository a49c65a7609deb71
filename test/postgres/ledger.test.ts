/** The ledger under several processes at once: what its locks keep apart, and what its statements read. */
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
import { waitedFor } from './waited-for.ts';

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
 * Runs `during` while a transaction of somebody else's is open, in which `sql` was run; it commits when so many wait for it.
 * @param free accounts that those do not hold meanwhile
 */
async function amid<T>(sql: string, count: number, during: () => Promise<T>, free = ''): Promise<T> {
  return withClient(async (client) => {
    await client.query('BEGIN');
    await client.query(sql.replaceAll('claimcheck.', `"${schema}".`));
    const answer = during();
    await waitedFor(client, count);
    await client.query(
      `SELECT FROM "${schema}".spending WHERE '${free}' LIKE '%' || scope || '%' FOR UPDATE NOWAIT`,
    );
    await client.query('COMMIT');
    return answer;
  });
}

it('a begin counts what others were writing as it came, in each account', async () => {
  const f = fixtureOf(stores[0]);
  const claimed = await f.running('ses_1', { spendingLimit: 100 });
  await begun(f, claimed, { estimate: 1 });
  const second = opening(claimed, { place: 2, limits: { workflow: 100, day: 100 } });
  // All take them in one order: nobody holds one who waits for one before it.
  for (const [scope, later] of [
    ['day', 'workflow job'],
    ['workflow', 'job'],
    ['job', ''],
  ] as const) {
    const write = `UPDATE claimcheck.spending SET reserved = reserved + 90 WHERE scope = '${scope}'`;
    const answer = await amid(write, 1, () => f.store.ledger.begin(second), later);
    expect(answer).toMatchObject({ outcome: 'over_limit', line: { scope, reserved: 91 } });
    await withClient((client) =>
      client.query(`UPDATE "${schema}".spending SET reserved = 1 WHERE scope = '${scope}'`),
    );
  }
});

it("a begin counts what another call of its job held as it made the job's account", async () => {
  const f = fixtureOf(stores[0]);
  await begun(f, await f.running('ses_0')); // makes the accounts of the day
  const claimed = await f.running('ses_1', { spendingLimit: 100 });
  const make = `INSERT INTO claimcheck.spending (day, scope, name, reserved, calls)
    VALUES ('', 'job', '${claimed.jobId}', 91, 1)`;
  const answer = await amid(make, 1, () => f.store.ledger.begin(opening(claimed)));
  expect(answer).toMatchObject({ outcome: 'over_limit', line: { scope: 'job', reserved: 91 } });
  expect((await f.store.ledger.limits())[0]?.reserved).toBe(10);
});

it('a begin that is sent again while the first is on its way is let through by what the first holds', async () => {
  const f = fixtureOf(stores[0]);
  const claimed = await f.running('ses_1', { spendingLimit: 20 });
  await begun(f, claimed);
  const first = `UPDATE claimcheck.spending SET reserved = reserved + 10, calls = calls + 1;
    INSERT INTO claimcheck.model_calls (job, n, token, attempt, place, workflow, day, started_at, reserved, opening)
    SELECT job, 2, token, attempt, 2, workflow, day, started_at, 10, opening FROM claimcheck.model_calls`;
  const again = await amid(first, 1, () => f.store.ledger.begin(opening(claimed, { place: 2 })));
  expect(again).toEqual({ outcome: 'begun', n: 2 });
  expect((await f.job(claimed.jobId)).spending.reserved).toBe(20);
});

it('of two ends of a call that wait for each other one settles it', async () => {
  const f = fixtureOf(stores[0]);
  const claimed = await f.running('ses_1');
  const n = await begun(f, claimed);
  const lock = 'SELECT FROM claimcheck.model_calls FOR UPDATE';
  const both = await amid(lock, 2, () => Promise.all([ended(f, claimed, n), ended(f, claimed, n)]));
  expect(both).toEqual([true, true]);
  expect((await f.job(claimed.jobId)).spending).toEqual({ limit: null, spent: 4, reserved: 0 });
  const next = await begun(f, claimed, { place: 2 });
  const day = `SELECT FROM claimcheck.spending WHERE scope = 'day' FOR UPDATE`;
  expect(await amid(day, 1, () => ended(f, claimed, next), 'workflow job')).toBe(true);
});

it('a reap that comes amid a begin waits for it, and leaves its call unknown and held', async () => {
  const [f, reaper] = stores.map(fixtureOf) as [Fixture, Fixture];
  const first = await f.running('ses_1');
  await begun(f, first);
  const answer = await withClient(async (client) => {
    await client.query('BEGIN');
    await client.query(`SELECT FROM "${schema}".spending FOR UPDATE`);
    const beginning = f.store.ledger.begin(opening(first, { place: 2 }));
    await waitedFor(client, 1);
    const reaping = reaper.jobs.reapSession({ session: 'ses_1' });
    await waitedFor(client, 2);
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
    await waitedFor(client, 2);
    await client.query('COMMIT');
    return Promise.all(both);
  });
  expect(answers).toEqual([{ outcome: 'lease_lost' }, false]);
  expect((await f.job(claimed.jobId)).spending).toEqual({ limit: null, spent: 0, reserved: 10 });
});

/** Of the indexes that may be used. */
const FIRST_COLUMNS: Readonly<Record<string, string>> = {
  jobs_id_key: 'id',
  leases_pkey: 'job',
  lanes_pkey: 'lane',
  model_calls_pkey: 'job',
  model_calls_place: 'job',
  provider_pauses_pkey: 'provider',
  spending_pkey: 'number',
  spending_day_scope_name_key: 'day',
  spending_limits_by_name: 'scope',
};

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
      // On the first column of its index, or else it goes through all of it.
      for (const index of scans) {
        const [, of = ''] = / (?:using|on) (\w+)/.exec(plan[index] ?? '') ?? [];
        const condition = plan.slice(index).find((line) => line.includes('Index Cond'));
        expect(condition, plan[index]).toMatch(new RegExp(`\\(${FIRST_COLUMNS[of]} = `));
      }
    }
  });
  await connection.close();
});
