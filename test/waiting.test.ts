/** Waiting for jobs that another process changes: its hints do not come here. */
import { setMaxListeners } from 'node:events';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { LOOK_EVERY_MS } from '../src/engine/watch.ts';
import { defineWorkflow } from '../src/index.ts';
import { openParts } from '../src/main/open.ts';
import type { Parts } from '../src/main/open.ts';
import { createTelemetry } from '../src/main/telemetry.ts';
import { manualClock } from '../src/testkit/manual-clock.ts';
import { tempDir } from './support/claimcheck.ts';

const CALLER = { tenant: 'default', actor: 'local:test' };
const workflow = defineWorkflow({
  name: 'test',
  version: '1',
  input: z.any(),
  output: z.any(),
  run: () => null,
});

async function twoProcesses() {
  const [dataDir, clock] = [await tempDir(), manualClock()];
  const open = async () => {
    const telemetry = createTelemetry({ level: 'silent', process: 'test' });
    const parts = await openParts({ dataDir, workflows: [workflow], model: null, telemetry, clock });
    onTestFinished(() => parts.close());
    return parts;
  };
  return { clock, here: await open(), elsewhere: await open() };
}

/** How many statuses were asked for in each reading of the store. */
function readings({ store }: Parts): number[] {
  const sizes: number[] = [];
  const statuses = store.jobs.statuses.bind(store.jobs);
  store.jobs.statuses = (asked) => {
    sizes.push(asked.length);
    return statuses(asked);
  };
  return sizes;
}

it('however many wait, one reading a quarter of a second tells them all, and ends with the last of them', async () => {
  const { clock, here, elsewhere } = await twoProcesses();
  const tickets = await here.engine.enqueueBatch(
    CALLER,
    Array.from({ length: 50 }, () => ({ workflow: 'test' })),
  );
  const ids = tickets.ok ? tickets.value.map(({ jobId }) => jobId) : [];
  const sizes = readings(here);
  const leaving = new AbortController();
  setMaxListeners(0, leaving.signal);
  const changed: string[] = [];
  const waiting = ids.map(async (id) => {
    const view = await here.engine.waitForChange(CALLER, id, { waitMs: 60_000, signal: leaving.signal });
    if (view.ok && view.value.seq > 1) changed.push(id);
  });
  await expect.poll(() => sizes).toEqual([50]);
  const own = ids[7] ?? '';
  await elsewhere.engine.cancel(CALLER, own, 'not needed');
  await clock.advance(LOOK_EVERY_MS);
  await expect.poll(() => changed).toEqual([own]);
  expect(sizes).toEqual([50, 50, 1]); // who is woken reads for himself
  await clock.advance(LOOK_EVERY_MS);
  await expect.poll(() => sizes).toEqual([50, 50, 1, 49]);
  leaving.abort();
  await Promise.all(waiting);
  sizes.splice(0);
  await clock.advance(10.5 * LOOK_EVERY_MS);
  expect(sizes).toEqual([]);
  const options = { waitMs: 1.5 * LOOK_EVERY_MS, signal: new AbortController().signal };
  const again = here.engine.waitForChange(CALLER, ids[0] ?? '', options);
  for (const looks of [1, 1, 2, 3]) {
    await expect.poll(() => sizes).toHaveLength(looks);
    await clock.advance(LOOK_EVERY_MS / 2);
  }
  await again;
});

it('a hint of this process costs a reading of its own job alone', async () => {
  const { here } = await twoProcesses();
  const enqueue = async () => {
    const ticket = await here.engine.enqueue(CALLER, { workflow: 'test' });
    return ticket.ok ? ticket.value.jobId : '';
  };
  const [one, other] = [await enqueue(), await enqueue()];
  const sizes = readings(here);
  const leaving = new AbortController();
  const wait = (id: string) =>
    here.engine.waitForChange(CALLER, id, { waitMs: 60_000, signal: leaving.signal });
  const [waitingOne, waitingOther] = [wait(one), wait(other)];
  await expect.poll(() => sizes).toEqual([2]);
  await here.engine.cancel(CALLER, one, 'not needed');
  expect(await waitingOne).toMatchObject({ value: { status: 'dead_letter' } });
  expect(sizes).toEqual([2, 1]);
  leaving.abort();
  await waitingOther;
});
