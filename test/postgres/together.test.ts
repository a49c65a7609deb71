/** Several stores on one schema, as processes on several machines would have them, all busy at the same time. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { ClaimedJob, Moved } from '../../src/ports/job-store.ts';
import type { Store } from '../../src/ports/store.ts';
import { openPostgresStore } from '../../src/stores/postgres/store.ts';
import {
  assertFolds,
  completion,
  Fixture,
  LANE,
  NO_JITTER,
  TENANT,
} from '../../src/testkit/store/fixture.ts';
import { RULES } from '../../src/testkit/store/sqlite.ts';
import { databaseUrl, dropSchema, newSchema } from './database.ts';

let schema: string;
let stores: Store[];

beforeEach(async () => {
  const url = await databaseUrl();
  schema = newSchema();
  stores = await Promise.all([1, 2, 3, 4].map(() => openPostgresStore({ url, schema, rules: RULES })));
});

afterEach(async () => {
  await Promise.all(stores.map((store) => store.close()));
  await dropSchema(schema);
});

function fixtureOf(store: Store): Fixture {
  return new Fixture({ store, advance: () => {}, dispose: () => store.close() });
}

async function allJobs() {
  const [store] = stores;
  const { jobs } = await store!.jobs.list({ tenant: TENANT, filter: {}, after: null, limit: 10_000 });
  return Promise.all(
    jobs.map(async ({ jobId }) => {
      const job = await store!.jobs.job({ tenant: TENANT, jobId });
      assertFolds(job!);
      return job!;
    }),
  );
}

it('drain a queue, and each job is given to one of them', async () => {
  const ids = await fixtureOf(stores[0]!).enqueue(
    ...Array.from({ length: 600 }, (_, index) => ({ priority: index % 3 })),
  );
  const claimed: ClaimedJob[] = [];
  await Promise.all(
    stores.map(async (store, index) => {
      const f = fixtureOf(store);
      await f.openSession(`ses_${index}`);
      for (;;) {
        const { jobs } = await f.claim(`ses_${index}`, { limit: 17 });
        if (jobs.length === 0) return;
        claimed.push(...jobs);
        const settled = await store.jobs.settle(jobs.map((job) => completion(job)));
        expect(settled.every((one) => one.moved?.status === 'completed')).toBe(true);
      }
    }),
  );
  expect(claimed.map((job) => job.jobId).toSorted()).toEqual(ids);
  expect(new Set(claimed.map((job) => job.token)).size).toBe(600);
  expect((await allJobs()).every((job) => job.status === 'completed' && job.attempt === 1)).toBe(true);
});

it('claim, settle, cancel, replay, reap and sweep across each other, and every move is made once', async () => {
  const f = fixtureOf(stores[0]!);
  const ids = await f.enqueue(
    ...Array.from({ length: 40 }, () => ({ requestedLimits: { maxAttempts: 50 } })),
  );
  const moved: Moved[] = [];
  const keep = (part: readonly (Moved | undefined)[]) =>
    moved.push(...part.filter((one) => one !== undefined));

  async function labour(store: Store, own: number): Promise<void> {
    const { jobs } = store;
    for (let round = 0; round < 25; round += 1) {
      const session = `ses_${own}_${round}`;
      await jobs.openSession({ session, worker: session, host: 'h', leaseMs: 60_000 });
      const claim = await jobs.claim({ session, worker: session, lanes: [LANE], limit: 6 });
      keep(claim.moved);
      const settlements = claim.jobs.map((job, index) =>
        index % 3 === 0
          ? completion(job)
          : {
              ...completion(job),
              command: {
                type: 'fail' as const,
                failure: { code: 'refused' as const, elapsedMs: 1 },
                jitter: NO_JITTER,
              },
            },
      );
      const [settled, reaped] = await Promise.all([
        jobs.settle(settlements),
        round % 2 === 0 ? jobs.reapSession({ session }) : [],
      ]);
      keep(settled.map((one) => one.moved));
      keep(reaped);
    }
  }

  async function people(store: Store, own: number): Promise<void> {
    for (let round = 0; round < 60; round += 1) {
      const jobId = ids[(round * 7 + own * 3) % ids.length]!;
      const command =
        round % 2 === 0
          ? { type: 'cancel' as const, actor: 'a', reason: 'r' }
          : { type: 'replay' as const, actor: 'a', reason: 'r' };
      const acted = await store.jobs.act({ tenant: TENANT, jobId, command });
      if (acted.outcome === 'moved') keep([acted.moved]);
      keep(
        (await store.jobs.sweep({ reap: true, graceMs: 0, idempotencyMs: 0, limit: 100, jitter: () => 0 }))
          .moved,
      );
    }
  }

  await Promise.all(stores.flatMap((store, own) => [labour(store, own), people(store, own)]));
  for (const job of await allJobs()) {
    const told = moved.filter((one) => one.jobId === job.jobId).map((one) => one.event);
    const written = job.events.slice(1).filter((event) => event.from !== event.to);
    expect(told.toSorted()).toEqual(written.map((event) => event.type).toSorted());
  }
});
