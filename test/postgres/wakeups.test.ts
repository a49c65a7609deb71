/** What workers on other machines are told, on a clock that stands still until it is moved. */
import { Client } from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Fixture, first } from '../../src/testkit/store/fixture.ts';
import { databaseUrl, openPostgresForTest } from './database.ts';

let f: Fixture;
let client: Client;
let channel: string;
let heard: string[];
let close: () => Promise<void>;

beforeEach(async () => {
  const opened = await openPostgresForTest();
  f = new Fixture(opened);
  channel = `${opened.schema}_ready`;
  heard = [];
  client = new Client({ connectionString: await databaseUrl() });
  await client.connect();
  client.on('notification', ({ payload }) => heard.push(payload ?? ''));
  await client.query(`LISTEN "${channel}"`);
  close = async () => {
    await client.end();
    await opened.dispose();
  };
});

afterEach(() => close());

/** All that was told since the last call. */
async function told(): Promise<string[]> {
  await client.query(`SELECT pg_notify('${channel}', 'that is all')`);
  await expect.poll(() => heard.at(-1)).toBe('that is all');
  return heard.splice(0).slice(0, -1);
}

/** Says nothing of what `body` tells. */
async function untold<T>(body: () => Promise<T>): Promise<T> {
  const result = await body();
  await told();
  return result;
}

describe('workers are told', () => {
  it('of the first job that waits, not of those behind it, and again once nothing that came lately waits', async () => {
    await f.enqueueOne();
    expect(await told()).toEqual(['ready']);
    await f.enqueue({}, {}, {});
    await f.enqueueOne();
    expect(await told()).toEqual([]);
    await f.enqueueOne({ workflow: 'other' });
    expect(await told()).toEqual(['ready']);
    f.advance(100);
    await f.enqueueOne();
    expect(await told()).toEqual(['ready']);
  });

  it('once of a batch, and of one that comes within a transaction only when that commits', async () => {
    await f.enqueue({}, { workflow: 'a' }, { workflow: 'b' }, { priority: 7 });
    expect(await told()).toEqual(['ready']);
    await client.query('BEGIN');
    await f.jobs.enqueueWithin?.(client, f.request(null, { workflow: 'c' }));
    expect(heard).toEqual([]);
    await client.query('COMMIT');
    expect(await told()).toEqual(['ready']);
  });

  it.each([{}, { labels: { a: 'b' } }])(
    'of what comes within a transaction also where something else waits now: that may be gone before the commit (%j)',
    async (job) => {
      await untold(() => f.enqueueOne());
      await client.query('BEGIN');
      await f.jobs.enqueueWithin?.(client, f.request(null, job));
      await client.query('COMMIT');
      expect(await told()).toEqual(['ready']);
    },
  );

  it('of what is due before they look again by themselves, where nothing else is due before', async () => {
    await f.openSession('ses_1');
    const { now } = await f.claim('ses_1');
    const at = (ms: number) => f.enqueueOne({ runAt: now + ms });
    await at(60_000);
    expect(await told()).toEqual([]);
    await at(400);
    expect(await told()).toEqual(['ready']);
    await at(450);
    expect(await told()).toEqual([]);
    await at(300);
    expect(await told()).toEqual(['ready']);
  });

  it('of a retry, of what a worker gives back or loses, and of a replay', async () => {
    const failed = await untold(() => f.running('ses_1', { requestedLimits: { maxAttempts: 9 } }));
    const unavailable = { code: 'upstream_unavailable', elapsedMs: 1 } as const;
    await f.fail(failed, unavailable);
    expect(await told()).toEqual(['ready']);
    await f.fail(await f.claimOne('ses_1'), { ...unavailable, retryAfterMs: 400 });
    expect(await told()).toEqual(['ready']);
    f.advance(400);
    await f.fail(await f.claimOne('ses_1'), { ...unavailable, retryAfterMs: 60_000 });
    expect(await told()).toEqual([]);

    await f.release(await untold(() => f.running('ses_1', { workflow: 'demo' })));
    expect(await told()).toEqual(['ready']);
    await f.claimOne('ses_1');
    await f.jobs.reapSession({ session: 'ses_1' });
    expect(await told()).toEqual(['ready']);
    f.advance(1000);
    const dead = await untold(() => f.dead({ workflow: 'demo', priority: 9 }));
    await f.replay(dead);
    expect(await told()).toEqual(['ready']);
  });

  it('of nothing where jobs end, and once where many come back together', async () => {
    await f.openSession('ses_1');
    await f.enqueue({}, {}, {}, {});
    const [one, ...rest] = (await untold(() => f.claim('ses_1'))).jobs;
    await f.complete(first([one].flatMap((job) => job ?? [])));
    expect(await told()).toEqual([]);
    await f.jobs.settle(
      rest.map(({ jobId, token }) => ({ jobId, token, command: { type: 'release' }, blobs: [] })),
    );
    expect(await told()).toEqual(['ready']);
  });
});

describe('a session is told', () => {
  it('that its attempt was cancelled, whatever its name; a job that waited concerns nobody', async () => {
    const running = await untold(() => f.running('ses_1'));
    await f.cancel(running.jobId);
    expect(await told()).toEqual(['revoked ses_1']);
    await f.cancel(await untold(() => f.enqueueOne()));
    expect(await told()).toEqual([]);
    const odd = `ses_${'ä'.repeat(1000)}`;
    const other = await untold(() => f.running(odd));
    await f.cancel(other.jobId);
    expect(await told()).toEqual([`revoked ${odd}`.slice(0, 200)]);
  });

  it('with its next renewal, where attempts of several were taken at once', async () => {
    for (const session of ['ses_1', 'ses_2']) {
      await f.enqueueOne({ requestedLimits: { timeoutMs: 10, maxAttempts: 1 } });
      await f.claimOne(session);
    }
    await told();
    f.advance(5000);
    await f.sweep({ reap: false });
    expect(await told()).toEqual([]);
    for (const session of ['ses_1', 'ses_2']) expect((await f.renew(session)).revoked).toHaveLength(1);
  });
});
