import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generateText } from 'ai';
import { defineWorkflow, openClaimcheck } from 'claimcheck';
import { sixCases, startFakeProvider } from 'claimcheck/testing';
import type { ProviderReply } from 'claimcheck/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { modelAt } from '../examples/base-url.ts';
import { main } from '../examples/in-process.ts';
import { createApp, openQueue } from '../examples/mount-in-hono.ts';
import { triage, wordCount } from '../examples/workflows.ts';

let dataDir: string;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'claimcheck-examples-'));
});
afterEach(() => rm(dataDir, { recursive: true, force: true }));

test('the example in one process prints what became of its job', async () => {
  const lines: string[] = [];
  await main(dataDir, (line) => lines.push(line));
  expect(lines.slice(0, 3)).toEqual([
    'accepted: queued',
    'ended: completed',
    'artifact: {"team":"billing","urgency":"high"}',
  ]);
  expect(lines[3]).toMatch(/^answer: ./);
});

test('the mounted API serves the jobs that the app accepts', async () => {
  const key = 'k'.repeat(40);
  const queue = await openQueue(dataDir, key);
  try {
    queue.worker().start();
    const app = createApp(queue);
    const accepted = await app.request('/messages', { method: 'POST', body: 'Where is my parcel?' });
    expect(accepted.status).toBe(202);
    const statusUrl = accepted.headers.get('location') as string;
    expect(statusUrl).toMatch(/^\/queue\/ai-jobs\/job_/);

    const { job_id } = (await accepted.json()) as { job_id: string };
    await queue.wait(job_id, { waitMs: 20_000 });
    const headers = { authorization: `Bearer ${key}` };
    expect(await (await app.request(statusUrl, { headers })).json()).toMatchObject({ status: 'completed' });
    const artifact = await app.request(`${statusUrl}/artifact`, { headers });
    expect(await artifact.json()).toEqual({ team: 'other', urgency: 'normal' });
    expect((await app.request(statusUrl)).status).toBe(401);
  } finally {
    await queue.close();
  }
});

test('the word count reads its file and keeps the list beside its output', async () => {
  const queue = await openClaimcheck({ dataDir, workflows: [wordCount] });
  try {
    queue.worker().start();
    const { input_ref } = await queue.upload(Buffer.from('to be or not to be'), 'text/plain');
    const { job_id } = await queue.enqueue(wordCount, undefined, { inputRef: input_ref });
    expect(await queue.wait(job_id, { waitMs: 20_000 })).toMatchObject({ status: 'completed' });
    const [list] = await (await queue.artifact(job_id, 'words.csv')).stream().toArray();
    expect(String(list)).toBe('to,2\nbe,2\nor,1\nnot,1');
  } finally {
    await queue.close();
  }
});

describe('the six cases hold for the triage', () => {
  for (const { name, run } of sixCases({
    workflow: triage,
    input: { message: 'Hello' },
    validText: '{"team":"other","urgency":"low"}',
  })) {
    test(name, run);
  }
});

describe('a model with a base URL of its own', () => {
  const ask = defineWorkflow({
    name: 'ask',
    version: '1',
    input: z.strictObject({ url: z.string() }),
    output: z.string(),
    limits: { maxAttempts: 1 },
    spending: { perCallUsd: 0.01 },
    async run({ input, model }) {
      const { text } = await generateText({ model: model(modelAt(`${input.url}/v1`, 'm-1')), prompt: 'p' });
      return text;
    },
  });

  test.for<[string, ProviderReply, string]>([
    ['an answer', { reply: 'ok', text: 'hello' }, 'completed'],
    ['a rate limit', { reply: 'rate_limited' }, 'upstream_unavailable'],
    ['a wrong key', { reply: 'unauthorized' }, 'invalid_request'],
    ['an empty account', { reply: 'payment_required' }, 'spending_limit'],
  ])('says what %s is', async ([, reply, ending]) => {
    const provider = await startFakeProvider({ script: [reply] });
    const queue = await openClaimcheck({ dataDir, workflows: [ask] });
    try {
      queue.worker().start();
      const { job_id } = await queue.enqueue(ask, { url: provider.url });
      const { status, error } = await queue.wait(job_id, { waitMs: 20_000 });
      expect(error?.code ?? status).toBe(ending);
      expect(provider.calls).toHaveLength(1);
    } finally {
      await queue.close();
      await provider.close();
    }
  });
});

test('the code in docs/workflows.md is the code of the examples and of these tests', async () => {
  const folder = new URL('../examples/', import.meta.url);
  const files = (await readdir(folder)).map((name) => new URL(name, folder));
  const sources = await Promise.all(
    [...files, new URL(import.meta.url)].map((file) => readFile(file, 'utf8')),
  );
  const guide = await readFile(new URL('../docs/workflows.md', import.meta.url), 'utf8');
  const blocks = [...guide.matchAll(/```ts\n(.*?)```/gs)].map(([, code]) => code as string);
  expect(blocks.length).toBeGreaterThan(3);
  for (const block of blocks)
    expect(
      sources.some((source) => source.includes(block)),
      block,
    ).toBe(true);
});
