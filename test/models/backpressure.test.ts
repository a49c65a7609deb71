/** A provider that asks for a pause: jobs wait for it in the queue, where they cost nothing. */
import { generateText } from 'ai';
import { expect, it } from 'vitest';
import { z } from 'zod';
import type { Job } from '../../src/domain/record.ts';
import { defineWorkflow } from '../../src/index.ts';
import type { FakeProvider } from '../../src/testing.ts';
import { modelAt, openScene } from './scene.ts';
import type { Scene } from './scene.ts';

const ask = (name: string, { url }: FakeProvider) =>
  defineWorkflow({
    name,
    version: '1',
    input: z.unknown(),
    output: z.unknown(),
    run: async ({ model }) => (await generateText({ model: model(modelAt(url)), prompt: 'x' })).text,
  });

const types = ({ events }: Job) => events.map(({ type }) => type);

async function until(scene: Scene, jobId: string, holds: (job: Job) => boolean): Promise<Job> {
  for (const end = performance.now() + 10_000; performance.now() < end; ) {
    const job = await scene.job(jobId);
    if (holds(job)) return job;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error(`it never came to that: ${JSON.stringify(await scene.job(jobId))}`);
}

it('a 429 with Retry-After holds the jobs that would call it, without spending their attempts; others run', async () => {
  const scene = await openScene((provider) => [ask('ask', provider), ask('also', provider), free], {
    script: [
      { reply: 'rate_limited', retryAfter: 1 },
      { reply: 'ok', text: 'hello' },
    ],
  });
  scene.worker();
  const limited = await scene.enqueue('ask', null, { maxAttempts: 2 });
  const limitedJob = await until(scene, limited, ({ errors }) => errors.length > 0);
  expect(limitedJob.errors).toMatchObject([{ rule: 'models-v1/rate_limited' }]);

  const held = await scene.enqueue('ask', null, { maxAttempts: 1 });
  const waiting = await until(scene, held, ({ events }) => events.length >= 3);
  expect(waiting).toMatchObject({ status: 'queued', attempt: 1, used: 0, errors: [] });
  expect(waiting.events.at(-1)).toMatchObject({
    type: 'queued',
    reason: 'a provider of models asked for a pause',
    due: expect.any(Number) as number,
  });

  const later = await scene.enqueue('ask', null, { maxAttempts: 1 });
  expect((await scene.ended(await scene.enqueue('free'))).status).toBe('completed');
  expect(scene.provider.calls).toHaveLength(1);
  for (const jobId of [limited, held, later]) expect((await scene.ended(jobId)).status).toBe('completed');
  expect(types(await scene.job(held))).toEqual(['queued', 'running', 'queued', 'running', 'completed']);
  // nobody claimed it while its workflow was held
  expect(types(await scene.job(later))).toEqual(['queued', 'running', 'completed']);
  expect(scene.provider.calls).toHaveLength(4);
});

const free = defineWorkflow({
  name: 'free',
  version: '1',
  input: z.unknown(),
  output: z.unknown(),
  run: () => 'done',
});

it('a pause that lasts past the deadline ends the job at once', async () => {
  const scene = await openScene((provider) => [ask('ask', provider)], {
    script: [{ reply: 'rate_limited', retryAfter: { days: 3 } }],
  });
  scene.worker();
  const first = await scene.ended(await scene.enqueue('ask'));
  const second = await scene.ended(await scene.enqueue('ask', null, { deadlineMs: 60_000 }));
  for (const { errors } of [first, second]) expect(errors.at(-1)?.code).toBe('deadline_exceeded');
  expect(scene.provider.calls).toHaveLength(1);
});
