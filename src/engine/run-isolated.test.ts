/** What a worker takes from an isolated process, and what it does not. */
import { buffer } from 'node:stream/consumers';
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import type { AttemptHost, IsolatedEnd, Isolation } from '../ports/isolation.ts';
import type { ClaimedJob } from '../ports/job-store.ts';
import type { Upload } from '../ports/upload-store.ts';
import { createKeeper } from './durable.ts';
import { runIsolated } from './run-isolated.ts';
import type { IsolatedDeps } from './run-isolated.ts';
import { systemClock } from './system-clock.ts';

const JOB: ClaimedJob = {
  jobId: 'job_1',
  tenant: 'acme',
  workflow: 'w',
  version: '1',
  outputSchemaSha256: '0',
  input: null,
  inputRef: 'uploads/a',
  labels: {},
  limits: { timeoutMs: 1000, maxAttempts: 1, deadlineAt: 1e15, deadlineMs: 1e9 },
  attempt: 1,
  used: 1,
  token: 7,
  suspicion: 0,
};
const silent = () => {};
const LOG = { debug: silent, info: silent, warn: silent, error: silent, child: () => LOG };
const OUTPUT = Buffer.from('1');
const CALLS = {
  begin: () => Promise.reject(new Error('no calls')),
  end: () => Promise.reject(new Error('no calls')),
  partial: silent,
};

/** Runs a job whose process does this with its host. */
function run(act: (host: AttemptHost) => Promise<IsolatedEnd>, deps: Partial<IsolatedDeps> = {}) {
  const isolation: Isolation = {
    start: silent,
    ready: () => 1,
    onReady: () => silent,
    run: ({ host }) => act(host),
    stop: () => Promise.resolve(),
  };
  const blobs = {
    put: () => Promise.reject(new Error('no files here')),
    open: () => Promise.resolve(null),
    remove: () => Promise.resolve(),
    ping: () => Promise.resolve(),
  };
  const whole: IsolatedDeps = {
    uploads: { find: () => Promise.resolve(null) },
    blobs,
    openModels() {
      throw new Error('no models');
    },
    calls: CALLS,
    log: LOG,
    clock: systemClock,
    signal: new AbortController().signal,
    keeper: createKeeper(blobs, JOB, { inlineBytes: 100, maxOutputBytes: 100 }),
    maxOutputBytes: 100,
    progress: silent,
    ...deps,
  };
  return runIsolated(isolation, JOB, whole, new Promise(() => {}));
}

describe('a worker whose function runs in an isolated process', () => {
  it('lists the artifacts that were kept, by the names that the function gave them', async () => {
    const ran = await run(async (host) => {
      const { uri } = await host.keep(1, Buffer.from('a'), 'text/plain');
      await host.keep(2, Buffer.from('b'), 'text/plain'); // kept, and not named
      return { type: 'returned', output: OUTPUT, artifacts: [{ name: 'a.txt', uri }] };
    });
    expect(ran).toMatchObject({
      output: OUTPUT,
      artifacts: [{ name: 'a.txt', uri: 'artifacts/job_1/7/named-1', bytes: 1, mediaType: 'text/plain' }],
    });
  });

  it.each([
    ['another job', () => ({ name: 'a.txt', uri: 'artifacts/job_2/1/output.json' })],
    ['no valid name', (uri: string) => ({ name: '../a', uri })],
  ])('lists no artifact of %s', async (_, named) => {
    const ran = await run(async (host) => {
      const { uri } = await host.keep(1, Buffer.from('a'), 'text/plain');
      return { type: 'returned', output: OUTPUT, artifacts: [named(uri)] };
    });
    expect(ran.thrown).toMatchObject({
      code: 'workflow_error',
      text: expect.stringContaining('did not keep'),
    });
  });

  it('lists no name twice', async () => {
    const ran = await run(async (host) => {
      const { uri } = await host.keep(1, Buffer.from('a'), 'text/plain');
      return {
        type: 'returned',
        output: OUTPUT,
        artifacts: [
          { name: 'a', uri },
          { name: 'a', uri },
        ],
      };
    });
    expect(ran.thrown?.code).toBe('workflow_error');
  });

  it.each([
    ['a place that is no number of its own', 0.5, 'text/plain'],
    ['a media type that is none', 2, 'text/html\r\nx: y'],
    ['a place that is taken', 1, 'text/plain'],
  ])('keeps nothing under %s', async (_, place, mediaType) => {
    await run(async (host) => {
      await host.keep(1, Buffer.from('a'), 'text/plain');
      await expect(host.keep(place, Buffer.from('b'), mediaType)).rejects.toThrow(TypeError);
      return { type: 'lost', how: '' };
    });
  });

  it('opens the file of its own job, whoever asks', async () => {
    const asked: object[] = [];
    const upload = { ref: 'uploads/a', bytes: 1 } as Upload;
    await run(
      async (host) => {
        const file = await host.file();
        expect(file).toMatchObject({ upload, bytes: 1 });
        expect((await buffer(file?.stream() ?? Readable.from([]))).toString()).toBe('x');
        return { type: 'lost', how: '' };
      },
      {
        uploads: { find: async (params) => (asked.push(params), upload) },
        blobs: {
          open: async (params) => (
            asked.push(params), { bytes: 1, stream: () => Readable.from([Buffer.from('x')]) }
          ),
        },
      },
    );
    expect(asked).toEqual([{ tenant: 'acme', ref: 'uploads/a' }, { uri: 'uploads/a' }]);
  });

  it('bounds its progress', async () => {
    const seen: unknown[] = [];
    await run(
      async (host) => {
        host.progress(7, 'x'.repeat(300));
        host.progress(-1, null);
        return { type: 'lost', how: '' };
      },
      { progress: (...said) => void seen.push(said) },
    );
    expect(seen).toEqual([
      [1, 'x'.repeat(200)],
      [0, null],
    ]);
  });

  it('is not lost with the process', async () => {
    const ran = await run(() => Promise.resolve({ type: 'lost', how: 'The process ended.' }));
    expect(ran.thrown).toEqual({
      code: 'worker_lost',
      message: 'The process that ran the attempt ended before it was done.',
      text: 'The process ended.',
    });
  });
});
