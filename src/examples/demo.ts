/** A workflow that does on request what workflows do to a queue: succeed, be slow, fail in every way, take its worker down. */
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { RetryableError } from '../domain/thrown.ts';
import { defineWorkflow } from '../engine/define.ts';

const MAX_SLOW_MS = 600_000;
const MAX_SPIN_MS = 60_000;

const inputSchema = z.discriminatedUnion('mode', [
  z.strictObject({ mode: z.literal('success') }),
  z.strictObject({ mode: z.literal('slow'), ms: z.int().min(0).max(MAX_SLOW_MS) }),
  z.strictObject({ mode: z.literal('malformed') }),
  z.strictObject({ mode: z.literal('always_fail') }),
  z.strictObject({ mode: z.literal('flaky'), fail_times: z.int().min(0).max(1_000) }),
  z.strictObject({ mode: z.literal('throw'), message: z.string() }),
  z.strictObject({ mode: z.literal('echo'), value: z.unknown() }),
  z.strictObject({ mode: z.literal('exit') }),
  z.strictObject({ mode: z.literal('spin'), ms: z.int().min(0).max(MAX_SPIN_MS) }),
]);

const outputSchema = z.strictObject({ summary: z.string(), value: z.unknown().optional() });

export const demoWorkflow = defineWorkflow({
  name: 'demo',
  version: '1',
  input: inputSchema,
  output: outputSchema,
  async run({ input, attempt, signal, progress }) {
    switch (input.mode) {
      case 'success':
        return { summary: 'It worked.' };
      case 'slow':
        await beSlow(input.ms, signal, progress);
        return { summary: `It worked after ${input.ms} ms.` };
      case 'malformed':
        // What a careless function may return, whatever its types say.
        return { summary: 42 as unknown as string };
      case 'always_fail':
        throw new RetryableError('The demo was asked to fail every time.');
      case 'flaky':
        if (attempt <= input.fail_times) throw new RetryableError(`The demo fails at attempt ${attempt}.`);
        return { summary: `It worked at attempt ${attempt}.` };
      case 'throw':
        throw new Error(input.message);
      case 'echo':
        return { summary: 'The value is in this artifact.', value: input.value };
      case 'exit':
        return process.exit(1);
      case 'spin':
        spin(input.ms);
        return { summary: `It worked after ${input.ms} ms in which nothing else could.` };
    }
  },
});

const STEP_MS = 100;

async function beSlow(ms: number, signal: AbortSignal, progress: (fraction: number) => void): Promise<void> {
  for (let waitedMs = 0; waitedMs < ms; waitedMs += STEP_MS) {
    await sleep(Math.min(STEP_MS, ms - waitedMs), undefined, { signal });
    progress(Math.min(1, (waitedMs + STEP_MS) / ms));
  }
}

function spin(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}
