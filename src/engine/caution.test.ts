import { expect, it } from 'vitest';
import { manualClock } from '../testkit/manual-clock.ts';
import { createCaution } from './caution.ts';

const LOST_ONCE = { suspicion: 1 } as const;
const LOST_AGAIN = { suspicion: 2 } as const;

function cautious(full = 100) {
  const clock = manualClock();
  const caution = createCaution({ clock, full });
  /** Claims as a worker does, until no more is allowed. */
  const fill = (job: typeof LOST_ONCE | typeof LOST_AGAIN) => {
    let begun = 0;
    for (; caution.allowed()[job.suspicion] > 0; begun += 1) caution.began(job);
    return begun;
  };
  return { clock, caution, fill };
}

it('of jobs that were lost once a worker holds ten, of those that were lost again one, and begins them one by one', () => {
  const { caution, fill } = cautious();
  expect(caution.allowed()).toEqual({ 1: 1, 2: 1 });
  expect([fill(LOST_ONCE), fill(LOST_AGAIN)]).toEqual([10, 1]);
  expect(caution.allowed()).toEqual({ 1: 0, 2: 0 });
  caution.ended(LOST_AGAIN);
  expect(caution.allowed()).toEqual({ 1: 0, 2: 1 });
});

it('jobs that were never lost do not count', () => {
  const { caution, fill } = cautious();
  for (let job = 0; job < 20; job += 1) caution.began({ suspicion: 0 });
  expect(fill(LOST_ONCE)).toBe(10);
});

it('a worker that lives with suspects for five seconds dares twice as many each second, up to its slots', async () => {
  const { clock, fill } = cautious();
  fill(LOST_AGAIN);
  await clock.advance(4999);
  expect(fill(LOST_AGAIN)).toBe(0);
  await clock.advance(1);
  expect(fill(LOST_AGAIN)).toBe(1);
  await clock.advance(2000);
  expect(fill(LOST_AGAIN)).toBe(6);
  await clock.advance(60_000);
  expect(fill(LOST_AGAIN)).toBe(92);
});

it('what it dared is forgotten some seconds after the last of them', async () => {
  const { clock, caution, fill } = cautious();
  fill(LOST_AGAIN);
  await clock.advance(8000);
  caution.ended(LOST_AGAIN);
  await clock.advance(5000);
  expect(fill(LOST_AGAIN)).toBeGreaterThan(1);
  for (let job = 0; job < 100; job += 1) caution.ended(LOST_AGAIN);
  await clock.advance(5001);
  expect(fill(LOST_AGAIN)).toBe(1);
});
