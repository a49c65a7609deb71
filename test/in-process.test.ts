import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import {
  ClaimcheckError,
  InvalidInputError,
  RetryableError,
  defineWorkflow,
  openClaimcheck,
} from '../src/index.ts';
import type { ClaimcheckOptions } from '../src/index.ts';
import { gate, openTemp, tempDir } from './support/claimcheck.ts';

const WAIT = { waitMs: 20_000 };
const BOOTSTRAP = 'a bootstrap key for tests, 32 characters';

const double = defineWorkflow({
  name: 'double',
  version: '1',
  input: z.strictObject({ number: z.number().max(1000) }),
  output: z.object({ doubled: z.number() }),
  run: ({ input }) => {
    expectTypeOf(input).toEqualTypeOf<{ number: number }>();
    if (input.number === 13) throw new InvalidInputError('Thirteen cannot be doubled here.');
    return { doubled: input.number * 2 };
  },
});

async function refusal(promise: Promise<unknown>): Promise<ClaimcheckError> {
  const error = await promise.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(ClaimcheckError);
  return error as ClaimcheckError;
}

it('a process may have many of them open: none adds a listener that the others have', async () => {
  const warnings: Error[] = [];
  const note = (warning: Error) => void warnings.push(warning);
  process.on('warning', note);
  await openTemp([double]);
  const before = process.listenerCount('exit');
  for (let count = 0; count < 12; count += 1) await openTemp([double]);
  await new Promise((resolve) => setImmediate(resolve));
  process.off('warning', note);
  expect(process.listenerCount('exit')).toBe(before);
  expect(warnings).toEqual([]);
});

describe('openClaimcheck', () => {
  it.each([
    [{ dataDirr: 'x' }, '`dataDirr` is no option; did you mean dataDir?'],
    [{ workflows: double }, '`workflows` must be an array'],
    [{ settings: { lease: 1 } }, '`settings.lease` is no option'],
    [{ settings: { leaseMs: 1 } }, '`settings.leaseMs` is 1; it takes a whole number from 100'],
    [{ settings: { graceMs: '5' } }, '`settings.graceMs` is "5"; it takes a whole number'],
    [{ prices: [{ model: 'gpt-5' }] }, '/prices/0/model must be a provider and a model'],
    [{ dayLimitUsd: -1 }, '`dayLimitUsd` takes a number of dollars from 0'],
    [{ reconcile: 'later' }, '`reconcile` must be a function'],
  ])('refuses %j in a sentence', async (options, sentence) => {
    await expect(openClaimcheck({ workflows: [double], ...options } as ClaimcheckOptions)).rejects.toThrow(
      sentence,
    );
  });

  it('says in a sentence why a data directory cannot be used', async () => {
    const file = join(await tempDir(), 'a-file');
    writeFileSync(file, '');
    await expect(openClaimcheck({ workflows: [double], dataDir: file })).rejects.toThrow(
      `The data directory ${file} cannot be used: there is a file of that name.`,
    );
  });
});

describe('enqueue', () => {
  it('checks the types of its input at compile time, and its value at run time, naming the path', async () => {
    const claimcheck = await openTemp([double]);
    // @ts-expect-error a text is no number
    const typed = claimcheck.enqueue(double, { number: 'one' });
    expect(await refusal(typed)).toMatchObject({
      code: 'invalid_request',
      errors: [{ path: '/input/number' }],
    });
    const unknown = await refusal(claimcheck.enqueue('double', { number: 1, more: true }));
    expect(unknown.errors[0]?.path).toBe('/input');
  });

  it.each([
    ['a label with a control character', { labels: { order: 'a\u0000' } }, '/labels/order'],
    ['a label with a lone surrogate', { labels: { order: '\ud800' } }, '/labels/order'],
    ['a label of a strange name', { labels: { 'or/der': '17' } }, '/labels/or~1der'],
    ['a priority out of range', { priority: 101 }, '/priority'],
    ['a timeout past the cap', { limits: { timeoutMs: 10 ** 9 } }, '/limits/timeout_ms'],
    ['no attempts', { limits: { maxAttempts: 0 } }, '/limits/max_attempts'],
    ['a deadline in the past', { limits: { deadlineAt: Date.now() - 1 } }, '/limits/deadline_at'],
    [
      'a start after the deadline',
      { runAt: new Date(Date.now() + 10_000), limits: { deadlineMs: 5000 } },
      '/run_at',
    ],
    ['a file for a workflow that takes none', { inputRef: 'uploads/x.pdf' }, '/input_ref'],
  ])('refuses %s and leaves nothing behind', async (_, options, path) => {
    const claimcheck = await openTemp([double]);
    const error = await refusal(
      claimcheck.enqueue(double, { number: 1 }, { idempotencyKey: 'k', ...options }),
    );
    expect(error).toMatchObject({ code: 'invalid_request', errors: [{ path }] });
    expect(await claimcheck.enqueue(double, { number: 1 }, { idempotencyKey: 'k' })).toMatchObject({
      status: 'queued',
    });
  });

  it.each([
    ['a BigInt', { number: 10n }, '/input/number'],
    ['a Date', { number: 1, at: new Date() }, '/input/at'],
  ])('refuses %s rather than change it', async (_, input, path) => {
    const claimcheck = await openTemp([double]);
    expect((await refusal(claimcheck.enqueue('double', input))).errors[0]?.path).toBe(path);
  });

  it('refuses an unknown workflow and names the known ones', async () => {
    const claimcheck = await openTemp([double]);
    const error = await refusal(claimcheck.enqueue('treble', {}));
    expect(error.code).toBe('unknown_workflow');
    expect(error.message).toContain('double');
  });

  it('gives the same ticket for the same key and an equal request, and refuses another request', async () => {
    const claimcheck = await openTemp([double]);
    const once = { idempotencyKey: 'order-17', labels: { b: '2', a: '1' } };
    const [first, again] = await Promise.all([
      claimcheck.enqueue(double, { number: 1 }, once),
      claimcheck.enqueue(double, { number: 1 }, { ...once, labels: { a: '1', b: '2' } }),
    ]);
    expect(again).toEqual(first);
    const other = await refusal(claimcheck.enqueue(double, { number: 2 }, once));
    expect(other.code).toBe('idempotency_key_reused');
  });

  it('tells a single job and a batch under one key apart, and one key and slash-number keys too', async () => {
    const claimcheck = await openTemp([double], { bootstrapKey: BOOTSTRAP });
    const post = async (path: string, key: string, body: object) => {
      const response = await claimcheck.fetch(
        new Request(`http://localhost${path}`, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${BOOTSTRAP}`,
            'content-type': 'application/json',
            'idempotency-key': key,
          },
          body: JSON.stringify(body),
        }),
      );
      return response.status;
    };
    const job = { workflow: 'double', input: { number: 1 } };
    expect(await post('/ai-jobs/batch', 'k', { jobs: [job, job] })).toBe(202);
    expect(await post('/ai-jobs/batch', 'k', { jobs: [job, job] })).toBe(202);
    expect(await post('/ai-jobs', 'k/1', job)).toBe(202);
    expect(await post('/ai-jobs', 'k', job)).toBe(422);
    expect(await post('/ai-jobs/batch', 'k/1', { jobs: [job] })).toBe(422);
  });

  it('repeats its answer also when the deadline of the request has passed meanwhile', async () => {
    const claimcheck = await openTemp([double]);
    const options = { idempotencyKey: 'late', limits: { deadlineAt: Date.now() + 150 } };
    const first = await claimcheck.enqueue(double, { number: 1 }, options);
    expect(await claimcheck.wait(first.job_id, WAIT)).toMatchObject({ error: { code: 'deadline_exceeded' } });
    expect(await claimcheck.enqueue(double, { number: 1 }, options)).toEqual(first);
  });
});

describe('a failure that its author explains', () => {
  it('shows the sentence to whoever reads the status', async () => {
    const claimcheck = await openTemp([double]);
    claimcheck.worker().start();
    const { job_id } = await claimcheck.enqueue(double, { number: 13 });
    expect(await claimcheck.wait(job_id, WAIT)).toMatchObject({
      status: 'dead_letter',
      error: { code: 'invalid_input', message: 'Thirteen cannot be doubled here.' },
    });
  });
});

describe('a replay', () => {
  const flaky = (broken: { is: boolean }) =>
    defineWorkflow({
      name: 'flaky',
      version: '1',
      input: z.undefined(),
      output: z.string(),
      run: () => {
        if (broken.is) throw new Error('broken');
        return 'mended';
      },
    });

  it('of one decision happens once, whoever races for it; the old attempts are kept and the budget is fresh', async () => {
    const broken = { is: true };
    const claimcheck = await openTemp([flaky(broken)]);
    claimcheck.worker().start();
    const { job_id } = await claimcheck.enqueue('flaky');
    await claimcheck.wait(job_id, WAIT);
    const { decision } = await claimcheck.record(job_id);
    const decisionId = decision?.decision_id ?? '';
    broken.is = false;
    const replays = await Promise.allSettled(
      Array.from({ length: 8 }, () => claimcheck.replay(job_id, { reason: 'mended', decisionId })),
    );
    const lost = replays.flatMap((replay) =>
      replay.status === 'rejected' ? [replay.reason as ClaimcheckError] : [],
    );
    expect(lost.map((error) => error.code)).toEqual(Array.from({ length: 7 }, () => 'decision_taken'));
    expect(await claimcheck.wait(job_id, WAIT)).toMatchObject({ status: 'completed', attempt: 2 });
    const record = await claimcheck.record(job_id);
    expect(record.errors).toHaveLength(1);
    expect(record.decision).toMatchObject({ open: false, choice: 'replay', reason: 'mended' });
    expect(record.events.map((event) => event.type).join()).toBe(
      'queued,running,dead_letter,queued,running,completed',
    );
  });

  it('may raise what the job may cost and be from evidence, which the history says', async () => {
    const claimcheck = await openTemp([flaky({ is: true })]);
    const { job_id } = await claimcheck.enqueue('flaky', undefined, { limits: { spendingUsd: 0.25 } });
    expect((await claimcheck.record(job_id)).limits.spending_usd).toBe(0.25);
    await claimcheck.cancel(job_id, { reason: 'not yet' });
    const limits = { spendingUsd: 0.5, maxAttempts: 1 };
    await claimcheck.replay(job_id, { reason: 'worth it', limits, fromEvidence: true });
    const record = await claimcheck.record(job_id);
    expect(record.limits).toMatchObject({ spending_usd: 0.5, max_attempts: 1 });
    expect(record.events.at(-1)?.detail).toEqual({ spending_usd: 0.5, from_evidence: true });
    const wrong = claimcheck.enqueue('flaky', undefined, { limits: { spendingUsd: -1 } });
    await expect(wrong).rejects.toThrow('`limits.spendingUsd` takes a number of dollars from 0');
  });

  it('of a job that is not dead is refused, and needs a reason', async () => {
    const claimcheck = await openTemp([flaky({ is: false })]);
    const { job_id } = await claimcheck.enqueue('flaky');
    expect((await refusal(claimcheck.replay(job_id, { reason: 'why not' }))).code).toBe('not_dead_letter');
    expect((await refusal(claimcheck.replay(job_id, { reason: ' ' }))).errors).toMatchObject([
      { path: '/reason' },
    ]);
    expect((await refusal(claimcheck.replay('job_none', { reason: 'x' }))).code).toBe('not_found');
  });

  it('of a job whose deadline has passed counts it anew, and says so in the history', async () => {
    const claimcheck = await openTemp([flaky({ is: false })]);
    const { job_id } = await claimcheck.enqueue('flaky', undefined, { limits: { deadlineMs: 50 } });
    expect(await claimcheck.wait(job_id, WAIT)).toMatchObject({ error: { code: 'deadline_exceeded' } });
    await claimcheck.replay(job_id, { reason: 'still wanted', limits: { deadlineMs: 60_000 } });
    claimcheck.worker().start();
    expect(await claimcheck.wait(job_id, WAIT)).toMatchObject({ status: 'completed' });
    const types = (await claimcheck.record(job_id)).events.map((event) => event.type);
    expect(types).toEqual(['queued', 'dead_letter', 'queued', 'deadline_extended', 'running', 'completed']);
  });

  it('runs on a schema that was mended under the same version', async () => {
    const broken = { is: true };
    const before = await openTemp([flaky(broken)]);
    const worker = before.worker();
    worker.start();
    const { job_id } = await before.enqueue('flaky');
    await before.wait(job_id, WAIT);
    await worker.stop();
    const mended = defineWorkflow({ ...flaky({ is: false }), output: z.string().max(10) });
    const after = await openTemp([mended], { dataDir: before.dataDir });
    after.worker().start();
    await after.replay(job_id, { reason: 'the schema was mended' });
    expect(await after.wait(job_id, WAIT)).toMatchObject({ status: 'completed' });
  });
});

describe('a job that is not due', () => {
  it('waits for its time', async () => {
    const claimcheck = await openTemp([double]);
    claimcheck.worker().start();
    const runAt = new Date(Date.now() + 400);
    const { job_id } = await claimcheck.enqueue(double, { number: 2 }, { runAt });
    await claimcheck.wait(job_id, WAIT);
    const record = await claimcheck.record(job_id);
    expect(record.status).toBe('completed');
    expect(Date.parse(record.started_at ?? '')).toBeGreaterThanOrEqual(runAt.getTime());
  });

  it('is not retried before the time that the provider named', async () => {
    const busy = defineWorkflow({
      name: 'busy',
      version: '1',
      input: z.undefined(),
      output: z.number(),
      run: ({ attempt }) => {
        if (attempt === 1) throw new RetryableError('busy', { retryAfterMs: 300 });
        return attempt;
      },
    });
    const claimcheck = await openTemp([busy]);
    claimcheck.worker().start();
    const { job_id } = await claimcheck.enqueue('busy');
    await claimcheck.wait(job_id, WAIT);
    const [, , requeued, running] = (await claimcheck.record(job_id)).events;
    expect(Date.parse(running?.at ?? '') - Date.parse(requeued?.at ?? '')).toBeGreaterThanOrEqual(300);
  });
});

describe('closing', () => {
  it('takes bounded time although the store takes no writes', async () => {
    const running = gate();
    const endless = defineWorkflow({
      name: 'endless',
      version: '1',
      input: z.undefined(),
      output: z.any(),
      run: async () => {
        running.open();
        await new Promise(() => {});
      },
    });
    const claimcheck = await openTemp([endless]);
    claimcheck.worker().start();
    await claimcheck.enqueue('endless');
    await running.opened;
    const blocker = new DatabaseSync(`${claimcheck.dataDir}/claimcheck.db`);
    blocker.exec('BEGIN IMMEDIATE');
    await claimcheck.close(); // the test's own time limit is the bound that fails it
    blocker.exec('ROLLBACK');
    blocker.close();
  });
});
