/** Short here; `node scripts/crash-loop.mjs --seconds 600` is the long one. */
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { report } from '../src/testkit/checker/checker.ts';
import { crashLoop } from '../src/testkit/crash/crash-loop.ts';

test('every acknowledged job survives kill -9 of the API and of the worker, and every invariant holds', async () => {
  const result = await crashLoop({
    bin: fileURLToPath(new URL('../bin/claimcheck', import.meta.url)),
    ms: 15_000,
    seed: 1,
    env: process.env,
    say: () => {},
  });
  expect(report(result.violations)).toBe('');
  expect(result.problems).toEqual([]);
  // the loop did what it is for
  expect(result.kills).toBeGreaterThan(3);
  expect(result.acknowledged).toBeGreaterThanOrEqual(50);
  expect(result.completed).toBeGreaterThan(0);
  expect(result.recovered).toBeGreaterThan(0);
}, 120_000);
