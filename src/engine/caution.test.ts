import { expect, it } from 'vitest';
import { manualClock } from '../testkit/manual-clock.ts';
import { createCaution } from './caution.ts';

const RETRIED = { used: 2 };

it('after a crash the jobs that were lost run one at a time, until as many have ended', () => {
  const caution = createCaution({ clock: manualClock(), full: 100, crash: { suspects: 2, again: true } });
  expect(caution.width()).toBe(1);
  caution.ended({ used: 1 }); // a fresh job is none of them
  caution.ended(RETRIED);
  expect(caution.width()).toBe(1);
  caution.ended(RETRIED);
  expect(caution.width()).toBe(100);
});

it('after a first crash, a worker that lives for some seconds dares more each second', async () => {
  const clock = manualClock();
  const caution = createCaution({ clock, full: 100, crash: { suspects: 50, again: false } });
  await clock.advance(4999);
  expect(caution.width()).toBe(1);
  await clock.advance(1);
  expect(caution.width()).toBe(2);
  await clock.advance(2000);
  expect(caution.width()).toBe(8);
  await clock.advance(60_000);
  expect(caution.width()).toBe(100);
});

it('after a second one it keeps to one at a time for a minute', async () => {
  const clock = manualClock();
  const caution = createCaution({ clock, full: 100, crash: { suspects: 50, again: true } });
  await clock.advance(59_999);
  expect(caution.width()).toBe(1);
  await clock.advance(10_001);
  expect(caution.width()).toBe(100);
});

it('a claim that brings nothing ends it: none of the lost waits any more', () => {
  const caution = createCaution({ clock: manualClock(), full: 100, crash: { suspects: 50, again: true } });
  caution.idle();
  expect(caution.width()).toBe(100);
});

it('a worker that follows no crash holds as many as it has slots', () => {
  expect(createCaution({ clock: manualClock(), full: 100, crash: null }).width()).toBe(100);
});
