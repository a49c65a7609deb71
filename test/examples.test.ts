import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openClaimcheck } from 'claimcheck';
import { sixCases, startFakeProvider } from 'claimcheck/testing';
import type { ProviderReply } from 'claimcheck/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { httpModel } from '../examples/http-model.ts';
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

describe('the model over HTTP', () => {
  async function generate(reply: ProviderReply) {
    const provider = await startFakeProvider({ script: [reply] });
    try {
      const model = httpModel({ url: `${provider.url}/v1/chat/completions`, key: 'secret', model: 'm-1' });
      const signal = AbortSignal.timeout(10_000);
      return await model.generate({ system: 's', prompt: 'p' }, { signal }).catch((error: unknown) => error);
    } finally {
      expect(provider.calls).toHaveLength(1);
      await provider.close();
    }
  }

  test('gives back the text, why it ended and what it used', async () => {
    expect(await generate({ reply: 'ok', text: '{}', usage: { input: 3, output: 5 } })).toMatchObject({
      text: '{}',
      finishReason: 'stop',
      model: 'm-1',
      usage: { inputTokens: 3, outputTokens: 5 },
    });
    expect(await generate({ reply: 'length_with_json' })).toMatchObject({ finishReason: 'length' });
    expect(await generate({ reply: 'content_filter' })).toMatchObject({ finishReason: 'refused' });
  });

  test.for<[string, ProviderReply, object]>([
    [
      'a rate limit',
      { reply: 'rate_limited', retryAfter: 2 },
      { code: 'upstream_unavailable', retryAfterMs: 2_000 },
    ],
    ['a server error', { reply: 'server_error' }, { code: 'upstream_unavailable' }],
    ['a wrong key', { reply: 'unauthorized' }, { code: 'invalid_request' }],
    ['an empty account', { reply: 'payment_required' }, { code: 'spending_limit' }],
    ['a reset', { reply: 'connection_reset' }, { message: 'fetch failed' }],
  ])('says what %s is', async ([, reply, error]) => {
    expect(await generate(reply)).toMatchObject(error);
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
