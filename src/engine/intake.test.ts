import { expect, it } from 'vitest';
import { z } from 'zod';
import type { NewRequest } from '../domain/accept.ts';
import type { Enqueued, JobStore } from '../ports/job-store.ts';
import type { UploadStore } from '../ports/upload-store.ts';
import { defineWorkflow, workflowTable } from './define.ts';
import { createIntake } from './intake.ts';
import { DEFAULT_SETTINGS } from './settings.ts';

const workflow = defineWorkflow({
  name: 'demo',
  version: '1',
  input: z.number(),
  output: z.null(),
  run: () => Promise.resolve(null),
});

/** How many jobs each commit holds where so many callers come in one turn. */
async function commitsOf(callers: number, store: Partial<JobStore>): Promise<number[]> {
  const sizes: number[] = [];
  const enqueue = async (requests: readonly NewRequest[]): Promise<Enqueued[]> => {
    sizes.push(requests.length);
    await new Promise((resolve) => setImmediate(resolve));
    return requests.map(({ jobs }) => ({
      outcome: 'accepted',
      jobIds: jobs.map(({ jobId }) => jobId),
      repeated: false,
      moved: [],
    }));
  };
  let ids = 0;
  const intake = createIntake({
    store: { ...store, enqueue } as JobStore,
    uploads: {} as UploadStore,
    workflows: workflowTable([workflow]),
    settings: DEFAULT_SETTINGS,
    announce: () => {},
    newId: () => String((ids += 1)),
  });
  const caller = { tenant: 'default', actor: 'test' };
  const answers = await Promise.all(
    Array.from({ length: callers }, (_, input) => intake.enqueue(caller, { workflow: 'demo', input })),
  );
  expect(new Set(answers.map((answer) => (answer.ok ? answer.value.jobId : answer.detail))).size).toBe(
    callers,
  );
  return sizes;
}

it('a server has the first of many callers while the others are checked, and the embedded store has them at once', async () => {
  const enqueueWithin = () => Promise.reject(new Error('nobody has a transaction'));
  expect(await commitsOf(600, { enqueueWithin })).toEqual([250, 250, 100]);
  expect(await commitsOf(600, {})).toEqual([600]);
});

it('few callers of one turn share a commit in every store', async () => {
  const enqueueWithin = () => Promise.reject(new Error('nobody has a transaction'));
  expect(await commitsOf(50, { enqueueWithin })).toEqual([50]);
  expect(await commitsOf(1, { enqueueWithin })).toEqual([1]);
});
