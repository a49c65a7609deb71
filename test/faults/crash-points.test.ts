/**
 * At every crash point of the engine a real process ends itself with SIGKILL, while it does what leads there. Others go on,
 * and the record says what has to be true after a death at this very moment.
 *
 * Workers that are to die take one job each, whichever it is: what became of it is found by the worker's name in its history.
 */
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { openFileBlobs } from '../../src/blobs/file-blobs.ts';
import type { Job } from '../../src/domain/record.ts';
import { CRASH_POINTS } from '../../src/engine/crash-points.ts';
import { report } from '../../src/testkit/checker/checker.ts';
import { readJobs } from '../../src/testkit/checker/history.ts';
import { readAttemptLogs } from '../../src/testkit/crash/attempt-logs.ts';
import { postgresGround, sqliteGround } from '../../src/testkit/crash/ground.ts';
import type { Ground } from '../../src/testkit/crash/ground.ts';
import { drained, judge } from '../../src/testkit/crash/judge.ts';
import { tempDir } from '../cli/run.ts';
import { databaseUrl, dropSchema, newSchema } from '../postgres/database.ts';
import { DEEDS } from './crash-deeds.ts';
import type { Deed } from './crash-deeds.ts';
import { LEASE_MS, openApp, openScene } from './crash-scene.ts';
import type { Death, Scene } from './crash-scene.ts';

interface Case extends Death {
  /** What leads there. */
  by: Deed;
  /**
   * What it left behind. Of a request: the history of its job when all is over. Of an attempt: the event that ended it. Of a sweep:
   * the state of the job of a dead worker, at once.
   */
  left: string;
}

const LOST = 'requeued_after_restart';
const RUN = 'queued running completed';
const CANCELLED = 'queued cancel_requested dead_letter';

const CASES: readonly Case[] = [
  { point: 'reconcile.before', by: 'doubt', left: 'cancel_requested' },
  { point: 'reconcile.committed', by: 'doubt', left: 'cancel_requested' },
  { point: 'sweep.before', by: 'sweep', times: 2, left: 'running' },
  { point: 'sweep.committed', by: 'sweep', left: 'queued' },
  { point: 'claim.before', by: 'attempt', left: 'nothing' },
  { point: 'claim.committed', by: 'attempt', left: LOST },
  { point: 'attempt.starting', by: 'attempt', left: LOST },
  { point: 'attempt.returned', by: 'attempt', left: LOST },
  { point: 'attempt.kept', by: 'attempt', left: LOST },
  { point: 'settle.before', by: 'attempt', left: LOST },
  { point: 'settle.committed', by: 'attempt', left: 'completed' },
  { point: 'renew.before', by: 'attempt', times: 3, left: LOST },
  { point: 'renew.committed', by: 'attempt', times: 3, left: LOST },
  { point: 'release.before', by: 'stop', left: LOST },
  { point: 'release.committed', by: 'stop', left: 'queued' },
  { point: 'reap.before', by: 'serve', left: LOST },
  { point: 'reap.committed', by: 'serve', left: LOST },
  { point: 'intake.before', by: 'create', left: 'nothing' },
  { point: 'intake.committed', by: 'create', left: RUN },
  { point: 'act.before', by: 'cancel', left: RUN },
  { point: 'act.committed', by: 'cancel', left: CANCELLED },
  { point: 'act.before', by: 'replay', left: CANCELLED },
  { point: 'act.committed', by: 'replay', left: `${CANCELLED} ${RUN}` },
];

/** Who sweeps or is cut off must be alone, and what clients hand in is for those who go on. The others die side by side. */
const PHASES: readonly { deeds: readonly Deed[]; atOnce: number }[] = [
  { deeds: ['doubt'], atOnce: 1 },
  { deeds: ['sweep'], atOnce: 1 },
  { deeds: ['serve', 'attempt', 'stop'], atOnce: 6 },
  { deeds: ['create', 'cancel', 'replay'], atOnce: 6 },
];

const DRAIN_MS = 20_000;

function nameOf({ point, by }: Case): string {
  return `${point} by ${by}`;
}

interface Fate {
  died: NodeJS.Signals;
  left: string;
}

/** Everybody dies; then others go on, and everything is read. */
async function fatesOf(ground: Ground, dataDir: string, cases: readonly Case[]) {
  const scene = await openScene(ground, dataDir);
  const dead = new Map<Case, Awaited<ReturnType<(typeof DEEDS)[Deed]>>>();
  for (const { deeds, atOnce } of PHASES) {
    const waiting = cases.filter(({ by }) => deeds.includes(by));
    const die = async () => {
      for (let one = waiting.shift(); one !== undefined; one = waiting.shift())
        dead.set(one, await DEEDS[one.by](scene, one));
    };
    await Promise.all(Array.from({ length: atOnce }, die));
  }
  const jobs = await goOn(scene);
  const fates = [...dead].map(([one, { died, left }]): [string, Fate] => [
    nameOf(one),
    { died, left: left(jobs) },
  ]);
  return Object.fromEntries(fates);
}

/** Another process does what is left, and the checker reads it all. */
async function goOn({ ground, dataDir, store, clients, attemptLogs }: Scene): Promise<readonly Job[]> {
  const quietSince = Date.now();
  const survivor = await openApp(ground, dataDir);
  survivor.worker().start();
  expect(await drained(store, DRAIN_MS)).toBe(true);
  const blobs = await openFileBlobs({ dir: join(dataDir, 'blobs') });
  const workers = await readAttemptLogs(attemptLogs);
  expect(workers.claims.length).toBeGreaterThan(0);
  const { violations } = await judge({ store, blobs, clients, workers, quietSince, leaseMs: LEASE_MS });
  expect(report(violations)).toBe('');
  return (await readJobs(store, 'default')).jobs;
}

function expected(cases: readonly Case[]): Record<string, Fate> {
  return Object.fromEntries(cases.map((one) => [nameOf(one), { died: 'SIGKILL', left: one.left }]));
}

it('every crash point has a case', () => {
  const points = new Set<string>(CASES.map(({ point }) => point));
  expect([...points].toSorted()).toEqual(Object.keys(CRASH_POINTS).toSorted());
});

it('a process dies at each crash point, others go on, and nothing is lost or done twice: PostgreSQL', async () => {
  const schema = newSchema();
  onTestFinished(async () => void (await dropSchema(schema)));
  const ground = postgresGround(await databaseUrl(), schema);
  expect(await fatesOf(ground, tempDir(), CASES)).toEqual(expected(CASES));
}, 90_000);

it('and on SQLite, at those around its writes', async () => {
  const dataDir = tempDir();
  const points = ['intake.committed', 'claim.committed', 'attempt.kept', 'settle.committed'];
  const cases = CASES.filter(({ point }) => points.includes(point));
  expect(await fatesOf(sqliteGround(dataDir), dataDir, cases)).toEqual(expected(cases));
}, 90_000);
