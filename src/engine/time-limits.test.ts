import { expect, it } from 'vitest';
import { manualClock } from '../testkit/manual-clock.ts';
import { createTimeLimits } from './time-limits.ts';

function scene() {
  const clock = manualClock();
  const limits = createTimeLimits(clock);
  const over: string[] = [];
  const add = (name: string, ms: number) => {
    const one = {
      overAtMs: clock.monotonicMs() + ms,
      timeIsUp: () => void over.push(`${name} ${clock.monotonicMs()}`),
    };
    limits.add(one);
    return one;
  };
  return { clock, limits, over, add };
}

it('ends each when its time is up, whatever the order they came in', async () => {
  const { clock, over, add } = scene();
  add('late', 300);
  add('early', 100);
  await clock.advance(50);
  add('between', 100);
  await clock.advance(1000);
  expect(over).toEqual(['early 100', 'between 150', 'late 300']);
});

it('says nothing of what was removed, and goes on with the others', async () => {
  const { clock, limits, over, add } = scene();
  limits.remove(add('gone', 100));
  add('late', 200);
  await clock.advance(1000);
  expect(over).toEqual(['late 200']);
  add('again', 100);
  await clock.advance(1000);
  expect(over).toEqual(['late 200', 'again 1100']);
});

it('has one timer, however many there are', () => {
  const { clock, add } = scene();
  for (let n = 0; n < 100; n += 1) add(`${n}`, 1000 + n);
  expect(clock.waiting()).toBe(1);
});

it('looks at most so often where limits are over one right after the other, and ends none of them early', async () => {
  const { clock, over, add } = scene();
  for (const ms of [100, 102, 103, 120]) add(`${ms}`, ms);
  await clock.advance(1000);
  expect(over).toEqual(['100 100', '102 105', '103 105', '120 120']);
});

it('ends what is added while others end', async () => {
  const { clock, limits, over, add } = scene();
  limits.add({ overAtMs: 100, timeIsUp: () => void add('next', 50) });
  add('late', 500);
  await clock.advance(1000);
  expect(over).toEqual(['next 150', 'late 500']);
});
