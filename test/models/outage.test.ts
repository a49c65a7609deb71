/** A store that is away while a model is called: nothing is sent that is not written, and what was paid for is not lost. */
import { generateText } from 'ai';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineWorkflow } from '../../src/index.ts';
import { StoreUnavailableError } from '../../src/ports/job-store.ts';
import type { Ledger } from '../../src/ports/ledger.ts';
import { modelAt, openScene } from './scene.ts';

async function openAsking() {
  const scene = await openScene(({ url }) => [
    defineWorkflow({
      name: 'ask',
      version: '1',
      input: z.unknown(),
      output: z.unknown(),
      run: async ({ model }) => (await generateText({ model: model(modelAt(url)), prompt: 'x' })).text,
    }),
  ]);
  return { scene, ledger: scene.parts.store.ledger };
}

/** The first calls of this verb find the store away. */
function away(ledger: Ledger, verb: 'begin' | 'end', times: number, onAsked = () => {}): () => number {
  const real = ledger[verb].bind(ledger) as (params: never) => Promise<never>;
  let calls = 0;
  Object.assign(ledger, {
    [verb]: (params: never) => {
      calls += 1;
      onAsked();
      return calls <= times ? Promise.reject(new StoreUnavailableError('away')) : real(params);
    },
  });
  return () => calls;
}

it('a call is made once it could be written, once, and no attempt is spent', async () => {
  const { scene, ledger } = await openAsking();
  const sent: number[] = [];
  const asked = away(ledger, 'begin', 2, () => void sent.push(scene.provider.calls.length));
  scene.worker();
  const job = await scene.ended(await scene.enqueue('ask'));
  expect([job.status, job.attempt, asked()]).toEqual(['completed', 1, 3]);
  expect(sent).toEqual([0, 0, 0]);
  expect(job.calls).toMatchObject([{ place: 1, billing: 'settled' }]);
  expect(scene.provider.calls).toHaveLength(1);
});

it('the end of a call is written as soon as the store is back, and the answer is given then', async () => {
  const { scene, ledger } = await openAsking();
  const asked = away(ledger, 'end', 2);
  scene.worker();
  const job = await scene.ended(await scene.enqueue('ask'));
  expect([job.status, job.attempt, asked()]).toEqual(['completed', 1, 3]);
  expect(job.calls).toMatchObject([{ billing: 'settled', end: { code: null } }]);
  expect(scene.provider.calls).toHaveLength(1);
});
