/** What becomes of the store when its connections do not: on a server of its own, which the tests may end. */
import { DatabaseError } from 'pg';
import type { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, afterEach, describe, expect, it, vi } from 'vitest';
import type { Store } from '../../src/ports/store.ts';
import { Connection } from '../../src/stores/postgres/connection.ts';
import type { Hint } from '../../src/stores/postgres/listener.ts';
import { asStoreError } from '../../src/stores/postgres/errors.ts';
import { openPostgresStore } from '../../src/stores/postgres/store.ts';
import { Fixture } from '../../src/testkit/store/fixture.ts';
import { RULES } from '../../src/testkit/store/sqlite.ts';
import { newSchema, withClient } from './database.ts';
import { startProxy } from './proxy.ts';
import { startServer } from './server.ts';
import type { Server } from './server.ts';

let server: Server;
let store: Store;
let f: Fixture;
let schema: string;

beforeAll(async () => {
  server = await startServer({ max_notify_queue_pages: '64' });
});

afterAll(() => server.stop());

beforeEach(async () => {
  schema = newSchema();
  store = await open(server.url);
  f = new Fixture({ store, advance: () => {}, dispose: () => store.close() });
});

afterEach(() => store.close());

function open(url: string, onHint?: (hint: Hint) => void): Promise<Store> {
  return openPostgresStore({ url, schema, rules: RULES, ...(onHint === undefined ? {} : { onHint }) });
}

const UNAVAILABLE = { name: 'StoreUnavailableError' };

function endConnections(): Promise<unknown> {
  const sql = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'claimcheck'`;
  return withClient((client) => client.query(sql), server.url);
}

/** A lock that no statement of the store gets past, for as long as `body` runs. */
function withLockedTables<T>(body: () => Promise<T>): Promise<T> {
  return withClient(async (client) => {
    await client.query('BEGIN');
    await client.query(`LOCK TABLE "${schema}".jobs, "${schema}".pings`);
    return body();
  }, server.url);
}

describe('connections', () => {
  it('that an administrator ends are replaced, and nothing else is noticed', async () => {
    const jobId = await f.enqueueOne();
    await endConnections();
    await expect.poll(() => f.statusOf(jobId).catch(() => 'away')).toBe('queued');
  });

  it('that end amid a statement reject it as unavailable', async () => {
    await withLockedTables(async () => {
      let ended: unknown = null;
      const ping = store.jobs.ping().catch((error: unknown) => {
        ended = error;
      });
      await expect.poll(() => endConnections().then(() => ended)).toMatchObject(UNAVAILABLE);
      await ping;
    });
    await expect
      .poll(() =>
        store.jobs.ping().then(
          () => 'answers',
          () => 'away',
        ),
      )
      .toBe('answers');
  });

  it('come back by themselves after a server that crashed, and nothing that was acknowledged is lost', async () => {
    const claimed = await f.running('ses_1');
    const waiting = await f.enqueueOne();
    await server.restart('immediate');
    await expect.poll(() => f.statusOf(waiting).catch(() => 'away')).toBe('queued');
    expect((await f.complete(claimed)).moved?.status).toBe('completed');
  });

  it('that end at the very moment in which they are ready reject what was to use them, and nothing else', async () => {
    const proxy = await startProxy(server.url);
    const through = await open(proxy.url);
    proxy.endNext();
    // more at once than there are connections so far
    const asked = await Promise.allSettled([1, 2, 3, 4].map(() => through.jobs.ping()));
    const rejected = asked.filter((one) => one.status === 'rejected');
    expect(rejected.map(({ reason }) => reason as Error)).toEqual([expect.objectContaining(UNAVAILABLE)]);
    await through.close();
    proxy.close();
  });

  it('that cannot be made are said to be unavailable, at once and without a password', async () => {
    const closed = await startProxy(server.url);
    closed.close();
    const url = new URL(closed.url);
    url.password = 'secret';
    const error: unknown = await open(url.href).catch((reason: unknown) => reason);
    expect(error).toMatchObject(UNAVAILABLE);
    expect(String(error)).not.toContain('secret');
  });

  it('close in bounded time while a statement hangs, and the statement rejects', async () => {
    await withLockedTables(async () => {
      const rejected = expect(store.jobs.ping()).rejects.toMatchObject(UNAVAILABLE);
      await expect
        .poll(() =>
          withClient(async (client) => {
            const sql = `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%"${schema}".pings%'`;
            return (await client.query(sql)).rowCount;
          }, server.url),
        )
        .toBe(1);
      const from = performance.now();
      await store.close();
      expect(performance.now() - from).toBeLessThan(5000);
      await rejected;
    });
  });

  it('commit to the disk, whatever the settings of the role say', async () => {
    await withClient(
      (client) => client.query('ALTER ROLE postgres SET synchronous_commit = off'),
      server.url,
    );
    const connection = new Connection(server.url, schema);
    const { rows } = await connection.run({ name: 'show', text: 'SHOW synchronous_commit' }, []);
    expect(rows).toEqual([['on']]);
    await connection.close();
    await withClient((client) => client.query('ALTER ROLE postgres RESET synchronous_commit'), server.url);
  });

  it('through a pooler keep no session state, and everything works', async () => {
    const proxy = await startProxy(server.url, { pooler: true });
    const pooled = await open(proxy.url, () => expect.unreachable('a pooler cannot pass on what it hears'));
    const own = new Fixture({ store: pooled, advance: () => {}, dispose: () => pooled.close() });
    const claimed = await own.running('ses_1', { labels: { order: '17' } });
    expect((await own.complete(claimed)).moved?.status).toBe('completed');
    expect(proxy.sent()).toContain('FOR UPDATE SKIP LOCKED');
    expect(proxy.sent()).not.toMatch(/plan_cache_mode|claim\.take|LISTEN/);
    await pooled.close();
    proxy.close();
  });
});

describe('a job', () => {
  it('is written in one round trip, unless it names a key or an instant, which need a look first', async () => {
    const proxy = await startProxy(server.url);
    const own = await open(proxy.url);
    const through = new Fixture({ store: own, advance: () => {}, dispose: () => own.close() });
    await through.enqueueOne({ labels: { order: '17' }, requestedLimits: { deadlineMs: 1000 } });
    expect(proxy.sent()).not.toContain('enqueue.look');
    await through.enqueueOne({ runAt: Date.now() + 1000 });
    expect(proxy.sent()).toContain('enqueue.look');
    await own.close();
    proxy.close();
  });
});

describe('an idle worker', () => {
  it('writes nothing when it asks in vain', async () => {
    await f.running('ses_1');
    const written = () =>
      withClient(async (client) => {
        const sql = 'SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS next';
        return Number((await client.query<{ next: string }>(sql)).rows[0]?.next);
      }, server.url);
    const inVain = async () => {
      const before = await written();
      for (let index = 0; index < 5; index += 1) await f.claim('ses_1');
      return (await written()) - before;
    };
    await expect.poll(inVain).toBe(0); // again where the server's own upkeep came in between
  });
});

describe('time', () => {
  it("is the database's, whatever the clock of the process says", async () => {
    const real = Date.now();
    vi.useFakeTimers({ toFake: ['Date'], now: real + 3_600_000 });
    try {
      const claimed = await f.running('ses_1');
      const { createdAt, lease } = await f.job(claimed.jobId);
      expect(Math.abs(createdAt - real)).toBeLessThan(60_000);
      expect(lease?.until).toBeLessThan(real + 60_000);
      expect((await f.sweep()).moved).toEqual([]);
      expect((await f.renew('ses_1')).lost).toBe(false);
    } finally {
      vi.useRealTimers();
    }
  });
});

describe('wake-ups', () => {
  it('are left out where the server could take no more of them, and the job is accepted', async () => {
    const full = { code: '54000' };
    await withClient(async (idle) => {
      await idle.query('LISTEN others');
      await idle.query('BEGIN');
      const say = (client: Client, text: string) => client.query(`SELECT pg_notify('others', '${text}')`);
      await withClient(async (client) => {
        const fill = async () => {
          for (let index = 0; index < 100; index += 1) await say(client, `${index} ${'x'.repeat(7900)}`);
        };
        await expect(fill()).rejects.toMatchObject(full);
        await expect(say(client, 'one more'.repeat(900))).rejects.toMatchObject(full);
      }, server.url);
      expect(await f.statusOf(await f.enqueueOne())).toBe('queued');
    }, server.url);
  });

  it('come again after the connection broke', async () => {
    let heard = 0;
    const listening = await open(server.url, () => {
      heard += 1;
    });
    await expect.poll(() => heard).toBe(1);
    await endConnections();
    await expect.poll(() => heard, { timeout: 10_000 }).toBe(2);
    await expect
      .poll(() =>
        f.enqueueOne().then(
          () => 'accepted',
          () => 'away',
        ),
      )
      .toBe('accepted');
    await expect.poll(() => heard).toBe(3);
    await listening.close();
  });

  it('come again after the connection died without a word', async () => {
    vi.useFakeTimers({ toFake: ['setInterval'] });
    let heard = 0;
    const proxy = await startProxy(server.url);
    const listening = await open(proxy.url, () => {
      heard += 1;
    });
    try {
      await vi.waitUntil(() => heard === 1);
      proxy.forget();
      await f.enqueueOne();
      vi.advanceTimersByTime(10_000); // it is asked whether it lives
      await vi.waitUntil(() => heard === 2, { timeout: 10_000 });
    } finally {
      vi.useRealTimers();
      proxy.close();
      await listening.close();
    }
  });
});

describe('errors', () => {
  it('of the server are told apart: full, away, and mistakes of our own', () => {
    const coded = (code: string) => Object.assign(new DatabaseError('text', 4, 'error'), { code });
    expect(asStoreError(coded('53100'))).toMatchObject({ name: 'StorageFullError' });
    for (const code of ['08006', '53300', '57P01', '57014', '25006', '40P01', '55P03', '28P01']) {
      expect(asStoreError(coded(code))).toMatchObject(UNAVAILABLE);
    }
    const mistake = coded('42601');
    expect(asStoreError(mistake)).toBe(mistake);
    expect(asStoreError(new TypeError('ours'))).toBeInstanceOf(TypeError);
    expect(asStoreError(new AggregateError([new Error('connect ECONNREFUSED ::1:1')]))).toMatchObject({
      message: expect.stringContaining('ECONNREFUSED'),
    });
  });
});
