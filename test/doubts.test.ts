/** The reconciliation hook, on the real store, with a clock that the test moves. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { createDoubts } from '../src/engine/doubts.ts';
import type { DoubtfulCall, Reconcile } from '../src/engine/doubts.ts';
import { openParts } from '../src/main/open.ts';
import type { Log } from '../src/ports/telemetry.ts';
import { manualClock } from '../src/testkit/manual-clock.ts';
import { CENT, claimNext } from './support/calls.ts';

const paid = { name: 'paid', version: '1', input: z.unknown(), output: z.unknown(), run: () => null };
const CALLER = { tenant: 'default', actor: 'local:test' };

async function open(reconcile: Reconcile) {
  const dataDir = mkdtempSync(join(tmpdir(), 'claimcheck-doubts-'));
  const lines: { fields: Record<string, unknown>; message: string }[] = [];
  const write = (fields: object, message: string) =>
    void lines.push({ fields: fields as Record<string, unknown>, message });
  const log: Log = { debug: write, info: write, warn: write, error: write, child: () => log };
  const parts = await openParts({
    dataDir,
    workflows: [paid],
    model: null,
    telemetry: { log, moved: () => {} },
  });
  const clock = manualClock();
  const { ledger } = parts.store;
  // what the clock is moved by waits for the store, too
  let rounds = 0;
  const watched = {
    ...ledger,
    unknownCalls: async (params: { limit: number }) => {
      const found = await ledger.unknownCalls(params);
      rounds += 1;
      return found;
    },
  };
  const doubts = createDoubts({ ledger: watched, reconcile, clock, log });
  onTestFinished(async () => {
    doubts.stop();
    await parts.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  async function pass(ms: number): Promise<void> {
    const before = rounds;
    await clock.advance(ms);
    await expect.poll(() => rounds).toBeGreaterThan(before);
    await expect.poll(() => clock.waiting()).toBe(1); // the round is over
  }

  /** A job of so many calls that its killed attempt left open. */
  async function doubtful(calls: number): Promise<string> {
    const { ok: accepted, value } = (await parts.engine.enqueue(CALLER, { workflow: 'paid' })) as {
      ok: true;
      value: { jobId: string };
    };
    expect(accepted).toBe(true);
    const attempt = await claimNext(parts);
    for (let n = 1; n <= calls; n += 1) await attempt.begin(CENT);
    await attempt.fail({ code: 'workflow_error' });
    return value.jobId;
  }

  async function job(jobId: string) {
    const found = await parts.store.jobs.job({ tenant: 'default', jobId });
    if (found === null) throw new Error('no such job');
    return found;
  }

  async function start(): Promise<void> {
    doubts.start();
    await expect.poll(() => rounds).toBe(1);
    await expect.poll(() => clock.waiting()).toBe(1);
  }

  return { clock, lines, start, pass, doubtful, job };
}

it('asks for calls in doubt, the oldest first and a few at a time, and settles what is known', async () => {
  const asked: DoubtfulCall[] = [];
  const world = await open((call) => {
    asked.push(call);
    return { costUsd: 0.004 };
  });
  const id = await world.doubtful(7);
  await world.start();
  expect(asked.map(({ n }) => n)).toEqual([1, 2, 3, 4, 5]);
  expect(asked[0]).toMatchObject({ job_id: id, workflow: 'paid', billing: 'unknown', reserved_usd: 0.01 });
  await world.pass(5_000);
  expect(asked.map(({ n }) => n)).toEqual([1, 2, 3, 4, 5, 6, 7]);
  const { calls, spending } = await world.job(id);
  expect(spending).toEqual({ limit: null, spent: 28_000_000, reserved: 0 });
  expect(calls[0]).toMatchObject({ billing: 'settled', settledBy: { actor: 'reconcile' } });
  await world.pass(5_000);
  expect(asked).toHaveLength(7);
});

it('asks again later about what is not known yet, so that the next ones have their turn', async () => {
  const asked: number[] = [];
  const world = await open(({ n }) => {
    asked.push(n);
    return null;
  });
  await world.doubtful(6);
  await world.start();
  await world.pass(5_000);
  await world.pass(5_000);
  expect(asked).toEqual([1, 2, 3, 4, 5, 6]);
  await world.pass(300_000);
  expect(asked.slice(6, 11)).toEqual([1, 2, 3, 4, 5]);
});

it('a hook that fails, gives no amount or never answers costs that call its turn, and the log has no word of it', async () => {
  const answers = [
    () => Promise.reject(new RangeError('a secret')),
    () => ({ costUsd: -1 }),
    () => new Promise<never>(() => {}),
    () => ({ costUsd: 0 }),
  ];
  const world = await open(({ n }) => answers[n - 1]!());
  const id = await world.doubtful(4);
  await world.start();
  await expect.poll(() => world.lines.filter(({ message }) => message.includes('hook')).length).toBe(2);
  // it waits for the third's answer
  await world.clock.advance(30_000);
  await expect
    .poll(async () => (await world.job(id)).calls.map(({ billing }) => billing))
    .toEqual(['unknown', 'unknown', 'unknown', 'settled']);
  const told = world.lines.filter(({ message }) => message.includes('hook'));
  expect(told.map(({ fields }) => fields['error_name'] ?? 'no amount')).toEqual([
    'RangeError',
    'no amount',
    'NoAnswerError',
  ]);
  expect(JSON.stringify(world.lines)).not.toContain('secret');
});
