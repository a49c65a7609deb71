/** Ten workers under load, each replaced by a new one and stopped as a deploy would: some are processes, some in this one. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { drained } from '../../src/testkit/crash/judge.ts';
import { gate } from '../support/claimcheck.ts';
import { openScene } from './scene.ts';
import type { Scene } from './scene.ts';
import { startWitness } from './witness.ts';
import type { Witness } from './witness.ts';

const PROCESSES = 2;
const WORKERS = 10;
const LEASE_MS = 10_000;
/** Longer than a job of the load takes on a busy machine; those that are held outlast it. */
const SHUTDOWN_MS = 2000;
const HELD = 2;

/** @returns how to stop it, as whoever deploys would */
type Start = () => Promise<() => Promise<void>>;

function inThisProcess(scene: Scene, name: string): Start {
  return async () => {
    const settings = { leaseMs: LEASE_MS, concurrency: 5, shutdownMs: SHUTDOWN_MS };
    const parts = await scene.open({ settings });
    const worker = parts.createWorker({ name });
    parts.sweeper.start();
    worker.start();
    return async () => {
      await worker.stop();
      await parts.close();
    };
  };
}

function inItsOwn(scene: Scene): Start {
  return async () => {
    const settings = { 'lease-ms': LEASE_MS, concurrency: 5, 'shutdown-ms': SHUTDOWN_MS };
    const worker = scene.work({ settings });
    await worker.printed(/A worker runs/);
    return async () => {
      worker.process.kill('SIGTERM');
      expect(await worker.ended).toMatchObject({ code: 0 });
      expect(worker.stderr()).toBe('');
    };
  };
}

/** Hands in one job after another until `signal` fires; those of `witness` take a moment each. */
async function handInUntil(signal: AbortSignal, scene: Scene, witness: Witness): Promise<string[]> {
  const jobs: string[] = [];
  while (!signal.aborted) {
    jobs.push(await scene.enqueue('deed', { witness: witness.url }));
    await sleep(10);
  }
  return jobs;
}

/** Replaces each worker by a new one. @returns how to stop the new ones */
async function restart(starts: Start[], olds: (() => Promise<void>)[]): Promise<(() => Promise<void>)[]> {
  const news: (() => Promise<void>)[] = [];
  for (const [index, stop] of olds.entries()) {
    const [started] = await Promise.all([starts[index]!(), stop()]);
    news.push(started);
  }
  return news;
}

it('a rolling restart of ten workers under load spends no attempt and does no job twice', async () => {
  const scene = await openScene();
  const over = gate();
  let calls = 0;
  const moment = () => sleep(20 + ((calls += 1) % 7) * 20);
  const holding = await startWitness(({ what }) => (what === 'started' ? over.opened : undefined));
  const busy = await startWitness(({ what }) => (what === 'started' ? moment() : undefined));
  const starts = Array.from({ length: WORKERS }, (_, index) =>
    index < PROCESSES ? inItsOwn(scene) : inThisProcess(scene, `worker-${index}`),
  );
  const olds = await Promise.all(starts.map((start) => start()));
  const held = await Promise.all(
    Array.from({ length: HELD }, () => scene.enqueue('deed', { witness: holding.url })),
  );
  const restarted = new AbortController();
  const [news, load] = await Promise.all([
    restart(starts, olds).finally(() => restarted.abort()),
    handInUntil(restarted.signal, scene, busy),
  ]);
  over.open();

  expect(await drained(scene.parts.store, 60_000)).toBe(true);
  const jobs = await Promise.all([...held, ...load].map((jobId) => scene.job(jobId)));
  for (const job of jobs) expect(job).toMatchObject({ status: 'completed', used: 1, errors: [] });
  const done = [...holding.calls, ...busy.calls].filter(({ what }) => what === 'done');
  expect(done.map(({ jobId }) => jobId).toSorted()).toEqual(jobs.map(({ jobId }) => jobId).toSorted());
  // It was a restart under load: jobs ran on most of the workers, and some were given back.
  expect(Math.max(...jobs.map(({ attempt }) => attempt))).toBeGreaterThan(1);
  const workers = jobs.flatMap(({ events }) => events.flatMap(({ worker }) => worker ?? []));
  expect(new Set(workers).size).toBeGreaterThan(WORKERS / 2);
  expect(load.length).toBeGreaterThan(50);
  await Promise.all(news.map((stop) => stop()));
  expect(await scene.verdict()).toBe('');
});
