/**
 * Jobs that take their process along, beside others that do not: by ending it, by filling its memory, by blocking it. The
 * culprit dies within its budget; the others may lose attempts to it, and complete.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { JsonValue } from '../../src/domain/json.ts';
import type { Job } from '../../src/domain/record.ts';
import { openScene } from './scene.ts';
import type { Scene } from './scene.ts';

interface Poison {
  workflow: string;
  input: JsonValue;
}

const EXIT: Poison = { workflow: 'demo', input: { mode: 'exit' } };
const GLUTTON: Poison = { workflow: 'glutton', input: null };
const SPIN: Poison = { workflow: 'demo', input: { mode: 'spin', ms: 60_000 } };

/** In megabytes: twice what a worker of these tests needs. */
const LEAN = { env: { NODE_OPTIONS: '--max-old-space-size=64' } };

const codesOf = (job: Job) => job.errors.map((error) => error.code);

/** Some short and some long, some before the culprit and some behind it, all waiting before the first worker is there. */
async function handIn(scene: Scene, { workflow, input }: Poison, maxAttempts: number) {
  const slow = (ms: number) => scene.enqueue('demo', { mode: 'slow', ms });
  const before = [await slow(2000), await slow(100), await slow(100), await slow(100)];
  const culprit = await scene.enqueue(workflow, input, { limits: { maxAttempts } });
  return { culprit, others: [...before, await slow(100), await slow(100), await slow(2000)] };
}

async function expectOnlyCulpritDies(
  scene: Scene,
  { culprit, others }: { culprit: string; others: string[] },
  maxAttempts: number,
): Promise<void> {
  const dead = await scene.ended(culprit);
  expect(dead).toMatchObject({ status: 'dead_letter', attempt: maxAttempts });
  expect(codesOf(dead)).toEqual(Array.from({ length: maxAttempts }, () => 'worker_lost'));
  for (const jobId of others) expect((await scene.ended(jobId)).status).toBe('completed');
  expect(await scene.verdict()).toBe('');
}

/** What a service manager does: `work`, started again whenever it ends by itself. */
async function keepWorking(scene: Scene, stopped: AbortSignal): Promise<void> {
  while (!stopped.aborted) {
    const worker = scene.work(LEAN);
    stopped.addEventListener('abort', () => worker.process.kill('SIGTERM'));
    const { signal } = await worker.ended;
    if (signal === 'SIGKILL') return; // by the end of the test
  }
}

async function underWork(poison: Poison, maxAttempts: number, workers: number): Promise<void> {
  const scene = await openScene();
  const handedIn = await handIn(scene, poison, maxAttempts);
  scene.parts.sweeper.start(); // as the API does
  const stop = new AbortController();
  const kept = Array.from({ length: workers }, () => keepWorking(scene, stop.signal));
  await expectOnlyCulpritDies(scene, handedIn, maxAttempts);
  stop.abort();
  await Promise.all(kept);
}

async function underServe(poison: Poison, maxAttempts: number): Promise<void> {
  const scene = await openScene();
  const handedIn = await handIn(scene, poison, maxAttempts);
  const server = await scene.serve([], LEAN);
  const ended = expectOnlyCulpritDies(scene, handedIn, maxAttempts);
  let over = false;
  void ended.finally(() => (over = true)).catch(() => {});
  while (!over) {
    expect((await server.ask('/ai-jobs?limit=1')).status).toBe(200);
    await sleep(100);
  }
  await ended;
  server.process.kill('SIGTERM');
  expect(await server.ended).toMatchObject({ code: 0 });
}

it('a job that ends its process, or fills its memory, dies alone, though one `work` after another meets it', async () => {
  await Promise.all([underWork(EXIT, 3, 2), underWork(GLUTTON, 2, 1)]);
});

it('a job that ends its process, fills its memory or blocks it dies alone under `serve`, whose API answers', async () => {
  await Promise.all([underServe(EXIT, 3), underServe(GLUTTON, 2), underServe(SPIN, 1)]);
});
