/** Workflows of the isolation tests, which isolated processes load from this file. */
import { setTimeout as sleep } from 'node:timers/promises';
import { createOpenAI } from '@ai-sdk/openai';
import { generateText } from 'ai';
import {
  AttemptEndedError,
  InvalidInputError,
  MalformedOutputError,
  RetryableError,
  defineWorkflow,
} from 'claimcheck';
import type { RunContext } from 'claimcheck';
import { fakeModel } from 'claimcheck/testing';
import { z } from 'zod';

const input = z.looseObject({ mode: z.string() });

/** What `model()` is, in each of the processes. */
export const model = fakeModel({ mode: 'success', text: 'an answer' });
const failing = fakeModel({ mode: 'always_fail', retryAfterMs: 40 });

/** Says in its progress which process it is in, and then does what it is asked for. */
export const apart = defineWorkflow({
  name: 'apart',
  version: '1',
  isolation: 'process',
  inputFile: 'optional',
  input,
  output: z.looseObject({ spins: z.string().refine(spinsIfAsked).optional() }),
  limits: { timeoutMs: 60_000, maxAttempts: 2 },
  spending: { perCallUsd: 0.01 },
  run(context) {
    context.progress(0.1, `pid ${process.pid}`);
    return deedOf(context);
  },
});

/** The same name in the worker itself, beside which the others run. */
export const beside = defineWorkflow({
  name: 'beside',
  version: '1',
  input,
  output: z.looseObject({}),
  run: () => ({ pid: process.pid }),
});

type Context = RunContext<z.infer<typeof input>>;

function deedOf(context: Context): Promise<Record<string, unknown>> | Record<string, unknown> {
  const deed = DEEDS[context.input.mode];
  if (deed === undefined) throw new Error(`nobody knows how to ${context.input.mode}`);
  return deed(context);
}

let kept: Context | null = null;

const DEEDS: Record<
  string,
  (context: Context) => Promise<Record<string, unknown>> | Record<string, unknown>
> = {
  succeed: () => ({ pid: process.pid }),
  everything,

  // faults
  spin: () => spin(),
  spinOnce: ({ attempt }) => (attempt === 1 ? spin() : { attempt }),
  spinInSchema: () => ({ spins: 'yes' }),
  exit: () => process.exit(7),
  throwLater: () => {
    setTimeout(() => {
      throw new Error('out of nowhere');
    });
    return sleep(60_000, {});
  },
  fillHeap: () => {
    const hoard: number[][] = [];
    for (;;) hoard.push(Array<number>(1_000_000).fill(0.5));
  },
  fillBuffers: () => {
    const hoard: Buffer[] = [];
    for (;;) hoard.push(Buffer.alloc(4_000_000, 1));
  },
  disconnect: () => {
    process.disconnect();
    return sleep(60_000, {});
  },

  // what may be thrown
  retryable: () => {
    throw new RetryableError('later', { retryAfterMs: 30 });
  },
  network: () => {
    throw new TypeError('fetch failed', { cause: Object.assign(new Error('reset'), { code: 'ECONNRESET' }) });
  },
  unusable: () => {
    throw new InvalidInputError('Send another one.');
  },
  malformed: () => {
    throw new MalformedOutputError('no', {
      raw: { half: [1, 2] },
      issues: [{ path: '/half', message: 'not whole' }],
    });
  },
  strange: () => {
    throw new MalformedOutputError('no', { raw: { call: () => 1, when: new Date(0) } });
  },
  defect: () => {
    throw new RangeError('a defect');
  },
  wrongOutput: () => ({ spins: 5 }),
  large: () => ({ text: 'x'.repeat(400_000) }),
  largeArtifact: async ({ saveArtifact }) => {
    await saveArtifact('large.bin', chunks(10, 100_000), 'application/octet-stream');
    return {};
  },
  wholeArtifact: async ({ saveArtifact }) => {
    await saveArtifact('whole.bin', Buffer.alloc(400_000), 'application/octet-stream');
    return {};
  },

  // the model
  caught: async (context) => {
    const asked = generateText({ model: context.model(failing), prompt: 'x' });
    const error: unknown = await asked.catch((thrown: unknown) => thrown);
    return error instanceof RetryableError ? { retryAfterMs: error.retryAfterMs } : { error: String(error) };
  },
  fail: async (context) => {
    await generateText({ model: context.model(failing), prompt: 'x' });
    return {};
  },
  ask: async (context) => {
    const provider = createOpenAI({ baseURL: context.labels['url'] ?? '', apiKey: 'secret' });
    const { text } = await generateText({ model: context.model(provider.chat('m-1')), prompt: 'x' });
    return { text };
  },

  // ends
  heed: ({ signal, saveArtifact }) =>
    new Promise((_, reject) => {
      signal.addEventListener('abort', () => {
        const { reason } = signal as { reason: unknown };
        const ending = reason instanceof AttemptEndedError ? reason.ending : String(reason);
        void saveArtifact('late.txt', 'x', 'text/plain').catch((late: unknown) =>
          reject(new RetryableError(`told ${ending}, ${late === reason ? 'and no artifact' : String(late)}`)),
        );
      });
    }),

  // what is left behind
  leaveTimer: () => {
    setInterval(() => {}, 1000);
    return { pid: process.pid };
  },
  leaveRejection: () => {
    void Promise.reject(new Error('nobody waits for this'));
    return { pid: process.pid };
  },
  leaveContext: (context) => {
    kept = context;
    return { pid: process.pid };
  },
  useContext: async () => {
    kept?.progress(1, 'a voice from before');
    const late: unknown = await kept
      ?.saveArtifact('late.txt', 'x', 'text/plain')
      .catch((error: unknown) => error);
    return { pid: process.pid, isOther: kept !== null, late: (late as Error | undefined)?.message };
  },
};

function spin(): never {
  for (;;);
}

function spinsIfAsked(text: string): boolean {
  return text === 'yes' ? spin() : true;
}

async function* chunks(count: number, bytes: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < count; at += 1) yield new Uint8Array(bytes).fill(at);
}

/** All that the run API has. */
async function everything(context: Context): Promise<Record<string, unknown>> {
  const { file, log, saveArtifact, jobId, attempt, labels } = context;
  log.info({ words: 3, secret: 'hidden', error: new RangeError('x') }, 'one line');
  let streamed = 0;
  for await (const chunk of file?.stream() ?? []) streamed += (chunk as Uint8Array).length;
  const { text, usage } = await generateText({ model: context.model(), system: 's', prompt: 'p' });
  await saveArtifact('small.txt', 'small', 'text/plain');
  await saveArtifact('large.bin', chunks(5, 50_000), 'application/octet-stream');
  const { bytes, mediaType, fileName } = file ?? {};
  return {
    pid: process.pid,
    jobId,
    attempt,
    labels,
    streamed,
    start: (await file?.text())?.slice(0, 3),
    text,
    usage,
    file: { bytes, mediaType, fileName },
  };
}
