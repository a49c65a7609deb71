/** The database goes away while attempts are under way: for long, without a word, or to come back as an older one. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { defineWorkflow } from '../../src/index.ts';
import type { RunContext, WorkflowDefinition } from '../../src/index.ts';
import { newSchema } from '../postgres/database.ts';
import { startProxy } from '../postgres/proxy.ts';
import { startServer } from '../postgres/server.ts';
import type { Server } from '../postgres/server.ts';
import { gate, tempDir } from '../support/claimcheck.ts';
import { judged, Party } from './party.ts';

const LEASE_MS = 1000;

let server: Server;
let schema: string;
let dataDir: string;
/** What an attempt does. */
let run: (context: RunContext<unknown>) => unknown;

beforeAll(async () => {
  server = await startServer();
});

afterAll(() => server.stop());

beforeEach(async () => {
  schema = newSchema();
  dataDir = await tempDir();
});

function named(name: string): WorkflowDefinition {
  return defineWorkflow({
    name,
    version: '1',
    input: z.any(),
    output: z.any(),
    run: (context) => run(context),
  });
}

function open(options: { url?: string; leaseMs?: number; workflows?: WorkflowDefinition[] } = {}) {
  return Party.open({ url: server.url, schema, dataDir, workflows: [named('test')], ...options });
}

/** Attempts that wait until they are let go. */
function waiting() {
  const go = gate();
  let started = 0;
  run = async ({ signal }) => {
    started += 1;
    signal.addEventListener('abort', () => go.open());
    await go.opened;
    signal.throwIfAborted();
    return 'done';
  };
  return { go, started: () => started };
}

const FIRST_TRY = {
  status: 'completed',
  attempt: 1,
  errors: [],
  events: ['queued', 'running', 'completed'],
};

it('attempts that run while it is away for three leases are not taken away when it returns, and spend nothing', async () => {
  const { go, started } = waiting();
  const [one, two, three] = await Promise.all([open(), open(), open()]);
  for (const party of [one, two, three]) party.parts.sweeper.start();
  for (const party of [one, one, two]) party.startWorker();
  const jobs = await Promise.all(
    [1, 2, 3, 4, 5, 6].map((number) => three.accepted(number, { max_attempts: 1 })),
  );
  await expect.poll(started).toBe(6);

  await server.restart('immediate', 3.5 * LEASE_MS);
  await expect.poll(() => three.statusOf(jobs[0]!).catch(() => 'away')).toBe('running');
  await sleep(2.5 * LEASE_MS); // sweepers may reap again after one
  go.open();
  for (const jobId of jobs) expect(await three.ended(jobId)).toMatchObject(FIRST_TRY);
  expect(await three.ended(await three.accepted('later'))).toMatchObject(FIRST_TRY);
  await judged(three);
}, 60_000);

it('connections that died without a word are given up before the lease is, and replaced', async () => {
  const leaseMs = 5000;
  const { go, started } = waiting();
  const proxy = await startProxy(server.url);
  onTestFinished(() => proxy.close());
  const [party, other] = await Promise.all([open({ url: proxy.url, leaseMs }), open({ leaseMs })]);
  other.parts.sweeper.start();
  party.startWorker();
  const jobId = await other.accepted('a', { max_attempts: 1 });
  await expect.poll(started).toBe(1);
  await Promise.all([1, 2, 3, 4, 5].map(() => party.statusOf(jobId))); // as many connections lie idle

  proxy.forget();
  await sleep(leaseMs + 1000); // a session that was not renewed meanwhile is reaped
  go.open();
  expect(await other.ended(jobId)).toMatchObject(FIRST_TRY);
  expect(await party.statusOf(jobId)).toBe('completed');
  await judged(other);
}, 60_000);

const LARGE = 100_000;

it('a database that is restored from a backup under workers that live on: what ended since runs again, what it never knew changes nothing', async () => {
  const leaseMs = 3000; // nobody is to be late for it, however busy the machine is
  const gates = new Map(['given back', 'all through', 'lost'].map((input) => [input, gate()]));
  const endings: string[] = [];
  let attempts = 0;
  run = async ({ input, signal }) => {
    attempts += 1;
    const own = `${attempts} `;
    signal.addEventListener('abort', () => endings.push((signal.reason as { ending: string }).ending));
    await gates.get(input as string)?.opened;
    return own.repeat(LARGE / own.length); // each attempt has another artifact, and it is a file
  };
  const all = ['test', 'second', 'late', 'newer'].map(named);
  const [one, two, api] = await Promise.all([
    open({ leaseMs }),
    open({ leaseMs, workflows: [named('second')] }),
    open({ leaseMs, workflows: all }),
  ]);
  api.parts.sweeper.start();
  const ask = (input: string, workflow: string) => api.accepted(input, { max_attempts: 1 }, workflow);
  const becomes = (jobId: string, status: string) =>
    expect.poll(() => api.statusOf(jobId), { timeout: 10_000 }).toBe(status);
  const tokenOf = async (jobId: string) => {
    const { artifact } = await api.record(jobId);
    return Number((artifact as { uri: string }).uri.split('/')[2]);
  };

  one.startWorker();
  const [given, through] = [await ask('given back', 'test'), await ask('all through', 'test')];
  await Promise.all([becomes(given, 'running'), becomes(through, 'running')]);
  const [again, lost, spared] = [
    await ask('again', 'second'),
    await ask('lost', 'second'),
    await ask('spared', 'second'),
  ];
  const restore = await server.backUp();

  await becomes(spared, 'queued');
  expect((await api.ask('POST', `/ai-jobs/${spared}/cancel`, { reason: 'undone' })).status).toBe(200);
  two.startWorker();
  gates.get('given back')?.open();
  await Promise.all([becomes(given, 'completed'), becomes(again, 'completed'), becomes(lost, 'running')]);
  const tokenBefore = await tokenOf(again);
  const known = api.clients.creates.length;
  const gone = await ask('gone', 'late');
  api.clients.creates.splice(known); // accepted since the backup: the restored database never heard of it

  await restore();
  await expect.poll(async () => (await api.ask('GET', `/ai-jobs/${gone}`)).status).toBe(404);
  // what the number of a lane stood for is not remembered: it is another's now
  const fresh = await open({ leaseMs, workflows: all });
  const newer = await fresh.accepted('newer', {}, 'newer');
  const late = await ask('late', 'late');
  api.startWorker();
  // the first attempt of `lost` is told: the database does not know its session
  await expect.poll(() => endings, { timeout: 10_000 }).toEqual(['lease_lost']);
  for (const held of gates.values()) held.open();
  for (const jobId of [through, again, lost, spared, newer, late]) {
    expect(await api.ended(jobId)).toMatchObject(FIRST_TRY);
  }
  expect(await api.ended(given)).toMatchObject({
    status: 'completed',
    attempt: 2,
    errors: [],
    events: ['queued', 'running', 'queued', 'running', 'completed'],
  });
  expect((await api.record(late))['workflow']).toBe('late');
  expect(await tokenOf(again)).toBeGreaterThan(tokenBefore);
  await judged(api, fresh);
}, 60_000);
