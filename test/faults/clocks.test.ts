/**
 * Machines whose wall clock is an hour off, or is set while they work. Whatever is due, leased or dead is so by the database's
 * clock, which here is the one of the test.
 */
import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { systemClock } from '../../src/engine/system-clock.ts';
import type { JsonValue } from '../../src/domain/json.ts';
import type { Job } from '../../src/domain/record.ts';
import { gate } from '../support/claimcheck.ts';
import { LEASE_MS, openScene } from './scene.ts';
import type { Asked, Scene } from './scene.ts';
import { startWitness } from './witness.ts';

const HOUR_MS = 3_600_000;
/** What a busy machine may take on top; an hour it is not. */
const A_WHILE_MS = 20_000;
const typesOf = (job: Job) => job.events.map((event) => event.type);

/** Every instant of the record that is set lies within the test, by its own clock. */
function expectTimesSince(start: number, job: Job): void {
  const { createdAt, updatedAt, startedAt, finishedAt, events, errors } = job;
  const instants = [createdAt, updatedAt, startedAt ?? start, finishedAt ?? start];
  for (const at of [...instants, ...[...events, ...errors].map((one) => one.at)]) {
    expect(at).toBeGreaterThanOrEqual(start);
    expect(at).toBeLessThanOrEqual(Date.now());
  }
}

const DEADLINE_MS = 500;

/** The jobs of one test of a machine whose clock is off, handed in through that machine. */
async function handIn(by: (input: JsonValue, asked?: Asked) => Promise<string>) {
  const runAt = Date.now() + 1.5 * LEASE_MS;
  return {
    runAt,
    long: await by({ mode: 'slow', ms: 2.5 * LEASE_MS }),
    later: await by({ mode: 'success' }, { runAt }),
    late: await by({ mode: 'slow', ms: 60_000 }, { limits: { deadlineMs: DEADLINE_MS } }),
    again: await by({ mode: 'flaky', fail_times: 1 }),
  };
}

type Handed = Awaited<ReturnType<typeof handIn>>;

async function expectTimely(scene: Scene, handed: Handed, start: number): Promise<void> {
  const [long, later, late, again] = [
    await scene.ended(handed.long),
    await scene.ended(handed.later),
    await scene.ended(handed.late),
    await scene.ended(handed.again),
  ];
  // The first ran for longer than a lease, and nobody took it away.
  const ends = [long, later, late, again].map(({ status, errors }) => [
    status,
    ...errors.map(({ code }) => code),
  ]);
  expect(ends).toEqual([
    ['completed'],
    ['completed'],
    ['dead_letter', 'deadline_exceeded'],
    ['completed', 'upstream_unavailable'],
  ]);
  expect(later.startedAt).toBeGreaterThanOrEqual(handed.runAt);
  expect(later.startedAt).toBeLessThan(handed.runAt + A_WHILE_MS);
  expect(late.limits.deadlineAt - late.createdAt).toBe(DEADLINE_MS);
  expect(late.finishedAt).toBeGreaterThanOrEqual(late.limits.deadlineAt);
  expect(late.finishedAt).toBeLessThan(late.limits.deadlineAt + A_WHILE_MS);
  for (const job of [long, later, late, again]) expectTimesSince(start, job);
}

/** One machine with a clock of its own: an API, a sweeper (the only one) and a worker, which dies in the end. */
async function workOnClock(offMs: number, laterOffMs: number): Promise<void> {
  const start = Date.now();
  const scene = await openScene();
  let ms = offMs;
  const odd = await scene.open({ clock: { ...systemClock, now: () => Date.now() + ms } });
  const worker = odd.createWorker();
  odd.sweeper.start();
  worker.start();
  const handed = await handIn((input, asked) => scene.enqueue('demo', input, asked, odd));
  ms = laterOffMs;
  await expectTimely(scene, handed, start);

  const held = gate();
  const witness = await startWitness(({ attempt }) => (attempt === 1 ? held.opened : undefined));
  const lost = await scene.enqueue('deed', { witness: witness.url }, {}, odd);
  await witness.heard(lost, 1, 'started');
  const diedAt = Date.now();
  worker.kill();
  const heir = odd.createWorker();
  heir.start();
  const job = await scene.ended(lost);
  await heir.stop();
  held.open();
  expect(typesOf(job)).toEqual(['queued', 'running', 'requeued_after_restart', 'running', 'completed']);
  // A heartbeat before the lease's end at the earliest, a sweep or two after it at the latest.
  const lostAt = job.events[2]!.at - diedAt;
  expect(lostAt).toBeGreaterThan(LEASE_MS / 2);
  expect(lostAt).toBeLessThan(A_WHILE_MS);
  expectTimesSince(start, job);
  expect(await scene.verdict()).toBe('');
}

it('machines whose clocks are off, or set while they work, start, end and recover every job when the database says', async () => {
  await Promise.all([
    workOnClock(HOUR_MS, HOUR_MS),
    workOnClock(-HOUR_MS, -HOUR_MS),
    workOnClock(-HOUR_MS, HOUR_MS),
    workOnClock(0, -HOUR_MS),
  ]);
});

/** The program of Debian's package of that name. */
const FAKE_TIME = 'faketime';

/** What makes a process see the time `hours` off, by the program `faketime`; null where there is none. */
function fakeTime(hours: number): Record<string, string> | null {
  const FAKETIME = `${hours > 0 ? '+' : ''}${hours}h`;
  try {
    const args = ['-m', '-f', FAKETIME, 'printenv', 'LD_PRELOAD'];
    const library = execFileSync(FAKE_TIME, args, { stdio: 'pipe', encoding: 'utf8' });
    return { LD_PRELOAD: library.trim(), FAKETIME, FAKETIME_DONT_FAKE_MONOTONIC: '1' };
  } catch {
    return null;
  }
}

it('processes an hour ahead and an hour behind work on one queue as if their clocks were right', async ({
  skip,
}) => {
  const [ahead, behind] = [fakeTime(1), fakeTime(-1)];
  if (ahead === null || behind === null) return skip('the program faketime is not installed');
  const start = Date.now();
  const scene = await openScene();
  const server = await scene.serve(['--no-worker'], { env: ahead });
  const workers = [ahead, behind].map((env) => scene.work({ env }));
  await Promise.all(workers.map((worker) => worker.printed(/A worker runs/)));
  const handed = await handIn(async (input, { runAt, limits } = {}) => {
    const body = {
      workflow: 'demo',
      input,
      ...(runAt === undefined ? {} : { run_at: new Date(runAt).toISOString() }),
      ...(limits?.deadlineMs === undefined ? {} : { limits: { deadline_ms: limits.deadlineMs } }),
    };
    const { json } = await server.ask('/ai-jobs', body);
    return scene.accepted(input, String(json['job_id']));
  });
  await expectTimely(scene, handed, start);
  for (const { process } of [server, ...workers]) process.kill('SIGTERM');
  for (const { ended } of [server, ...workers]) expect(await ended).toMatchObject({ code: 0 });
  expect(await scene.verdict()).toBe('');
});
