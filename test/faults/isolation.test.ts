/**
 * Functions in processes of their own: the same API, and an end by force for those that spin, leak or exit. The processes
 * are real ones, of the built package.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it, test, vi } from 'vitest';
import { patternSearch } from '../../examples/pattern-search.ts';
import type { LocalWorker, RecordJson } from '../../src/index.ts';
import { startFakeProvider } from '../../src/testing.ts';
import { start } from '../cli/run.ts';
import { tempDir } from '../support/claimcheck.ts';
import { GRACE_MS, childrenOf, flagsOf, gone, isAlive, openClaimcheck, openScene } from './isolated-scene.ts';
import type { Scene } from './isolated-scene.ts';
import { apart } from './isolated-workflows.ts';

// Processes that start and load take their time on a busy machine.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const codes = (record: RecordJson) => record.errors.map((error) => error.code);
const MIB = 1024 ** 2;
const types = (record: RecordJson) => record.events.map((event) => event.type);

describe('an isolated function', () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await openScene({
      settings: { isolationProcesses: 3, isolationMemoryBytes: 320 * MIB, maxOutputBytes: 300_000 },
    });
    scene.queue.worker().start();
  });
  afterAll(async () => expect(await scene.verdict()).toBe(''));

  /** What a job of this mode leaves. */
  async function done(mode: string, options = {}) {
    const jobId = await scene.ask(mode, options);
    return { jobId, record: await scene.ended(jobId) };
  }

  async function outputOf(mode: string): Promise<Record<string, unknown>> {
    const { jobId } = await done(mode);
    return (await scene.output(jobId)) as Record<string, unknown>;
  }

  it('has the same run API as any other, in a process of its own', async () => {
    const text = Buffer.from('abc'.repeat(100_000));
    const { input_ref: inputRef } = await scene.queue.upload(text, 'text/plain', 'a.txt');
    const { jobId, record } = await done('everything', { inputRef, labels: { order: '17' } });
    expect(types(record)).toEqual(['queued', 'running', 'completed']);
    const { pid, ...output } = (await scene.output(jobId)) as { pid: number };
    expect(pid).not.toBe(process.pid);
    expect(output).toMatchObject({
      jobId,
      attempt: 1,
      labels: { order: '17' },
      streamed: 300_000,
      start: 'abc',
      text: 'an answer',
      file: { bytes: 300_000, mediaType: 'text/plain', fileName: 'a.txt' },
    });
    expect(record.artifacts).toMatchObject([
      { name: 'small.txt', bytes: 5 },
      { name: 'large.bin', bytes: 250_000 },
    ]);
    const large = await buffer((await scene.queue.artifact(jobId, 'large.bin')).stream());
    expect([large.length, large[0], large.at(-1)]).toEqual([250_000, 0, 4]);
  });

  test.each([
    ['retryable', ['upstream_unavailable', 'upstream_unavailable'], 'RetryableError: later'],
    ['network', ['upstream_unavailable', 'upstream_unavailable'], 'caused by: Error: reset'],
    ['unusable', ['invalid_input'], 'Send another one.'],
    ['malformed', ['malformed_output'], '{"half":[1,2]}'],
    ['strange', ['malformed_output'], 'call: [Function: call]'],
    ['defect', ['workflow_error'], 'RangeError: a defect'],
    ['wrongOutput', ['malformed_output'], '{"spins":5}'],
    ['large', ['output_too_large'], 'larger than 300000 bytes'],
    ['largeArtifact', ['output_too_large'], 'The artifact large.bin is too large.'],
    ['wholeArtifact', ['output_too_large'], 'The artifact whole.bin is too large.'],
  ])('that ends with %s fails as it would in the worker', async (mode, expected, evidence) => {
    const { jobId, record } = await done(mode);
    expect(codes(record)).toEqual(expected);
    expect(await scene.evidence(jobId)).toContain(evidence);
  });

  it('keeps the wait, the issues and the sentence of what it throws', async () => {
    const { record: retried } = await done('retryable');
    const [failed, again] = [retried.events[2], retried.events[3]];
    expect(Date.parse(again?.at ?? '') - Date.parse(failed?.at ?? '')).toBeGreaterThanOrEqual(30);
    const { record: malformed } = await done('malformed');
    expect(malformed.errors[0]?.issues).toEqual([{ path: '/half', message: 'not whole' }]);
    const { record: unusable } = await done('unusable');
    expect(unusable.errors[0]?.message).toBe('Send another one.');
  });

  it('catches an error of the model as what it was', async () => {
    expect(await outputOf('caught')).toEqual({ retryAfterMs: 40 });
    const { record } = await done('fail');
    expect(codes(record)).toEqual(['upstream_unavailable', 'upstream_unavailable']);
  });

  it('has its call of the model broken off when it is cancelled', async () => {
    const provider = await startFakeProvider({ script: [{ reply: 'silence' }] });
    const jobId = await scene.ask('ask', { labels: { url: `${provider.url}/v1` } });
    const { headers, index } = await provider.nextCall();
    expect(headers['authorization']).toBe(true);
    await scene.cancel(jobId);
    expect((await provider.callEnded(index)).closedBy).toBe('client');
    expect(codes(await scene.ended(jobId))).toEqual(['cancelled']);
    await provider.close();
  });

  it('that spins is ended at its timeout, and its neighbours and the worker never notice', async () => {
    const spinning = await scene.ask('spin', { limits: { timeoutMs: 600, maxAttempts: 1 } });
    const pid = await scene.pid(spinning);
    const beside = await Promise.all([
      scene.ask('succeed').then((jobId) => scene.ended(jobId)),
      scene.ask('succeed', {}, 'beside').then((jobId) => scene.ended(jobId)),
    ]);
    expect(beside.map(({ status }) => status)).toEqual(['completed', 'completed']);
    const record = await scene.ended(spinning);
    expect(codes(record)).toEqual(['timeout']);
    expect(record.errors[0]).toMatchObject({ limit_ms: 600 });
    expect(record.errors[0]?.elapsed_ms).toBeGreaterThanOrEqual(600 + GRACE_MS);
    await gone(pid);
  });

  it('whose schema spins is ended just so', async () => {
    const { record } = await done('spinInSchema', { limits: { timeoutMs: 300, maxAttempts: 1 } });
    expect(codes(record)).toEqual(['timeout']);
  });

  it('that ends its process spends its attempts, and the record says how', async () => {
    const { jobId, record } = await done('exit');
    expect(types(record)).toEqual(['queued', 'running', 'requeued_after_restart', 'running', 'dead_letter']);
    expect(codes(record)).toEqual(['worker_lost', 'worker_lost']);
    expect(record.errors[0]?.message).toBe('The process that ran the attempt ended before it was done.');
    expect(await scene.evidence(jobId)).toBe('The process of the attempt ended with exit code 7.');
  });

  test.each([
    ['throwLater', /ended with exit code 1/],
    ['disconnect', /ended with exit code 1/],
    ['fillHeap', /ended by SIG(ABRT|KILL).* memory/],
    ['fillBuffers', /ended by SIGKILL.* memory/],
  ])('may end its process by other means (%s)', async (mode, how) => {
    const { jobId, record } = await done(mode, { limits: { maxAttempts: 1 } });
    expect(codes(record)).toEqual(['worker_lost']);
    expect(await scene.evidence(jobId)).toMatch(how);
  });

  it('hears from its signal why it is to end, and may still fail by itself', async () => {
    const { jobId, record } = await done('heed', { limits: { timeoutMs: 200, maxAttempts: 1 } });
    expect(codes(record)).toEqual(['timeout']);
    expect(record.errors[0]?.elapsed_ms).toBeLessThan(200 + GRACE_MS);
    expect(await scene.evidence(jobId)).toBe('');
  });

  it('that is cancelled is told, and is ended by force where it does not listen', async () => {
    const spinning = await scene.ask('spin');
    const pid = await scene.pid(spinning);
    await scene.cancel(spinning);
    expect(codes(await scene.ended(spinning))).toEqual(['cancelled']);
    await gone(pid);
  });

  it('runs where another has run that left nothing behind, and nowhere else', async () => {
    const first = await outputOf('leaveContext');
    const pids = new Set<unknown>();
    for (let last = await outputOf('useContext'); ; last = await outputOf('useContext')) {
      pids.add(last['pid']);
      if (last['pid'] !== first['pid']) continue;
      expect(last).toMatchObject({ isOther: true, late: 'the attempt that asks is over' });
      break;
    }
    for (const mode of ['leaveTimer', 'leaveRejection']) {
      const { pid } = await outputOf(mode);
      await gone(Number(pid));
    }
  });
});

test('a worker that loses its session, or stops, ends what spins under it, and the job goes on elsewhere', async () => {
  const scene = await openScene();
  const worker = scene.queue.worker() as LocalWorker & { session(): string | null };
  worker.start();
  const lost = await scene.ask('spinOnce');
  const first = await scene.pid(lost);
  await scene.reap(worker.session() ?? '');
  const recovered = await scene.ended(lost);
  expect(types(recovered)).toEqual(['queued', 'running', 'requeued_after_restart', 'running', 'completed']);
  await gone(first);

  const stopped = await scene.ask('spinOnce', { limits: { maxAttempts: 1 } });
  const second = await scene.pid(stopped);
  await worker.stop();
  expect(isAlive(second)).toBe(false);
  const released = await scene.queue.record(stopped);
  expect([released.status, ...types(released)]).toEqual(['queued', 'queued', 'running', 'queued']);
  scene.queue.worker().start();
  expect(await scene.ended(stopped)).toMatchObject({ status: 'completed', attempt: 2, errors: [] });
  expect(await scene.verdict()).toBe('');
});

test('kill -9 of a worker leaves no process behind, whatever it does, and another recovers its jobs', async () => {
  const scene = await openScene({ postgres: true });
  const spinning = await scene.ask('spinOnce');
  const heeding = await scene.ask('heed', { limits: { maxAttempts: 1 } });
  const work = () => start(['work', ...flagsOf(scene)], { cwd: scene.dataDir });
  const doomed = work();
  const pids = await Promise.all([scene.pid(spinning), scene.pid(heeding)]);
  const others = await childrenOf(doomed.process.pid ?? 0);
  expect(others).toEqual(expect.arrayContaining(pids));
  doomed.process.kill('SIGKILL');
  await doomed.ended;
  await Promise.all(others.map((pid) => gone(pid)));

  const heir = work();
  expect(await scene.ended(spinning)).toMatchObject({ status: 'completed', attempt: 2 });
  expect(codes(await scene.ended(heeding))).toEqual(['worker_lost']);
  const left = await childrenOf(heir.process.pid ?? 0);
  heir.process.kill('SIGTERM');
  expect(await heir.ended).toEqual({ code: 0, signal: null });
  await Promise.all(left.map((pid) => gone(pid)));
  expect(await scene.verdict()).toBe('');
});

test('the example ends the search of a pattern that nobody could wait for', async () => {
  const module = new URL('../../examples/pattern-search.ts', import.meta.url);
  const queue = await openClaimcheck({
    dataDir: await tempDir(),
    workflows: [patternSearch],
    workflowsModule: module,
    settings: { graceMs: GRACE_MS },
  });
  queue.worker().start();
  const ask = async (pattern: string, text: string) => {
    const { job_id: jobId } = await queue.enqueue(
      patternSearch,
      { pattern, text },
      { limits: { timeoutMs: 500 } },
    );
    const { status, error } = await queue.wait(jobId);
    return error?.code ?? status;
  };
  const ends = await Promise.all([ask('a+', 'a aa b'), ask('(', ''), ask('(a+)+$', `${'a'.repeat(50)}b`)]);
  expect(ends).toEqual(['completed', 'invalid_input', 'timeout']);
  await queue.close();
});

describe('openClaimcheck refuses isolated workflows', () => {
  const open = async (workflowsModule?: string) =>
    openClaimcheck({
      dataDir: await tempDir(),
      workflows: [apart],
      ...(workflowsModule === undefined ? {} : { workflowsModule }),
    });

  async function moduleOf(source: string): Promise<string> {
    const file = join(await tempDir(), 'workflows.ts');
    await writeFile(file, source);
    return file;
  }

  it('where nobody says which module exports them', async () => {
    await expect(open()).rejects.toThrow(
      /the workflow apart asks for .*name the one that exports it as `workflowsModule`/,
    );
  });

  it('where there is no such module', async () => {
    await expect(open('/nowhere/workflows.ts')).rejects.toThrow(
      /`workflowsModule` .*\/nowhere\/workflows.ts.* does not exist/,
    );
  });

  it('where the module exports others', async () => {
    const other = `import { defineWorkflow } from 'claimcheck'; import { z } from 'zod';
      export const apart = defineWorkflow({ name: 'apart', version: '1', isolation: 'process', input: z.any(), output: z.string(), run: () => '' });`;
    await expect(open(await moduleOf(other))).rejects.toThrow(
      /no isolated process can run these workflows: its module exports no workflow apart version 1 with this output schema/,
    );
  });

  it('where the module itself opens a queue', async () => {
    const opening = `import { openClaimcheck } from 'claimcheck';
      export const queue = await openClaimcheck({ dataDir: '/nowhere', workflows: [] });`;
    await expect(open(await moduleOf(opening))).rejects.toThrow(
      /keep workflows in a module that opens nothing/,
    );
  });
});
