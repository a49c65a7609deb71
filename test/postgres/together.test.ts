/** Several stores on one schema, as processes on several machines would have them, all busy at the same time. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Command } from '../../src/domain/decide.ts';
import type { ClaimedJob, Moved } from '../../src/ports/job-store.ts';
import type { Store } from '../../src/ports/store.ts';
import { Connection } from '../../src/stores/postgres/connection.ts';
import { Lanes } from '../../src/stores/postgres/lanes.ts';
import { Marks } from '../../src/stores/postgres/marks.ts';
import { Moves } from '../../src/stores/postgres/moves.ts';
import type { SeenRow } from '../../src/stores/shared/rows.ts';
import { prepared } from '../../src/stores/postgres/statements.ts';
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
import { databaseUrl, dropSchema, newSchema, withClient } from './database.ts';
import { waitedFor } from './waited-for.ts';

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

it('jobs that are lost together may all be claimed at once, and each can be cancelled', async () => {
  const f = fixtureOf(stores[0]!);
  const ids = await f.enqueue(...Array.from({ length: 300 }, () => ({})));
  await f.openSession('ses_1');
  await f.claim('ses_1', { limit: 300 });
  await f.jobs.reapSession({ session: 'ses_1' });
  const ready = await withClient((client) =>
    client.query(`SELECT count(*)::integer AS count FROM "${schema}".ready`),
  );
  expect(ready.rows).toEqual([{ count: 300 }]);
  expect((await f.cancel(ids.at(-1)!)).outcome).toBe('moved');
});

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
      const claim = await jobs.claim({ session, worker: session, serial: 1, lanes: [LANE], limit: 6 });
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

it('a late settlement of what another has claimed since changes nothing, though it is remembered', async () => {
  const [late, other] = [fixtureOf(stores[0]!), fixtureOf(stores[1]!)];
  const claimed = await late.running('ses_late');
  await other.jobs.reapSession({ session: 'ses_late' });
  const current = await other.claimOne('ses_other');
  const before = await other.job(current.jobId);
  expect(await late.complete(claimed)).toEqual({ refused: 'lease_lost' });
  expect(await other.job(current.jobId)).toEqual(before);
  expect((await other.complete(current)).moved?.status).toBe('completed');
});

it('a session that is reaped amid its claim loses what it gets there', async () => {
  const [f, reaper] = [fixtureOf(stores[0]!), fixtureOf(stores[1]!)];
  const jobId = await f.enqueueOne();
  await f.openSession('ses_1');
  const { claim, reaped } = await withClient(async (client) => {
    await client.query('BEGIN');
    // An uncommitted row of the same key holds up the claim amid its statement.
    await client.query(`INSERT INTO "${schema}".leases (job, token, since, hard_stop, attempt, session, worker)
      SELECT number, 0, 0, 0, 1, 'ses_0', 'w' FROM "${schema}".jobs`);
    const claiming = f.claim('ses_1');
    await waitedFor(client, 1);
    const reaping = reaper.jobs.reapSession({ session: 'ses_1' });
    await waitedFor(client, 2);
    await client.query('ROLLBACK');
    return { claim: await claiming, reaped: await reaping };
  });
  expect(claim.jobs.map((job) => job.jobId)).toEqual([jobId]);
  expect(reaped.map((moved) => moved.event)).toEqual(['requeued_after_restart']);
});

it('a claim that a reaper forestalls hears of it and leaves the job where it was', async () => {
  const f = fixtureOf(stores[0]!);
  await f.openSession('ses_1');
  const jobId = await f.enqueueOne();
  const claim = await withClient(async (client) => {
    await client.query('BEGIN');
    await client.query(`UPDATE "${schema}".sessions SET reaped_at = 1`);
    const claiming = f.claim('ses_1');
    await waitedFor(client, 1);
    await client.query('COMMIT');
    return claiming;
  });
  expect([claim.lost, claim.jobs]).toEqual([true, []]);
  expect((await f.claimOne('ses_2')).jobId).toBe(jobId);
});

describe('a move that was decided on what is no longer so', () => {
  async function decided(jobId: string, command: Command) {
    const connection = new Connection(await databaseUrl(), schema);
    const moves = new Moves(connection, new Lanes(connection), new Marks(), RULES);
    const row = await prepared<{ find: SeenRow }>(connection, 'act').find.get({ id: jobId, tenant: TENANT });
    const { move } = moves.decide(row!, command);
    return async () => {
      const applied = await moves.apply([{ row: row!, move: move! }], { revoke: true });
      await connection.close();
      return applied;
    };
  }

  it('is not applied to a job that ran in between and waits in its old place', async () => {
    const f = fixtureOf(stores[0]!);
    const jobId = await f.enqueueOne();
    const apply = await decided(jobId, { type: 'cancel', actor: 'a', reason: 'r' });
    await f.release(await f.claimOne('ses_1'));
    expect(await apply()).toEqual([null]);
    expect(await f.eventTypes(jobId)).toEqual(['queued', 'running', 'queued']);
  });

  it('is not applied to a dead letter that was replayed in between and died again', async () => {
    const f = fixtureOf(stores[0]!);
    const jobId = await f.dead();
    const apply = await decided(jobId, { type: 'replay', actor: 'a', reason: 'r' });
    await f.replay(jobId);
    await f.fail(await f.claimOne('ses_1'), { code: 'refused', elapsedMs: 1 });
    expect(await apply()).toEqual([null]);
    expect((await f.job(jobId)).replays).toBe(1);
  });
});
