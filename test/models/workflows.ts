/** Workflows of the tests in which processes are killed; `serve` loads them from this file. */
import { createOpenAI } from '@ai-sdk/openai';
import { generateText, streamText } from 'ai';
import { defineWorkflow } from 'claimcheck';
import { z } from 'zod';

const input = z.strictObject({ url: z.string() });
const modelAt = (url: string) => createOpenAI({ baseURL: `${url}/v1`, apiKey: 'secret' }).chat('m-1');

/** Tells a story as it comes. Its first attempt never ends: it says which process it is in, once it has its answer. */
export const tell = defineWorkflow({
  name: 'tell',
  version: '1',
  input,
  output: z.string(),
  spending: { perCallUsd: 0.01 },
  async run({ input: { url }, model, attempt, progress }) {
    const text = await streamText({ model: model(modelAt(url)), prompt: 'Tell a story.' }).text;
    if (attempt > 1) return text;
    progress(0.5, `pid ${process.pid}`);
    return new Promise(() => {});
  },
});

/** Asks from a process of its own. */
export const askApart = defineWorkflow({
  name: 'ask_apart',
  version: '1',
  isolation: 'process',
  input,
  output: z.string(),
  spending: { perCallUsd: 0.01 },
  run: async ({ input: { url }, model }) =>
    (await generateText({ model: model(modelAt(url)), prompt: 'Say hello.' })).text,
});
