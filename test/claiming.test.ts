import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { defineWorkflow } from '../src/index.ts';
import { openParts } from '../src/main/open.ts';
import type { Parts } from '../src/main/open.ts';
import { createTelemetry } from '../src/main/telemetry.ts';
import { gate, tempDir } from './support/claimcheck.ts';

const CALLER = { tenant: 'default', actor: 'local:test' };

/** Claims as they are asked for, and how many attempts had begun by then. */
interface Asked {
  limit: number;
  begun: number;
  brought: number;
}

async function open(concurrency: number, jobs: number) {
  const goOn = gate();
  let begun = 0;
  let ended = 0;
  let most = 0;
  const workflow = defineWorkflow({
    name: 'test',
    version: '1',
    input: z.any(),
    output: z.any(),
    run: async () => {
      begun += 1;
      most = Math.max(most, begun - ended);
      await goOn.opened;
      ended += 1;
      return null;
    },
  });
  const parts = await openParts({
    dataDir: await tempDir(),
    workflows: [workflow],
    model: null,
    telemetry: createTelemetry({ level: 'silent', process: 'test' }),
    settings: { concurrency },
  });
  onTestFinished(() => parts.close());
  const requests = Array.from({ length: jobs }, () => ({ workflow: 'test' }));
  if (jobs > 0) await parts.engine.enqueueBatch(CALLER, requests);
  const asked = claimsOf(parts, () => begun);
  const standing = standingOf(parts);
  const worker = parts.createWorker();
  worker.start();
  onTestFinished(() => worker.stop());
  return { parts, asked, standing, goOn, begun: () => begun, ended: () => ended, most: () => most };
}

function claimsOf({ store }: Parts, begun: () => number): Asked[] {
  const asked: Asked[] = [];
  const claim = store.jobs.claim.bind(store.jobs);
  store.jobs.claim = async (params) => {
    const one = { limit: params.limit, begun: begun(), brought: 0 };
    asked.push(one);
    const claimed = await claim(params);
    one.brought = claimed.jobs.length;
    return claimed;
  };
  return asked;
}

/** Resolves once a worker stands by. */
function standingOf({ store }: Parts): Promise<void> {
  const { opened, open: told } = gate();
  const standBy = store.jobs.standBy?.bind(store.jobs);
  if (standBy === undefined) throw new Error('the store takes no standing claims');
  store.jobs.standBy = (params) => {
    const standing = standBy(params);
    told();
    return standing;
  };
  return opened;
}

it('what is handed in beside an idle worker is claimed in the same commit', async () => {
  const { parts, asked, standing, goOn, begun, ended } = await open(100, 0);
  goOn.open();
  await standing;
  const ticket = await parts.engine.enqueue(CALLER, { workflow: 'test' });
  expect(begun()).toBe(1);
  await expect.poll(ended).toBe(1);
  expect(asked.every(({ brought }) => brought === 0)).toBe(true);
  const jobId = ticket.ok ? ticket.value.jobId : '';
  const completed = async () => (await parts.store.jobs.job({ tenant: 'default', jobId }))?.status;
  await expect.poll(completed).toBe('completed');
});

it('a worker asks for the next batch before the attempts of the last begin, and never for more than it has slots', async () => {
  const { asked, goOn, begun, ended, most } = await open(120, 300);
  await expect.poll(begun).toBe(120);
  expect(asked).toEqual([
    { limit: 60, begun: 0, brought: 60 },
    { limit: 60, begun: 0, brought: 60 },
  ]);
  goOn.open();
  await expect.poll(ended).toBe(300);
  expect(most()).toBe(120);
});
