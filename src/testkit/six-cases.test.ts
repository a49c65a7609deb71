/** The six cases on a workflow as a user writes it; and on workflows that break a promise, each caught by its case. */
import { generateText } from 'ai';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineWorkflow, MalformedOutputError } from '../index.ts';
import { sixCases } from '../testing.ts';
import type { RunContext } from '../index.ts';

const output = z.object({ summary: z.string() });
const input = z.object({ text: z.string() });
type Context = RunContext<z.infer<typeof input>>;

function parsed(text: string): z.infer<typeof output> {
  try {
    return JSON.parse(text) as z.infer<typeof output>;
  } catch {
    throw new MalformedOutputError('The model did not answer with JSON.', { raw: text });
  }
}

async function honest({ input: { text }, model }: Context) {
  return parsed((await generateText({ model: model(), prompt: `Sum up: ${text}` })).text);
}

function cases(run: (context: Context) => Promise<z.infer<typeof output>>) {
  const workflow = defineWorkflow({ name: 'sum_up', version: '1', input, output, run });
  return sixCases({ workflow, input: { text: 'A long story.' }, validText: '{"summary":"Short."}' });
}

describe('the six cases of an ordinary workflow', () => {
  for (const one of cases(honest)) test(one.name, one.run);
});

describe('the six cases of a workflow that reads a file', () => {
  const workflow = defineWorkflow({
    name: 'read_file',
    version: '1',
    input: z.null(),
    output,
    inputFile: 'required',
    async run({ file, model }) {
      return parsed((await generateText({ model: model(), prompt: (await file?.text()) ?? '' })).text);
    },
  });
  const file = { body: Buffer.from('A long story.'), mediaType: 'text/plain' };
  for (const one of sixCases({ workflow, input: null, file, validText: '{"summary":"Short."}' }))
    test(one.name, one.run);
});

describe('a workflow that breaks a promise', () => {
  test.each([
    [
      'closes up what the model left malformed',
      'malformed',
      async ({ model }: Context) => {
        const { text } = await generateText({ model: model(), prompt: 'x' });
        return text.startsWith('{') ? parsed(text) : { summary: text };
      },
    ],
    [
      'retries by itself and so hides the failures',
      'retry-exhaustion',
      async (context: Context) => honest(context).catch(() => ({ summary: 'No provider, so no summary.' })),
    ],
    [
      'takes a failure of the provider for its own defect',
      'retry-exhaustion',
      async (context: Context) =>
        honest(context).catch(() => {
          throw new Error('failed');
        }),
    ],
    ['turns its timeout into an answer', 'success', async () => ({ summary: 7 as unknown as string })],
    ['counts its attempts in memory', 'restart', onlyOnce()],
    ['does not ask the model that it is given', 'polling', async () => ({ summary: 'Made up.' })],
  ])('fails where it %s: %s', async (_, name, run) => {
    const one = cases(run).find((candidate) => candidate.name === name);
    await expect(one?.run()).rejects.toThrow(/"job_id": "job_/);
  });
});

function onlyOnce() {
  let runs = 0;
  return async (context: Context) => {
    runs += 1;
    if (runs > 1) throw new Error('it ran before');
    return honest(context);
  };
}
