/** Which isolated jobs a worker claims, and when: here with processes that a test lets begin and end. */
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import type { EngineSettings } from '../src/engine/settings.ts';
import { defineWorkflow } from '../src/index.ts';
import { openParts } from '../src/main/open.ts';
import type { Parts } from '../src/main/open.ts';
import { createTelemetry } from '../src/main/telemetry.ts';
import type { Isolation } from '../src/ports/isolation.ts';
import { tempDir } from './support/claimcheck.ts';

const CALLER = { tenant: 'default', actor: 'local:test' };

/** Where the functions of the test run, in the order in which they came. */
const came: string[] = [];
const schemas = { input: z.undefined(), output: z.number() };
const apart = defineWorkflow({ name: 'apart', version: '1', isolation: 'process', ...schemas, run: () => 1 });
const beside = defineWorkflow({
  name: 'beside',
  version: '1',
  ...schemas,
  run: () => came.push('beside'),
});

/** Processes of which `ready` can begin. */
function processes(ready: number) {
  let wake = () => {};
  let going = 0;
  const waiting: (() => void)[] = [];
  const isolation: Isolation = {
    start: () => {},
    ready: () => ready,
    onReady: (listener) => {
      wake = listener;
      return () => {};
    },
    async run() {
      came.push('apart');
      ready -= 1;
      going += 1;
      await new Promise<void>((resolve) => waiting.push(resolve));
      going -= 1;
      return { type: 'returned', output: Buffer.from('1'), artifacts: [] };
    },
    stop: () => Promise.resolve(),
  };
  return {
    isolation,
    going: () => going,
    /** One that runs ends, and its process is ready again. */
    end: () => {
      waiting.shift()?.();
      ready += 1;
      wake();
    },
  };
}

async function open(isolation: Isolation, settings: Partial<EngineSettings> = {}): Promise<Parts> {
  came.length = 0;
  const parts = await openParts({
    dataDir: await tempDir(),
    workflows: [apart, beside],
    model: null,
    makeIsolation: () => isolation,
    telemetry: createTelemetry({ level: 'silent', process: 'test' }),
    settings,
  });
  onTestFinished(() => parts.close());
  return parts;
}

async function enqueue(parts: Parts, workflow: string, count: number): Promise<string[]> {
  const jobs = Array.from({ length: count }, async () => {
    const ticket = await parts.engine.enqueue(CALLER, { workflow });
    return ticket.ok ? ticket.value.jobId : '';
  });
  return Promise.all(jobs);
}

async function statuses(parts: Parts, jobIds: string[]): Promise<string[]> {
  const jobs = await Promise.all(jobIds.map((jobId) => parts.store.jobs.job({ tenant: 'default', jobId })));
  return jobs.map((job) => job?.status ?? 'none');
}

const soon = (condition: () => boolean) =>
  expect.poll(condition, { timeout: 20_000, interval: 5 }).toBe(true);

it('a worker claims as many isolated jobs as can begin; the others wait in the queue, where no limit runs', async () => {
  const { isolation, going, end } = processes(2);
  const parts = await open(isolation);
  const jobIds = await enqueue(parts, 'apart', 4);
  const others = await enqueue(parts, 'beside', 3);
  const worker = parts.createWorker();
  worker.start();
  onTestFinished(() => worker.stop());
  await soon(() => going() === 2 && came.includes('beside'));
  await expect.poll(() => statuses(parts, others)).toEqual(['completed', 'completed', 'completed']);
  expect((await statuses(parts, jobIds)).toSorted()).toEqual(['queued', 'queued', 'running', 'running']);

  for (let ended = 0; ended < 4; ended += 1) {
    await soon(() => going() > 0);
    end();
  }
  await expect.poll(() => statuses(parts, jobIds)).toEqual(Array(4).fill('completed'));
});

it('isolated jobs and others take turns at the slots of a worker that has few', async () => {
  const { isolation, end } = processes(5);
  const parts = await open(isolation, { concurrency: 1 });
  await enqueue(parts, 'apart', 3);
  await enqueue(parts, 'beside', 3);
  const worker = parts.createWorker();
  worker.start();
  onTestFinished(() => worker.stop());
  for (let ended = 0; ended < 3; ended += 1) {
    await soon(() => came.filter((name) => name === 'apart').length > ended);
    end();
  }
  await soon(() => came.length === 6);
  const pairs = [came.slice(0, 2), came.slice(2, 4), came.slice(4)];
  expect(pairs.map((two) => two.toSorted().join())).toEqual(Array(3).fill('apart,beside'));
});

it('a worker without processes leaves isolated jobs alone', async () => {
  const { isolation, going } = processes(0);
  const parts = await open(isolation);
  const jobIds = await enqueue(parts, 'apart', 1);
  const [other = ''] = await enqueue(parts, 'beside', 1);
  const worker = parts.createWorker();
  worker.start();
  onTestFinished(() => worker.stop());
  await expect.poll(() => statuses(parts, [other])).toEqual(['completed']);
  expect([going(), ...(await statuses(parts, jobIds))]).toEqual([0, 'queued']);
});
