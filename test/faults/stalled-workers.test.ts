/**
 * Workers that stall for longer than their lease and go on when their jobs are others': a process that is stopped (SIGSTOP,
 * SIGCONT), and one whose event loop a function blocks.
 */
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Job } from '../../src/domain/record.ts';
import { systemClock } from '../../src/engine/system-clock.ts';
import type { Started } from '../cli/run.ts';
import { gate } from '../support/claimcheck.ts';
import { LEASE_MS, openScene } from './scene.ts';
import type { Scene } from './scene.ts';
import { startWitness } from './witness.ts';
import type { Witness } from './witness.ts';

/** Kept as a file, which is there before the settlement. */
const LARGE = 100_000;
const TAKEN_OVER = ['queued', 'running', 'requeued_after_restart', 'running', 'completed'];

const typesOf = (job: Job) => job.events.map((event) => event.type);

/** Jobs under way in one worker, whose first attempts wait. */
interface Stage {
  /** The one that goes on first, and says that it is done. */
  hasty: string;
  /** The same, with artifacts that are files. */
  large: string;
  /** The one that goes on waiting until its signal fires. */
  patient: string;
  /** Lets `hasty` and `large` go on; `hasty` blocks the event loop where it is to. */
  goOn: () => void;
  told: (ending: string) => Promise<void>;
  tokens: Map<string, number>;
}

/** @param block the file that ends the block; null where nothing is to block */
async function setStage(scene: Scene, block: { file: string; by: 'hasty' | 'large' } | null): Promise<Stage> {
  const [going, never] = [gate(), gate()];
  const firstWaits = (answer: Promise<void>) =>
    startWitness(({ attempt, what }) => (attempt === 1 && what === 'started' ? answer : undefined));
  const [late, silent] = [await firstWaits(going.opened), await firstWaits(never.opened)];
  const enqueue = async (witness: Witness, bytes: number, blocks: boolean) => {
    const input = { witness: witness.url, bytes, block: blocks ? (block?.file ?? null) : null };
    const jobId = await scene.enqueue('stalling', input);
    await witness.heard(jobId, 1, 'started');
    return jobId;
  };
  const hasty = await enqueue(late, 10, block?.by === 'hasty');
  const large = await enqueue(late, LARGE, block?.by === 'large');
  const patient = await enqueue(silent, 10, false);
  const running = await Promise.all([hasty, large, patient].map((jobId) => scene.job(jobId)));
  return {
    hasty,
    large,
    patient,
    goOn: going.open,
    told: (ending) => silent.heard(patient, 1, `told ${ending}`),
    tokens: new Map(running.map(({ jobId, lease }) => [jobId, lease?.token ?? 0])),
  };
}

/** A worker of this process with a sweeper beside it, which takes over what others lose. */
async function openHeir(scene: Scene) {
  const parts = await scene.open();
  const worker = parts.createWorker();
  parts.sweeper.start();
  worker.start();
  return worker;
}

async function expectTakenOver(scene: Scene, { hasty, large, patient, tokens }: Stage): Promise<void> {
  for (const jobId of [hasty, large, patient]) {
    const job = await scene.ended(jobId);
    expect(typesOf(job)).toEqual(TAKEN_OVER);
    const main = await scene.read(jobId);
    expect(JSON.parse(main.toString())).toMatchObject({ attempt: 2 });
    expect(createHash('sha256').update(main).digest('hex')).toBe(job.artifact?.sha256);
    expect((await scene.read(jobId, 'page.txt')).toString()).toMatch(/^2+$/);
    for (const { uri } of [job.artifact!, ...job.artifacts]) {
      expect(uri).not.toContain(`/${tokens.get(jobId)}/`);
      const stale = await scene.parts.store.jobs.inlineBlob({ uri: staleUri(uri, tokens.get(jobId)) });
      expect(stale).toBeNull();
    }
  }
}

/** The key of the same artifact as the late attempt had it. */
function staleUri(uri: string, token: number | undefined): string {
  return uri.replace(/\/\d+\//, `/${token}/`);
}

/** It goes on by itself, and then stops as it should. */
async function expectAlive(scene: Scene, worker: Started): Promise<void> {
  const next = await scene.enqueue('deed', { witness: (await startWitness()).url });
  expect(await scene.ended(next)).toMatchObject({ status: 'completed', attempt: 1 });
  worker.process.kill('SIGTERM');
  expect(await worker.ended).toMatchObject({ code: 0 });
}

describe('a worker process past its lease', () => {
  it('that was stopped finds its words refused, its functions told, and the artifacts those of the winner', async () => {
    const scene = await openScene();
    const worker = scene.work();
    const stage = await setStage(scene, null);
    worker.process.kill('SIGSTOP');
    const heir = await openHeir(scene);
    await expectTakenOver(scene, stage);
    await heir.stop();
    stage.goOn();
    worker.process.kill('SIGCONT');
    await stage.told('lease_lost');
    await expectAlive(scene, worker);
    await expectTakenOver(scene, stage);
    expect(await scene.verdict()).toBe('');
  });

  it('that was blocked by a function has the late outcome refused and the other functions told', async () => {
    const scene = await openScene();
    const worker = scene.work();
    const stage = await setStage(scene, { file: join(scene.dataDir, 'go-on'), by: 'hasty' });
    stage.goOn();
    const heir = await openHeir(scene);
    await expectTakenOver(scene, stage);
    await worker.printed(new RegExp(`${stage.hasty}.*a late outcome was refused`), 'stderr');
    await stage.told('lease_lost');
    await heir.stop();
    await expectAlive(scene, worker);
    await expectTakenOver(scene, stage);
    expect(await scene.verdict()).toBe('');
  });
});

it('an app that blocks its own event loop past the lease of its worker loses the jobs, and replaces no file', async () => {
  const scene = await openScene();
  const app = await openHeir(scene);
  const stage = await setStage(scene, { file: join(scene.dataDir, 'go-on'), by: 'large' });
  const other = scene.work();
  await other.printed(/A worker runs/);
  stage.goOn();
  await stage.told('lease_lost');
  await expectTakenOver(scene, stage);
  await app.stop();
  const uri = (await scene.job(stage.large)).artifacts[0]!.uri;
  const file = (of: string) => readFileSync(join(scene.dataDir, 'blobs', of), 'utf8');
  expect(file(staleUri(uri, stage.tokens.get(stage.large)))).toMatch(/^1+$/);
  expect(file(uri)).toMatch(/^2+$/);
  await expectAlive(scene, other);
  expect(await scene.verdict()).toBe('');
});

it('a worker that stalls until the answer to its claim is old begins nothing of what it brought', async () => {
  const scene = await openScene();
  let ms = 0;
  const parts = await scene.open({
    clock: { ...systemClock, monotonicMs: () => performance.now() + ms },
  });
  const { jobs } = parts.store;
  const claim = jobs.claim.bind(jobs);
  jobs.claim = async (params) => {
    const answer = await claim(params);
    if (answer.jobs.length > 0 && ms === 0) {
      await scene.parts.store.jobs.reapSession(params);
      ms = 2 * LEASE_MS;
    }
    return answer;
  };
  const worker = parts.createWorker();
  worker.start();
  const witness = await startWitness();
  const jobId = await scene.enqueue('deed', { witness: witness.url });
  expect(typesOf(await scene.ended(jobId))).toEqual(TAKEN_OVER);
  await worker.stop();
  expect(new Set(witness.calls.map(({ attempt }) => attempt))).toEqual(new Set([2]));
  expect(await scene.verdict()).toBe('');
});

describe('a cancel', () => {
  const cases = [
    ['stopped', 'within', 'revoked'],
    ['blocked', 'past', 'lease_lost'],
  ] as const;

  it.each(cases)(
    'that comes while the worker is %s, %s its lease, outlasts what comes late, and is told',
    async (how, when, ending) => {
      const scene = await openScene();
      const file = join(scene.dataDir, 'go-on');
      const worker = scene.work({ settings: { 'lease-ms': 60_000 } });
      const stage = await setStage(scene, how === 'blocked' ? { file, by: 'hasty' } : null);
      const session = (await scene.job(stage.hasty)).lease!.session;
      if (how === 'stopped') worker.process.kill('SIGSTOP');
      else stage.goOn();

      for (const jobId of [stage.hasty, stage.patient]) await scene.cancel(jobId);
      if (when === 'past') await scene.parts.store.jobs.reapSession({ session });

      writeFileSync(file, '');
      stage.goOn();
      worker.process.kill('SIGCONT');
      await stage.told(ending);
      await expectAlive(scene, worker);
      expect(typesOf(await scene.ended(stage.large)).at(-1)).toBe('completed');
      for (const jobId of [stage.hasty, stage.patient]) {
        expect(typesOf(await scene.job(jobId))).toEqual([
          'queued',
          'running',
          'cancel_requested',
          'dead_letter',
        ]);
      }
      expect(await scene.verdict()).toBe('');
    },
  );
});

it('a worker whose event loop a function blocks for 5 s loses nothing at the default settings', async () => {
  const scene = await openScene();
  const server = await scene.serve([], { settings: { 'lease-ms': 10_000, 'grace-ms': 5000 } });
  const beside = await scene.enqueue('demo', { mode: 'slow', ms: 1000 });
  await expect.poll(async () => (await scene.job(beside)).status, { timeout: 10_000 }).toBe('running');
  const busy = await scene.enqueue('demo', { mode: 'spin', ms: 5000 });
  const sweeping = setInterval(() => void sweep(scene), 100);
  onTestFinished(() => clearInterval(sweeping));
  for (const jobId of [busy, beside]) {
    expect(typesOf(await scene.ended(jobId))).toEqual(['queued', 'running', 'completed']);
  }
  server.process.kill('SIGTERM');
  expect(await server.ended).toMatchObject({ code: 0 });
  expect(server.stderr()).toBe('');
  expect(await scene.verdict()).toBe('');
});

/** As a process does that has seen the store for long enough. */
function sweep({ parts }: Scene) {
  const { graceMs, idempotencyMs } = parts.settings;
  return parts.store.jobs.sweep({ reap: true, graceMs, idempotencyMs, limit: 100, jitter: Math.random });
}
