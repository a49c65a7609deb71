/**
 * Calls a model, by the AI SDK alone or in jobs of Claimcheck through `context.model`, and says what that took.
 *
 * `node caller.mjs bare|ours <provider's address> <directory> generate|stream <calls> <at once> [<database>]`
 */
import { createOpenAI } from '@ai-sdk/openai';
import { generateText, streamText } from 'ai';
import { z } from 'zod';

/** @import { LanguageModel } from 'ai' */

const [how, url = '', directory = '', kind, calls = '0', atOnce = '1', database] = process.argv.slice(2);
const WARM_UP = 200;
const provider = createOpenAI({ baseURL: `${url}/v1`, apiKey: 'none' }).chat('bench-model-2026-11-30');

/** @param {LanguageModel} model */
async function call(model) {
  const asked = { model, prompt: 'Say something.', maxRetries: 0 };
  if (kind === 'generate') return (await generateText(asked)).text.length;
  let length = 0;
  for await (const text of streamText(asked).textStream) length += text.length;
  return length;
}

/** @param {number} count */
async function bare(count) {
  let left = count;
  const caller = async () => {
    while (left > 0) {
      left -= 1;
      await call(provider);
    }
  };
  await Promise.all(Array.from({ length: Number(atOnce) }, caller));
}

async function openOurs() {
  const { defineWorkflow, openClaimcheck } = /** @type {typeof import('../../src/index.ts')} */ (
    await import(new URL('../../dist/index.js', import.meta.url).href)
  );
  let over = 0;
  let awaited = { count: Infinity, resolve: () => {} };
  const workflow = defineWorkflow({
    name: 'call',
    version: '1',
    input: z.null(),
    output: z.number(),
    spending: { perCallUsd: 0.01 },
    async run({ model }) {
      const length = await call(model(provider));
      over += 1;
      if (over === awaited.count) awaited.resolve();
      return length;
    },
  });
  const claimcheck = await openClaimcheck({
    dataDir: directory,
    ...(database === undefined ? {} : { databaseUrl: database }),
    workflows: [workflow],
    bootstrapKey: 'the-key-of-one-run-of-the-bench-only',
    settings: { concurrency: Number(atOnce) },
  });
  claimcheck.worker().start();
  return async (/** @type {number} */ count) => {
    const done = new Promise((resolve) => {
      awaited = { count: over + count, resolve: () => resolve(undefined) };
    });
    await Promise.all(Array.from({ length: count }, () => claimcheck.enqueue(workflow, null)));
    await done;
  };
}

const run = how === 'ours' ? await openOurs() : bare;
await run(Math.min(WARM_UP, Number(calls)));
const cpu = process.cpuUsage();
const fromMs = performance.now();
await run(Number(calls));
const seconds = (performance.now() - fromMs) / 1000;
const { user, system } = process.cpuUsage(cpu);
const usPerCall = (user + system) / Number(calls);
console.log(JSON.stringify({ seconds, usPerCall, peakMb: process.resourceUsage().maxRSS / 1024 }));
process.exit(0);
