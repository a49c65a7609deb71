import { expect, test } from 'vitest';
import { createRestarts } from './restarts.ts';

test('the wait doubles from 100 ms to ten seconds', () => {
  const restarts = createRestarts();
  const waits = Array.from({ length: 9 }, (_, index) => restarts.next(index * 100_000, 50).delayMs);
  expect(waits).toEqual([100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
});

test('a worker that lived for half a minute starts the count afresh', () => {
  const restarts = createRestarts();
  restarts.next(0, 50);
  restarts.next(1_000, 50);
  expect(restarts.next(40_000, 30_000).delayMs).toBe(100);
});

test('five ends within a minute are told as a loop, once, and again after a healthy life', () => {
  const restarts = createRestarts();
  const loops = (at: number, livedMs = 50) => restarts.next(at, livedMs).isLoop;
  expect([0, 1, 2, 3, 4, 5, 6].map((second) => loops(second * 1_000))).toEqual(
    Array.from({ length: 7 }, (_, index) => index === 4),
  );
  expect(loops(100_000, 30_000)).toBe(false);
  expect([101, 102, 103, 104].map((second) => loops(second * 1_000))).toEqual([false, false, false, true]);
});

test('five ends spread over more than a minute are no loop', () => {
  const restarts = createRestarts();
  expect([0, 16, 32, 48, 64, 80].map((second) => restarts.next(second * 1_000, 50).isLoop)).not.toContain(
    true,
  );
});
