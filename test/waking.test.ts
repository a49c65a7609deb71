/** What makes a worker claim: here its clock stands still, so no poll helps whoever was not woken. */
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { FOLLOW_MS } from '../src/engine/claiming.ts';
import type { EngineSettings } from '../src/engine/settings.ts';
import { RetryableError, defineWorkflow } from '../src/index.ts';
import { openParts } from '../src/main/open.ts';
import { createTelemetry } from '../src/main/telemetry.ts';
import { manualClock } from '../src/testing.ts';
import { gate, tempDir } from './support/claimcheck.ts';

const CALLER = { tenant: 'default', actor: 'local:test' };
const LEASE_MS = 10_000;
const BACKOFF_MS = 100;

/** Attempts that are under way until the test ends them, in the order in which they began. */
async function scene(settings: Partial<EngineSettings> = {}) {
  const running: { end: (value: 'well' | 'badly') => void }[] = [];
  let begun = 0;
  let claims = 0;
  const workflow = defineWorkflow({
    name: 'test',
    version: '1',
    input: z.any(),
    output: z.any(),
    run: async () => {
      const { opened, open } = gate<'well' | 'badly'>();
      begun += 1;
      running.push({ end: open });
      if ((await opened) === 'badly') throw new RetryableError('badly');
      return null;
    },
  });
  const clock = manualClock();
  const options = {
    dataDir: await tempDir(),
    workflows: [workflow],
    model: null,
    telemetry: createTelemetry({ level: 'silent', process: 'test' }),
    settings: { leaseMs: LEASE_MS, backoff: { baseMs: BACKOFF_MS, capMs: BACKOFF_MS }, ...settings },
    clock,
    random: () => 1,
  };
  const open = async () => {
    const opened = await openParts(options);
    onTestFinished(() => opened.close());
    return opened;
  };
  const parts = await open();
  const { jobs: store } = parts.store;
  const claim = store.claim.bind(store);
  store.claim = (params) => {
    claims += 1;
    return claim(params);
  };
  const start = () => {
    const worker = parts.createWorker();
    worker.start();
    onTestFinished(() => worker.kill());
    return worker;
  };
  const enqueue = (count = 1) =>
    parts.engine.enqueueBatch(
      CALLER,
      Array.from({ length: count }, () => ({ workflow: 'test' })),
    );
  /** As by another process: nobody here hears of it. */
  const enqueueElsewhere = async () => (await open()).engine.enqueue(CALLER, { workflow: 'test' });
  const end = (how: 'well' | 'badly' = 'well') => running.shift()?.end(how);
  return {
    clock,
    parts,
    store,
    start,
    enqueue,
    enqueueElsewhere,
    end,
    begun: () => begun,
    claims: () => claims,
  };
}

/** Long enough that whatever was woken has claimed, and is idle again. */
async function quiet(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 50));
}

it('an attempt that ends where slots were free costs no claim, and of an enqueue whose jobs have begun the hint alone costs one', async () => {
  const { start, enqueue, end, begun, claims } = await scene({ concurrency: 10 });
  start();
  await expect.poll(claims).toBe(1);
  await quiet();
  await enqueue();
  await expect.poll(() => [begun(), claims()]).toEqual([1, 2]);
  end();
  await quiet();
  expect(claims()).toBe(2);
  await enqueue(2);
  await expect.poll(begun).toBe(3); // the worker stood by again
});

it.each([1, 3])(
  'a job that found all of %d slots taken begins as soon as one is free',
  async (concurrency) => {
    const { start, enqueue, end, begun } = await scene({ concurrency });
    start();
    await enqueue(concurrency + 2);
    await expect.poll(begun).toBe(concurrency);
    end();
    await expect.poll(begun).toBe(concurrency + 1);
    await enqueue(); // comes in while none is free
    await quiet();
    end();
    await expect.poll(begun).toBe(concurrency + 2);
    end();
    await expect.poll(begun).toBe(concurrency + 3);
  },
);

it('what an enqueue could not bring along is claimed at once, and nothing where it brought all, also without a hint', async () => {
  const { start, enqueue, begun, claims, store } = await scene({ concurrency: 120 });
  const handIn = store.enqueue.bind(store);
  store.enqueue = async (requests) => (await handIn(requests)).map((answer) => ({ ...answer, moved: [] }));
  start();
  await expect.poll(claims).toBe(1);
  await quiet();
  await enqueue(10);
  await expect.poll(begun).toBe(10);
  await quiet();
  expect(claims()).toBe(1);
  await enqueue(100); // more than one claim brings where there are so few slots
  await expect.poll(begun).toBe(110);
});

it('what is handed in while a claim is under way begins, although that claim has not seen it', async () => {
  const { start, enqueue, begun, store, claims } = await scene({ concurrency: 10 });
  const answers = gate();
  const claim = store.claim.bind(store);
  store.claim = async (params) => {
    const claimed = await claim(params);
    await answers.opened;
    return claimed;
  };
  start();
  await expect.poll(claims).toBe(1);
  await enqueue();
  answers.open();
  await expect.poll(begun).toBe(1);
});

it('a retry begins when it is due', async () => {
  const { clock, start, enqueue, end, begun, claims } = await scene({ concurrency: 10 });
  start();
  await expect.poll(claims).toBe(1);
  await enqueue();
  await expect.poll(() => [begun(), claims()]).toEqual([1, 2]);
  end('badly');
  await expect.poll(claims).toBe(3); // it heard of the retry, and waits for it
  await quiet();
  await clock.advance(BACKOFF_MS - 1);
  await quiet();
  expect(begun()).toBe(1);
  await clock.advance(6);
  await expect.poll(begun).toBe(2);
});

it('what another process hands in begins soon after a claim that brought something, and soon after an end', async () => {
  const { clock, start, enqueue, enqueueElsewhere, end, begun, claims } = await scene({ concurrency: 10 });
  await enqueue();
  const worker = start();
  await expect.poll(begun).toBe(1);
  await enqueueElsewhere();
  await quiet();
  expect(begun()).toBe(1);
  await clock.advance(FOLLOW_MS);
  await expect.poll(begun).toBe(2);
  const before = claims();
  await clock.advance(FOLLOW_MS);
  await expect.poll(claims).toBe(before + 1); // it found nothing, so nothing follows
  await quiet();
  await enqueueElsewhere();
  await clock.advance(FOLLOW_MS);
  await quiet();
  expect(begun()).toBe(2);
  end();
  await expect.poll(() => worker.slotsTaken()).toBe(1);
  await clock.advance(FOLLOW_MS);
  await expect.poll(begun).toBe(3);
});

it('a suspect that had to wait for others begins when one of them ends', async () => {
  const { clock, parts, start, enqueue, end, begun } = await scene({ concurrency: 100 });
  const first = start();
  await enqueue(12);
  await expect.poll(begun).toBe(12);
  first.kill();
  for (let left = 12; left > 0; left -= 1) end();
  await clock.advance(LEASE_MS + 1);
  for (let sweeps = 0; sweeps < 3; sweeps += 1) {
    await parts.store.jobs.sweep({ reap: true, graceMs: 0, idempotencyMs: 1e9, limit: 100, jitter: () => 0 });
    await clock.advance(LEASE_MS + 1);
  }
  start();
  await expect.poll(begun).toBe(12 + 10);
  await quiet();
  expect(begun()).toBe(12 + 10);
  end();
  await expect.poll(begun).toBe(12 + 11);
});

it('where a job cannot begin, the claim under way is waited for before its strays are released', async () => {
  const { clock, store, start, enqueue, begun, claims } = await scene({ concurrency: 120 });
  const answers = gate();
  let reconciled = 0;
  const claim = store.claim.bind(store);
  const reconcile = store.reconcile.bind(store);
  store.claim = async (params) => {
    const claimed = await claim(params);
    if (claims() === 1)
      return { ...claimed, jobs: claimed.jobs.map((job) => ({ ...job, version: 'unknown' })) };
    await answers.opened;
    return claimed;
  };
  store.reconcile = (params) => {
    reconciled += 1;
    return reconcile(params);
  };
  await enqueue(120);
  start();
  await expect.poll(claims).toBe(2);
  await quiet();
  await clock.advance(LEASE_MS / 4);
  await quiet();
  expect([begun(), reconciled]).toEqual([0, 0]);
  answers.open();
  await quiet();
  await clock.advance(LEASE_MS / 4);
  await expect.poll(begun).toBe(120);
  expect(reconciled).toBe(1);
});

it('a claim ahead that fails at once leaves the batch before it alone', async () => {
  const { store, start, enqueue, begun, claims } = await scene({ concurrency: 120 });
  const claim = store.claim.bind(store);
  store.claim = async (params) => {
    const claimed = claim(params);
    if (claims() === 2) throw new Error('not there');
    return claimed;
  };
  await enqueue(60);
  start();
  await expect.poll(begun).toBe(60);
  await quiet();
});

it('where every lane is held, a job begins when that is over', async () => {
  const { clock, parts, start, enqueue, begun, claims } = await scene({ concurrency: 10 });
  parts.store.ledger.heldWorkflows = async () => [{ workflow: 'test', forMs: 300 }];
  start();
  await expect.poll(claims).toBe(1);
  await quiet();
  await clock.advance(1500); // with each renewal a worker looks what is held
  parts.wakeups.emit({ type: 'queued' });
  await quiet();
  await enqueue();
  await quiet();
  await clock.advance(290);
  await quiet();
  expect(begun()).toBe(0);
  await clock.advance(20);
  await expect.poll(begun).toBe(1);
});

it('a batch whose session is lost before it begins does not begin', async () => {
  const { parts, store, start, enqueue, begun, claims } = await scene({ concurrency: 600 });
  const claim = store.claim.bind(store);
  store.claim = (params) => {
    const claimed = claim(params);
    const { session } = params;
    if (claims() === 2)
      void store.reapSession({ session }).then(() => parts.wakeups.emit({ type: 'revoked', session }));
    return claimed;
  };
  await enqueue(300);
  start();
  await expect.poll(begun).toBeGreaterThan(0);
  await quiet();
  expect(begun()).toBe(10); // of jobs that were lost with a session, a worker takes ten at first
});
