import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { defineWorkflow } from '../src/index.ts';
import { openParts } from '../src/main/open.ts';
import { createTelemetry } from '../src/main/telemetry.ts';
import { gate, tempDir } from './support/claimcheck.ts';

it('a worker that stops while a claim is under way releases what the claim brings, and spends no attempt', async () => {
  const patient = defineWorkflow({
    name: 'patient',
    version: '1',
    input: z.undefined(),
    output: z.null(),
    run: ({ signal }) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
  });
  const parts = await openParts({
    dataDir: await tempDir(),
    workflows: [patient],
    model: null,
    telemetry: createTelemetry({ level: 'silent', process: 'test' }),
    settings: { shutdownMs: 50 },
  });
  onTestFinished(() => parts.close());
  const caller = { tenant: 'default', actor: 'local:test' };
  const ticket = await parts.engine.enqueue(caller, { workflow: 'patient', limits: { maxAttempts: 1 } });
  const jobId = ticket.ok ? ticket.value.jobId : '';

  const claim = parts.store.jobs.claim.bind(parts.store.jobs);
  const [claiming, answer] = [gate(), gate()];
  parts.store.jobs.claim = async (params) => {
    claiming.open();
    await answer.opened; // the real claim, only later
    return await claim(params);
  };
  const worker = parts.createWorker();
  worker.start();
  await claiming.opened;
  const stopped = worker.stop();
  await new Promise((resolve) => setImmediate(resolve));
  answer.open();
  await stopped;

  const job = await parts.engine.job(caller, jobId);
  expect(job.ok && job.value.events.map((event) => event.type)).toEqual(['queued', 'running', 'queued']);
  expect(job).toMatchObject({ value: { status: 'queued', attempt: 1, used: 0 } });
});
