import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineWorkflow, openClaimcheck, RetryableError } from '../index.ts';
import { manualClock } from './manual-clock.ts';

describe('a manual clock', () => {
  test('stands still by itself and moves both times together', async () => {
    const clock = manualClock(1000);
    expect([clock.now(), clock.monotonicMs()]).toEqual([1000, 0]);
    await clock.advance(50);
    expect([clock.now(), clock.monotonicMs()]).toEqual([1050, 50]);
  });

  test('fires timers in order of their time, each at its time, equal ones as they were set', async () => {
    const clock = manualClock(0);
    const fired: string[] = [];
    const note = (name: string) => () => void fired.push(`${name}@${clock.now()}`);
    clock.after(30, note('late'));
    clock.after(10, note('early'));
    clock.after(30, note('later'));
    clock.after(31, note('never'));
    await clock.advance(30);
    expect(fired).toEqual(['early@10', 'late@30', 'later@30']);
    expect(clock.waiting()).toBe(1);
  });

  test('lets what a timer settled run before the next timer, also where that sets another', async () => {
    const clock = manualClock(0);
    const wait = (ms: number) => new Promise<void>((resolve) => void clock.after(ms, resolve));
    const seen: number[] = [];
    const walk = async () => {
      for (let step = 0; step < 3; step += 1) {
        await wait(10);
        seen.push(clock.now());
      }
    };
    const walked = walk();
    await clock.advance(35);
    await walked;
    expect(seen).toEqual([10, 20, 30]);
    expect(clock.now()).toBe(35);
  });

  test('does not fire a timer that was cancelled', async () => {
    const clock = manualClock();
    let fired = false;
    const cancel = clock.after(5, () => (fired = true));
    cancel();
    await clock.advance(10);
    expect(fired).toBe(false);
  });

  test('jumps its wall clock without a timer noticing', async () => {
    const clock = manualClock(0);
    let fired = false;
    clock.after(5, () => (fired = true));
    clock.jump(3_600_000);
    await clock.advance(4);
    expect([clock.now(), clock.monotonicMs(), fired]).toEqual([3_600_004, 4, false]);
  });

  test('gives a `now` that works when it is passed on alone', () => {
    const { now } = manualClock(7);
    expect(now()).toBe(7);
  });
});

test('a queue that is given the clock waits a retry of ten minutes in no time, and not a minute less', async () => {
  const clock = manualClock();
  const dataDir = await mkdtemp(join(tmpdir(), 'claimcheck-clock-'));
  const workflow = defineWorkflow({
    name: 'patient',
    version: '1',
    input: z.null(),
    output: z.object({ attempt: z.number() }),
    run({ attempt }) {
      if (attempt === 1) throw new RetryableError('in ten minutes', { retryAfterMs: 600_000 });
      return { attempt };
    },
  });
  const queue = await openClaimcheck({ dataDir, workflows: [workflow], clock });
  const { job_id: jobId } = await queue.enqueue(workflow, null);
  queue.worker().start();
  while ((await queue.status(jobId)).status !== 'completed') await clock.advance(1000);
  const { events, errors } = await queue.record(jobId);
  expect(errors.map((error) => error.code)).toEqual(['upstream_unavailable']);
  const [failed, again] = [events[2]!, events[3]!];
  expect(Date.parse(again.at) - Date.parse(failed.at)).toBeGreaterThanOrEqual(600_000);
  expect(Date.parse(again.at) - Date.parse(failed.at)).toBeLessThan(660_000);
  const closed = queue.close();
  while (clock.waiting() > 0) await clock.advance(1000);
  await closed;
  await rm(dataDir, { recursive: true, force: true });
});
