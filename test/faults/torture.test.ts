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

async function holds(ground: Ground, dataDir: string, size: Size): Promise<void> {
  const options = { bin: BIN, env: process.env, seed: 1, say: () => {} };
  const { violations, problems, ...counts } = await torture({ ...options, ground, dataDir, ...size });
  expect(report(violations)).toBe('');
  expect(problems).toEqual([]);
  // it did what it is for
  const { kill = 0, kill_two: twice = 0 } = counts.blows;
  expect(kill + twice).toBeGreaterThan(2);
  expect(counts.acknowledged).toBeGreaterThan(0); // how many is the speed of the machine
  expect(counts.completed).toBeGreaterThan(0);
  expect(counts.recovered).toBeGreaterThan(0);
  expect(counts.settlements).toBeGreaterThan(0);
}

test('eight processes on one PostgreSQL are killed, paused and cut off, and every invariant holds', async () => {
  const schema = newSchema();
  onTestFinished(async () => void (await dropSchema(schema)));
  const ground = postgresGround(await databaseUrl(), schema);
  await holds(ground, tempDir(), { apis: 3, workers: 5, ms: 10_000 });
}, 120_000);

test('an API and two workers on one SQLite file are killed and paused, and every invariant holds', async () => {
  const dataDir = tempDir();
  await holds(sqliteGround(dataDir), dataDir, { apis: 1, workers: 2, ms: 6000 });
}, 120_000);
