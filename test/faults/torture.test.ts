/** Short here; `npm run torture -- --minutes 10` is the long one, and restarts the database as well. */
import { expect, onTestFinished, test } from 'vitest';
import { report } from '../../src/testkit/checker/checker.ts';
import { postgresGround, sqliteGround } from '../../src/testkit/crash/ground.ts';
import type { Ground } from '../../src/testkit/crash/ground.ts';
import { torture } from '../../src/testkit/crash/torture.ts';
import { BIN, tempDir } from '../cli/run.ts';
import { databaseUrl, dropSchema, newSchema } from '../postgres/database.ts';

interface Size {
  apis: number;
  workers: number;
  ms: number;
}

/** What the blows meet is up to the machine: where they took no job from a worker, there is another round. */
const ROUNDS = 3;

async function holds(arena: () => { ground: Ground; dataDir: string }, size: Size): Promise<void> {
  for (let seed = 1; ; seed += 1) {
    const recovered = await round(arena(), { ...size, seed });
    if (recovered > 0) return;
    expect(seed).toBeLessThan(ROUNDS);
  }
}

/** @returns how many jobs were taken from a worker and given to another */
async function round(
  arena: { ground: Ground; dataDir: string },
  size: Size & { seed: number },
): Promise<number> {
  const options = { bin: BIN, env: process.env, say: () => {} };
  const { violations, problems, ...counts } = await torture({ ...options, ...arena, ...size });
  expect(report(violations)).toBe('');
  expect(problems).toEqual([]);
  // it did what it is for
  const { kill = 0, kill_two: twice = 0 } = counts.blows;
  expect(kill + twice).toBeGreaterThan(2);
  expect(counts.acknowledged).toBeGreaterThan(0); // how many is the speed of the machine
  expect(counts.completed).toBeGreaterThan(0);
  expect(counts.settlements).toBeGreaterThan(0);
  return counts.recovered;
}

test('eight processes on one PostgreSQL are killed, paused and cut off, and every invariant holds', async () => {
  const url = await databaseUrl();
  const arena = () => {
    const schema = newSchema();
    onTestFinished(async () => void (await dropSchema(schema)));
    return { ground: postgresGround(url, schema), dataDir: tempDir() };
  };
  await holds(arena, { apis: 3, workers: 5, ms: 10_000 });
}, 180_000);

test('an API and two workers on one SQLite file are killed and paused, and every invariant holds', async () => {
  const arena = () => {
    const dataDir = tempDir();
    return { ground: sqliteGround(dataDir), dataDir };
  };
  await holds(arena, { apis: 1, workers: 2, ms: 6000 });
}, 180_000);
