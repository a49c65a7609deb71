/** Several processes on one SQLite file: real ones, some of which are killed. */
import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseSync } from '@photostructure/sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Store } from '../../src/ports/store.ts';
import { openSqliteStore } from '../../src/stores/sqlite/store.ts';
import { assertFolds, Fixture, idsOf, LANE, TENANT } from '../../src/testkit/store/fixture.ts';
import { RULES } from '../../src/testkit/store/sqlite.ts';

let directory: string;
let path: string;
let children: ChildProcess[];

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'claimcheck-processes-'));
  path = join(directory, 'store.db');
  children = [];
});

afterEach(async () => {
  await Promise.all(children.map((child) => kill(child)));
  await rm(directory, { recursive: true, force: true });
});

function start(part: string, name = part): ChildProcess {
  const child = fork(join(import.meta.dirname, 'process.mjs'), [path, part, name]);
  children.push(child);
  return child;
}

async function ready(part: string, name = part): Promise<ChildProcess> {
  const child = start(part, name);
  await once(child, 'message');
  return child;
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}

async function end(child: ChildProcess): Promise<number | null> {
  if (child.exitCode !== null) return child.exitCode;
  await once(child, 'exit');
  return child.exitCode;
}

function open(busyMs = 5000): Promise<Store> {
  return openSqliteStore({ path, rules: RULES, busyMs });
}

function fixtureOf(store: Store): Fixture {
  return new Fixture({ store, advance: () => {}, dispose: () => store.close() });
}

/** Every record of the store, checked against its own history. */
async function checkedJobs(store: Store) {
  const { jobs } = await store.jobs.list({ tenant: TENANT, filter: {}, after: null, limit: 100_000 });
  return Promise.all(
    jobs.map(async ({ jobId }) => {
      const job = await store.jobs.job({ tenant: TENANT, jobId });
      assertFolds(job!);
      return job!;
    }),
  );
}

describe('processes that share a file', () => {
  it('open a new file at the same moment, and one of them makes the tables', async () => {
    const openers = await Promise.all(['a', 'b', 'c'].map((name) => ready('open', name)));
    for (const opener of openers) opener.send('go');
    expect(await Promise.all(openers.map(end))).toEqual([0, 0, 0]);
    const store = await open();
    await store.jobs.ping();
    await store.close();
  });

  it('drain a queue together, and each job is completed once', async () => {
    const store = await open();
    const f = fixtureOf(store);
    const ids = await f.enqueue(...Array.from({ length: 120 }, () => ({})));
    const workers = await Promise.all(['w1', 'w2'].map((name) => ready('drain', name)));
    const completed: string[] = [];
    for (const worker of workers) {
      worker.on('message', (settled) => completed.push(...(settled as string[])));
      worker.send('go');
    }
    expect(await Promise.all(workers.map(end))).toEqual([0, 0]);
    expect(completed.toSorted()).toEqual(ids);
    expect((await checkedJobs(store)).every((job) => job.status === 'completed')).toBe(true);
    await store.close();
  });

  it('lose nothing that was acknowledged, however often one is killed amid its commits', async () => {
    const accepted = new Set<string>();
    const completed = new Set<string>();
    for (const round of [1, 2, 3]) {
      const child = start('labour', `r${round}`);
      let messages = 0;
      await new Promise<void>((resolve) => {
        child.on('message', (message: { accepted?: string[]; completed?: string[] }) => {
          for (const id of message.accepted ?? []) accepted.add(id);
          for (const id of message.completed ?? []) completed.add(id);
          messages += 1;
          if (messages === 20 + round * 7) resolve();
        });
      });
      await kill(child);
    }
    const db = new DatabaseSync(path);
    expect(db.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' });
    db.close();
    const store = await open();
    const jobs = new Map((await checkedJobs(store)).map((job) => [job.jobId, job]));
    expect([...accepted].filter((id) => !jobs.has(id))).toEqual([]);
    expect([...completed].filter((id) => jobs.get(id)?.status !== 'completed')).toEqual([]);
    for (const job of jobs.values()) {
      if (job.artifact !== null)
        expect(await store.jobs.inlineBlob({ uri: job.artifact.uri })).not.toBeNull();
    }
    await recoverAndDrain(store, [...jobs.keys()]);
    await store.close();
  });

  it('wait for the lock of another without blocking their own event loop, while readers go on', async () => {
    const store = await open();
    const f = fixtureOf(store);
    const jobId = await f.enqueueOne();
    const holder = await ready('hold');
    let done = false;
    const writing = f.cancel(jobId).finally(() => {
      done = true;
    });
    let longestMs = 0;
    for (let tick = 0; tick < 30; tick += 1) {
      const from = performance.now();
      await sleep(5);
      longestMs = Math.max(longestMs, performance.now() - from);
      expect((await f.job(jobId)).status).toBe('queued');
    }
    expect(done).toBe(false);
    // A wait inside SQLite alone would have blocked until the holder lets go.
    expect(longestMs).toBeLessThan(1000);
    holder.send('go');
    expect((await writing).outcome).toBe('moved');
    await store.close();
  });

  it('say that the store is unavailable where the lock is not given in time, and go on afterwards', async () => {
    const store = await open(100);
    const f = fixtureOf(store);
    const jobId = await f.enqueueOne();
    const holder = await ready('hold');
    const refused = await Promise.allSettled([f.cancel(jobId), f.cancel(jobId), store.jobs.ping()]);
    const names = refused.map((one) => (one.status === 'rejected' ? (one.reason as Error).name : one.status));
    expect(names).toEqual(Array(3).fill('StoreUnavailableError'));
    holder.send('go');
    await end(holder);
    expect((await f.cancel(jobId)).outcome).toBe('moved');
    await store.close();
  });

  it('close in bounded time while another holds the lock, and what waits rejects', async () => {
    const store = await open(60_000);
    const f = fixtureOf(store);
    const jobId = await f.enqueueOne();
    await ready('hold');
    const waiting = f.cancel(jobId);
    const rejected = expect(waiting).rejects.toThrow('closed');
    await store.close();
    await rejected;
  });
});

async function recoverAndDrain(store: Store, ids: string[]): Promise<void> {
  const f = fixtureOf(store);
  for (const round of [1, 2, 3]) await store.jobs.reapSession({ session: `ses_r${round}` });
  await store.jobs.openSession({ session: 'ses_after', worker: 'w', host: 'h', leaseMs: 60_000 });
  const { jobs } = await f.claim('ses_after', { limit: 100_000, lanes: [LANE] });
  for (const job of jobs) expect((await f.complete(job)).moved?.status).toBe('completed');
  expect(
    idsOf(
      (await f.jobs.list({ tenant: TENANT, filter: { status: 'completed' }, after: null, limit: 100_000 }))
        .jobs,
    ).length,
  ).toBe(ids.length);
}
