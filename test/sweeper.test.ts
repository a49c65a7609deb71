import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { defineWorkflow } from '../src/index.ts';
import { openParts } from '../src/main/open.ts';
import { createTelemetry } from '../src/main/telemetry.ts';
import { manualClock } from '../src/testkit/manual-clock.ts';
import { gate, tempDir } from './support/claimcheck.ts';

const LEASE_MS = 1000;
const CALLER = { tenant: 'default', actor: 'local:test' };

/** A worker with a job under way, on a clock that only the test moves. */
async function underWay() {
  const clock = manualClock();
  const [running, ended] = [gate(), gate<string>()];
  const endless = defineWorkflow({
    name: 'endless',
    version: '1',
    input: z.undefined(),
    output: z.string(),
    run: async ({ signal }) => {
      running.open();
      signal.addEventListener('abort', () => ended.open((signal.reason as { ending: string }).ending));
      return await ended.opened;
    },
  });
  const dataDir = await tempDir();
  const telemetry = createTelemetry({ level: 'silent', process: 'test' });
  const open = () =>
    openParts({
      dataDir,
      workflows: [endless],
      model: null,
      telemetry,
      clock,
      settings: { leaseMs: LEASE_MS },
    });
  const [workerSide, sweeperSide] = [await open(), await open()];
  const worker = workerSide.createWorker();
  onTestFinished(async () => {
    worker.kill();
    await Promise.all([workerSide.store.close(), sweeperSide.store.close()]);
  });
  worker.start();
  const ticket = await workerSide.engine.enqueue(CALLER, { workflow: 'endless' });
  const jobId = ticket.ok ? ticket.value.jobId : '';
  while (worker.slotsTaken() === 0) await clock.advance(10);
  await running.opened;
  const view = async () => {
    const job = await sweeperSide.engine.job(CALLER, jobId);
    return job.ok
      ? { status: job.value.status, attempt: job.value.attempt, until: job.value.lease?.until ?? 0 }
      : null;
  };
  const session = worker.session() ?? '';
  /** The worker keeps still, as if it could not reach the store, while the clock goes on. */
  const silence = () => worker.kill();
  return {
    clock,
    sweeper: sweeperSide.sweeper,
    store: sweeperSide.store.jobs,
    session,
    view,
    silence,
    ended,
  };
}

it('a silent session is reaped only after the sweeper has itself seen the store for one lease', async () => {
  const { clock, sweeper, view, silence } = await underWay();
  silence();
  await clock.advance(10 * LEASE_MS); // the store was away for everybody: nobody swept, nobody renewed
  expect((await view())?.until).toBeLessThan(clock.now());
  sweeper.start();
  for (let step = 0; step < 9; step += 1) {
    await clock.advance(LEASE_MS / 10);
    expect(await view()).toMatchObject({ status: 'running', attempt: 1 });
  }
  for (let step = 0; step < 10; step += 1) await clock.advance(LEASE_MS / 10);
  expect(await view()).toMatchObject({ status: 'queued', attempt: 1 });
});

it('a session that renews within that lease keeps its jobs, though it had expired long ago', async () => {
  const { clock, sweeper, store, session, view, silence } = await underWay();
  silence();
  await clock.advance(10 * LEASE_MS);
  sweeper.start();
  await clock.advance(LEASE_MS / 2);
  expect(await store.renew({ session, heard: [] })).toEqual({ lost: false, revoked: [] });
  for (let step = 0; step < 9; step += 1) await clock.advance(LEASE_MS / 10);
  expect(await view()).toMatchObject({ status: 'running', attempt: 1 });
});

it('a wall clock that jumps ahead takes nothing from a worker that renews', async () => {
  const { clock, sweeper, store, session, view, silence } = await underWay();
  silence();
  sweeper.start();
  for (let step = 0; step < 12; step += 1) {
    await clock.advance(LEASE_MS / 10);
    await store.renew({ session, heard: [] });
  }
  clock.jump(60_000); // every session looks expired until it is renewed
  await clock.advance(LEASE_MS / 2);
  expect(await view()).toMatchObject({ status: 'running', attempt: 1 });
  expect(await store.renew({ session, heard: [] })).toEqual({ lost: false, revoked: [] });
});

it('a worker whose session was reaped hears it, ends its attempts and opens another session', async () => {
  const { clock, store, session, ended, view } = await underWay();
  await store.reapSession({ session });
  while ((await view())?.attempt === 1) await clock.advance(100); // it claims the job again, under a new session
  expect(await ended.opened).toBe('lease_lost');
  expect(await view()).toMatchObject({ attempt: 2 });
});
