/** What another process puts in front of where the claims of this one begin. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { openPostgresStore } from '../../src/stores/postgres/store.ts';
import { Fixture } from '../../src/testkit/store/fixture.ts';
import { RULES } from '../../src/testkit/store/sqlite.ts';
import { databaseUrl, openPostgresForTest, withClient } from './database.ts';

/** A look from the start that takes so long is expensive. */
const LONG_MS = 30;

it('a job of a higher priority is found as soon as claims begin at the start again, and a worker is told when that is', async () => {
  const opened = await openPostgresForTest();
  const { schema } = opened;
  const f = new Fixture(opened);
  const other = await openPostgresStore({ url: await databaseUrl(), schema, rules: RULES });
  onTestFinished(async () => {
    await other.close();
    await opened.dispose();
  });
  await f.openSession('ses_1');
  await f.enqueueOne();
  expect((await f.claim('ses_1')).jobs).toHaveLength(1);

  for (let ms: number | null = 0; ms !== null; ms = await f.jobs.nextDueInMs()) {
    await sleep(ms);
    await f.claim('ses_1');
  }
  await withClient(async (client) => {
    await client.query(`BEGIN; LOCK TABLE "${schema}".lanes IN ACCESS EXCLUSIVE MODE`);
    const claimed = f.claim('ses_1');
    await sleep(LONG_MS);
    await client.query('COMMIT');
    expect((await claimed).jobs).toEqual([]);
  });

  await other.jobs.enqueue([f.request(null, { priority: 9 })]);
  expect((await f.claim('ses_1')).jobs).toEqual([]);
  const againMs = await f.jobs.nextDueInMs();
  expect(againMs).toBeGreaterThan(0);
  await sleep(againMs ?? 0);
  expect((await f.claim('ses_1')).jobs).toHaveLength(1);
});
