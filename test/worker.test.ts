import { createHash } from 'node:crypto';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { buffer } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { AttemptEndedError, RetryableError, defineWorkflow } from '../src/index.ts';
import type { Claimcheck, RunContext } from '../src/index.ts';
import { gate, openTemp, tempDir } from './support/claimcheck.ts';

const WAIT = { waitMs: 20_000 };

/** A workflow of one test: whatever it returns is its output. */
function workflow(
  run: (context: RunContext<unknown>) => unknown,
  more: { version?: string; limits?: object } = {},
) {
  return defineWorkflow({
    name: 'test',
    version: more.version ?? '1',
    input: z.any(),
    output: z.any(),
    limits: more.limits ?? {},
    run,
  });
}

async function runOnce(claimcheck: Claimcheck, input: unknown = {}, options = {}) {
  claimcheck.worker().start();
  const { job_id } = await claimcheck.enqueue('test', input, options);
  const status = await claimcheck.wait(job_id, WAIT);
  return { status, record: await claimcheck.record(job_id) };
}

const types = (record: { events: { type: string }[] }) => record.events.map((event) => event.type);
const codes = (record: { errors: { code: string }[] }) => record.errors.map((error) => error.code);

describe('an attempt', () => {
  it('completes with an artifact that reads back with its size and digest', async () => {
    const claimcheck = await openTemp([workflow(({ input }) => ({ got: input }))]);
    const { status, record } = await runOnce(claimcheck, { text: 'hello' });
    expect(status).toMatchObject({ status: 'completed', attempt: 1, error: null });
    expect(types(record)).toEqual(['queued', 'running', 'completed']);
    const artifact = await claimcheck.artifact(record.job_id);
    const bytes = await buffer(artifact.stream());
    expect(JSON.parse(bytes.toString())).toEqual({ got: { text: 'hello' } });
    expect(artifact).toMatchObject({
      bytes: bytes.length,
      sha256: createHash('sha256').update(bytes).digest('hex'),
    });
  });

  it('keeps a large output as a file, and a small one in the store', async () => {
    const claimcheck = await openTemp([workflow(({ input }) => 'x'.repeat(Number(input)))]);
    const { record: small } = await runOnce(claimcheck, 10);
    const { record: large } = await runOnce(claimcheck, 100_000);
    const file = (record: typeof small) => `${claimcheck.dataDir}/blobs/${record.artifact?.uri}`;
    expect([existsSync(file(small)), existsSync(file(large))]).toEqual([false, true]);
    const read = await buffer((await claimcheck.artifact(large.job_id)).stream());
    expect(JSON.parse(read.toString())).toHaveLength(100_000);
  });

  it('is told by its signal when its time is over, is tried again, and dies with its limit named', async () => {
    const reasons: unknown[] = [];
    const slow = workflow(async ({ signal }) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      reasons.push(signal.reason);
      throw signal.reason;
    });
    const claimcheck = await openTemp([slow]);
    const { record } = await runOnce(claimcheck, {}, { limits: { timeoutMs: 20, maxAttempts: 2 } });
    expect(codes(record)).toEqual(['timeout', 'timeout']);
    expect(record.errors[0]).toMatchObject({ limit_ms: 20, attempt: 1 });
    expect(record.errors[0]?.elapsed_ms).toBeGreaterThanOrEqual(20);
    expect(
      reasons.every((reason) => reason instanceof AttemptEndedError && reason.ending === 'timeout'),
    ).toBe(true);
  });

  it('that ignores its signal is settled without it, its late answer goes nowhere, and its slot stays taken until it returns', async () => {
    const late = gate();
    const claimcheck = await openTemp([workflow(() => late.opened.then(() => 'too late'))], {
      settings: { graceMs: 30, concurrency: 1, shutdownMs: 20 },
    });
    const { status, record } = await runOnce(claimcheck, {}, { limits: { timeoutMs: 20, maxAttempts: 1 } });
    expect(status).toMatchObject({ status: 'dead_letter', error: { code: 'timeout' } });
    const next = await claimcheck.enqueue('test', {}, { limits: { timeoutMs: 10_000, maxAttempts: 1 } });
    expect(await claimcheck.wait(next.job_id, { waitMs: 700 })).toMatchObject({
      status: 'queued',
      attempt: 0,
    });
    late.open();
    expect(await claimcheck.wait(next.job_id, WAIT)).toMatchObject({ status: 'completed' });
    expect(await claimcheck.record(record.job_id)).toEqual(record);
  });

  it('that blocks the event loop past its limit is a timeout, whatever it returns', async () => {
    const spin = workflow(() => {
      const end = performance.now() + 80;
      while (performance.now() < end);
      return 'done';
    });
    const { record } = await runOnce(
      await openTemp([spin]),
      {},
      { limits: { timeoutMs: 20, maxAttempts: 1 } },
    );
    expect(codes(record)).toEqual(['timeout']);
  });

  it('is cut at the deadline, and not tried again', async () => {
    const slow = workflow(
      ({ signal }) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    );
    const { status, record } = await runOnce(await openTemp([slow]), {}, { limits: { deadlineMs: 60 } });
    expect(status).toMatchObject({ status: 'dead_letter', attempt: 1, error: { code: 'deadline_exceeded' } });
    expect(types(record)).toEqual(['queued', 'running', 'dead_letter']);
  });

  it('whose retry would start after the deadline makes the job die now, not after the wait', async () => {
    const busy = workflow(() => {
      throw new RetryableError('busy', { retryAfterMs: 3_600_000 });
    });
    const { status, record } = await runOnce(await openTemp([busy]), {}, { limits: { deadlineMs: 60_000 } });
    expect(status).toMatchObject({ status: 'dead_letter', attempt: 1, error: { code: 'deadline_exceeded' } });
    expect(record.errors[0]?.rule).toContain('upstream_unavailable');
  });

  it('that throws an error of its own is a defect: one attempt, and the text is only in the evidence', async () => {
    const broken = workflow(() => {
      throw new Error('customer 4711 has no address');
    });
    const claimcheck = await openTemp([broken]);
    const { status, record } = await runOnce(claimcheck);
    expect(status).toMatchObject({ status: 'dead_letter', attempt: 1, error: { code: 'workflow_error' } });
    expect(JSON.stringify(record)).not.toContain('4711');
    expect(record.errors[0]?.evidence).toMatchObject([{ kind: 'error' }]);
    expect(record.decision).toMatchObject({ open: true, code: 'workflow_error' });
  });

  it('says how far it is', async () => {
    const [reported, end] = [gate(), gate()];
    const claimcheck = await openTemp([
      workflow(async ({ progress }) => {
        progress(0.4, 'page 2 of 5');
        reported.open();
        await end.opened;
        return 'done';
      }),
    ]);
    claimcheck.worker().start();
    const { job_id } = await claimcheck.enqueue('test');
    await reported.opened;
    await expect
      .poll(async () => (await claimcheck.record(job_id)).progress)
      .toMatchObject({ fraction: 0.4, note: 'page 2 of 5' });
    end.open();
    expect(await claimcheck.wait(job_id, WAIT)).toMatchObject({ status: 'completed' });
  });

  it('may keep named artifacts of its own, which belong to the job once it completes', async () => {
    const claimcheck = await openTemp([
      workflow(async ({ saveArtifact, attempt }) => {
        await saveArtifact('chart.svg', '<svg/>', 'image/svg+xml');
        await saveArtifact('large.bin', new Uint8Array(100_000), 'application/octet-stream');
        if (attempt === 1) throw new RetryableError('again');
        await expect(saveArtifact('../up', 'x', 'text/plain')).rejects.toThrow('no name for an artifact');
        await expect(saveArtifact('chart.svg', 'x', 'text/plain')).rejects.toThrow(
          'has an artifact chart.svg already',
        );
        return 'done';
      }),
    ]);
    const { record } = await runOnce(claimcheck);
    expect(record.artifacts.map(({ name, bytes, media_type }) => [name, bytes, media_type])).toEqual([
      ['chart.svg', 6, 'image/svg+xml'],
      ['large.bin', 100_000, 'application/octet-stream'],
    ]);
    const chart = await claimcheck.artifact(record.job_id, 'chart.svg');
    expect((await buffer(chart.stream())).toString()).toBe('<svg/>');
  });
});

describe('a named artifact', () => {
  it('that the function forgot to wait for is waited for', async () => {
    const claimcheck = await openTemp([
      workflow(({ saveArtifact }) => {
        void saveArtifact('large.txt', 'x'.repeat(100_000), 'text/plain');
        return 'done';
      }),
    ]);
    const { record } = await runOnce(claimcheck);
    expect(record.artifacts).toMatchObject([{ name: 'large.txt', bytes: 100_000 }]);
    const artifact = await claimcheck.artifact(record.job_id, 'large.txt');
    expect(await buffer(artifact.stream())).toHaveLength(100_000);
  });

  it('that could not be kept is not listed, and its name is free again', async () => {
    const claimcheck = await openTemp([
      workflow(async ({ saveArtifact }) => {
        await expect(saveArtifact('a.txt', 5 as unknown as string, 'text/plain')).rejects.toThrow(
          'must be text, bytes',
        );
        await expect(saveArtifact('a.txt', 'x'.repeat(11 * 1024 * 1024), 'text/plain')).rejects.toThrow(
          'too large',
        );
        await saveArtifact('a.txt', 'small', 'text/plain');
        return 'done';
      }),
    ]);
    const { record } = await runOnce(claimcheck);
    expect(record.artifacts).toMatchObject([{ name: 'a.txt', bytes: 5 }]);
  });

  it('that fails after the function has returned fails the attempt', async () => {
    const claimcheck = await openTemp([
      workflow(({ saveArtifact }) => {
        saveArtifact('a.txt', 'x'.repeat(11 * 1024 * 1024), 'text/plain').catch(() => {});
        return 'done';
      }),
    ]);
    const { status } = await runOnce(claimcheck);
    expect(status).toMatchObject({ status: 'dead_letter', error: { code: 'output_too_large' } });
  });
});

describe('a file behind an artifact', () => {
  it.each([
    ['longer', (bytes: Buffer) => Buffer.concat([bytes, Buffer.from('more')])],
    ['shorter', (bytes: Buffer) => bytes.subarray(0, 50_000)],
    ['other bytes of the same size', (bytes: Buffer) => Buffer.alloc(bytes.length, 'y')],
  ])('that somebody replaced by %s is never given out as whole', async (_, change) => {
    const claimcheck = await openTemp([workflow(() => 'x'.repeat(100_000))]);
    const { record } = await runOnce(claimcheck);
    const file = `${claimcheck.dataDir}/blobs/${record.artifact?.uri}`;
    chmodSync(file, 0o600);
    writeFileSync(file, change(readFileSync(file)));
    const read = async () => await buffer((await claimcheck.artifact(record.job_id)).stream());
    await expect(read()).rejects.toThrow(/has \d+ bytes, and should have|holds other bytes/);
  });
});

describe('an output', () => {
  const circle: Record<string, unknown> = {};
  circle['self'] = circle;

  it.each([
    ['a BigInt', { total: 10n }, '/total'],
    ['a Date', { at: new Date() }, '/at'],
    ['a circle', circle, '/self'],
    ['an integer past 2^53', [2 ** 53], '/0'],
    ['NaN', { share: Number.NaN }, '/share'],
    ['nothing at all', undefined, ''],
  ])('that is %s is malformed, with its path', async (_, output, path) => {
    const { status, record } = await runOnce(await openTemp([workflow(() => output)]));
    expect(status).toMatchObject({ status: 'dead_letter', attempt: 1, error: { code: 'malformed_output' } });
    expect(record.errors[0]?.issues?.[0]?.path).toBe(path);
  });

  it('that its schema refuses is kept word for word as evidence, and not tried again', async () => {
    const strict = defineWorkflow({
      name: 'test',
      version: '1',
      input: z.any(),
      output: z.object({ summary: z.string() }),
      run: () => ({ summary: 5 }) as unknown as { summary: string },
    });
    const { status, record } = await runOnce(await openTemp([strict]));
    expect(status).toMatchObject({ status: 'dead_letter', attempt: 1, error: { code: 'malformed_output' } });
    const [error] = record.errors;
    const raw = '{"summary":5}';
    expect(error?.issues?.[0]?.path).toBe('/summary');
    expect(error?.evidence).toMatchObject([
      { kind: 'raw_output', bytes: raw.length, sha256: createHash('sha256').update(raw).digest('hex') },
    ]);
  });

  it('that passes the size limit is refused before any retry', async () => {
    const big = workflow(() => 'x'.repeat(11 * 1024 * 1024));
    const { status } = await runOnce(await openTemp([big]));
    expect(status).toMatchObject({ status: 'dead_letter', attempt: 1, error: { code: 'output_too_large' } });
  });

  it('with U+0000 and lone surrogates comes back as it was, like the input', async () => {
    const odd = { text: 'a\u0000b\ud800c', ['k\udfff']: '\u0000' };
    const claimcheck = await openTemp([workflow(({ input }) => input)]);
    const { record } = await runOnce(claimcheck, odd);
    expect(record.input).toEqual(odd);
    const bytes = await buffer((await claimcheck.artifact(record.job_id)).stream());
    expect(JSON.parse(bytes.toString())).toEqual(odd);
  });

  it('an error text with U+0000 and 10 MB never stops the failure from being stored', async () => {
    const broken = workflow(() => {
      throw new Error(`\u0000\ud800${'x'.repeat(10_000_000)}`);
    });
    const { status } = await runOnce(await openTemp([broken]));
    expect(status).toMatchObject({ status: 'dead_letter', error: { code: 'workflow_error' } });
  });
});

describe('a cancel', () => {
  it('reaches a running attempt within two seconds although no wake-up comes through, and nothing completes after it', async () => {
    const [running, told] = [gate(), gate<number>()];
    const slow = workflow(async ({ signal }) => {
      running.open();
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      told.open(performance.now());
      return 'finished all the same';
    });
    const worker = await openTemp([slow]);
    const other = await openTemp([slow], { dataDir: worker.dataDir }); // wake-ups do not cross between the two
    worker.worker().start();
    const { job_id } = await worker.enqueue('test');
    await running.opened;
    const cancelledAt = performance.now();
    expect(await other.cancel(job_id, { reason: 'not needed' })).toMatchObject({
      status: 'dead_letter',
      error: { code: 'cancelled' },
    });
    expect((await told.opened) - cancelledAt).toBeLessThan(2000);
    const record = await worker.record(job_id);
    expect(types(record)).toEqual(['queued', 'running', 'cancel_requested', 'dead_letter']);
    expect(record.events.at(-1)).toMatchObject({ code: 'cancelled', reason: 'not needed' });
    await worker.close();
    expect(await other.record(job_id)).toEqual(record);
  });
});

describe('a worker that stops', () => {
  it('lets attempts finish within the grace, and releases the rest without spending an attempt', async () => {
    const [quickRuns, slowRuns, go] = [gate(), gate(), gate()];
    const flow = workflow(async ({ input, signal }) => {
      if (input === 'quick') {
        quickRuns.open();
        await go.opened;
        return 'done';
      }
      slowRuns.open();
      await new Promise((_, reject) =>
        signal.addEventListener('abort', () => reject(signal.reason as Error)),
      );
      return 'never';
    });
    const claimcheck = await openTemp([flow], { settings: { shutdownMs: 300 } });
    const worker = claimcheck.worker();
    worker.start();
    const quick = await claimcheck.enqueue('test', 'quick', { limits: { maxAttempts: 1 } });
    const slow = await claimcheck.enqueue('test', 'slow', { limits: { maxAttempts: 1 } });
    await Promise.all([quickRuns.opened, slowRuns.opened]);
    const stopped = worker.stop();
    go.open();
    await stopped;
    expect(await claimcheck.status(quick.job_id)).toMatchObject({ status: 'completed' });
    const record = await claimcheck.record(slow.job_id);
    expect(record).toMatchObject({ status: 'queued', attempt: 1, errors: [] });
    expect(types(record)).toEqual(['queued', 'running', 'queued']);
  });
});

describe('a worker that is killed', () => {
  it('loses its job to another after the lease, and the record says so', async () => {
    const running = gate();
    const first = workflow(async () => {
      running.open();
      await new Promise(() => {});
    });
    const settings = { leaseMs: 200 };
    const killed = await openTemp([first], { settings });
    const victim = killed.worker();
    victim.start();
    const { job_id } = await killed.enqueue('test');
    await running.opened;
    victim.kill();
    const other = await openTemp([workflow(() => 'recovered')], { dataDir: killed.dataDir, settings });
    other.worker().start();
    expect(await other.wait(job_id, WAIT)).toMatchObject({ status: 'completed', attempt: 2 });
    const record = await other.record(job_id);
    expect(types(record)).toEqual(['queued', 'running', 'requeued_after_restart', 'running', 'completed']);
    expect(codes(record)).toEqual(['worker_lost']);
  });
});

describe('a job that no worker knows', () => {
  it('waits untouched until its deadline, and dies then', async () => {
    const dataDir = await tempDir();
    const asker = await openTemp([workflow(() => 1, { version: '2' })], { dataDir });
    const { job_id } = await asker.enqueue('test', {}, { limits: { deadlineMs: 700 } });
    const worker = await openTemp([workflow(() => 1, { version: '1' })], { dataDir });
    worker.worker().start();
    expect(await asker.wait(job_id, WAIT)).toMatchObject({
      status: 'dead_letter',
      attempt: 0,
      error: { code: 'deadline_exceeded' },
    });
    expect(types(await asker.record(job_id))).toEqual(['queued', 'dead_letter']);
  });
});
