/** Answers as they should be, read by the AI SDK's own providers. */
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, Output, stepCountIs, streamText, tool } from 'ai';
import type { LanguageModel } from 'ai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { ProviderApi } from '../../src/testkit/provider/replies.ts';
import { startFakeProvider } from '../../src/testkit/provider/server.ts';
import type { FakeProvider } from '../../src/testkit/provider/server.ts';

interface Spoken {
  api: ProviderApi;
  /** Where the provider's id of the request is. */
  requestId: 'x-request-id' | 'request-id';
  model: (baseURL: string) => LanguageModel;
}

const KEY = { apiKey: 'fake' };
const SPOKEN: Record<string, Spoken> = {
  'OpenAI Responses': {
    api: 'responses',
    requestId: 'x-request-id',
    model: (baseURL) => createOpenAI({ baseURL, ...KEY }).responses('gpt-5-mini'),
  },
  'OpenAI Chat Completions': {
    api: 'chat',
    requestId: 'x-request-id',
    model: (baseURL) => createOpenAI({ baseURL, ...KEY }).chat('gpt-4o-mini'),
  },
  'what is compatible with OpenAI': {
    api: 'chat',
    requestId: 'x-request-id',
    model: (baseURL) =>
      createOpenAICompatible({
        name: 'local',
        baseURL,
        ...KEY,
        includeUsage: true,
        supportsStructuredOutputs: true,
      })('qwen3'),
  },
  'Anthropic Messages': {
    api: 'messages',
    requestId: 'request-id',
    model: (baseURL) => createAnthropic({ baseURL, ...KEY })('claude-sonnet-4-5'),
  },
  'Anthropic Messages with its JSON as a tool': {
    api: 'messages',
    requestId: 'request-id',
    model: (baseURL) => createAnthropic({ baseURL, ...KEY })('claude-3-haiku-20240307'),
  },
};

const output = Output.object({ schema: z.object({ answer: z.number() }) });
const weather = tool({
  description: 'The weather of a city',
  inputSchema: z.object({ city: z.string() }),
  execute: ({ city }) => `Sun in ${city}`,
});
const once = { prompt: 'What is it?', maxRetries: 0 };

let provider: FakeProvider;
beforeAll(async () => {
  provider = await startFakeProvider();
});
afterAll(() => provider.close());

describe.each(Object.entries(SPOKEN))('%s', (_, { api, model: modelAt, requestId }) => {
  let model: LanguageModel;
  beforeAll(() => {
    model = modelAt(`${provider.url}/v1`);
  });

  test('brings a text, with its model, the id of the request and the headers of the script', async () => {
    provider.script({
      reply: 'ok',
      text: 'Grüße, 世界 🦊',
      model: 'served-1',
      requestId: 'req_7',
      headers: { 'x-ratelimit-remaining-requests': '41' },
    });
    const { text, finishReason, response } = await generateText({ ...once, model });
    expect([text, finishReason, response.modelId]).toEqual(['Grüße, 世界 🦊', 'stop', 'served-1']);
    expect(response.headers).toMatchObject({
      [requestId]: 'req_7',
      'x-ratelimit-remaining-requests': '41',
    });
    expect(provider.calls.at(-1)).toMatchObject({ api, stream: false, finished: true, reply: 'ok' });
  });

  test('streams the same in as many pieces as the script says', async () => {
    provider.script({
      reply: 'ok',
      text: 'Grüße, 世界 🦊',
      chunks: 4,
      model: 'served-1',
      requestId: 'req_8',
    });
    const result = streamText({ ...once, model });
    const pieces: string[] = [];
    for await (const piece of result.textStream) pieces.push(piece);
    expect([pieces.length, pieces.join('')]).toEqual([4, 'Grüße, 世界 🦊']);
    expect(await result.finishReason).toBe('stop');
    expect(await result.response).toMatchObject({ modelId: 'served-1', headers: { [requestId]: 'req_8' } });
    expect(provider.calls.at(-1)).toMatchObject({ api, stream: true, reply: 'ok' });
  });

  test('brings an object, whole and streamed', async () => {
    provider.script({ reply: 'ok', json: { answer: 42 } });
    expect((await generateText({ ...once, model, output })).output).toEqual({ answer: 42 });
    const streamed = streamText({ ...once, model, output });
    await streamed.consumeStream();
    expect(await streamed.output).toEqual({ answer: 42 });
  });

  test('calls a tool, is told what it gave, and then answers', async () => {
    const script = [
      { reply: 'ok', toolCalls: [{ input: { city: 'Paris' } }] },
      { reply: 'ok', text: 'Sunny.' },
    ] as const;
    provider.script(...script);
    const asked = { ...once, model, tools: { weather }, stopWhen: stepCountIs(2) };
    const { steps, text } = await generateText(asked);
    expect(steps.map(({ finishReason }) => finishReason)).toEqual(['tool-calls', 'stop']);
    expect(steps[0]?.toolResults).toMatchObject([{ input: { city: 'Paris' }, output: 'Sun in Paris' }]);
    expect(text).toBe('Sunny.');
    expect(JSON.stringify(provider.calls.at(-1)?.body)).toContain('Sun in Paris');
    provider.script(...script);
    const streamed = streamText(asked);
    await streamed.consumeStream();
    expect((await streamed.steps)[0]?.toolResults).toMatchObject([{ output: 'Sun in Paris' }]);
    expect(await streamed.text).toBe('Sunny.');
  });

  test('counts tokens in buckets that do not overlap, whole and streamed', async () => {
    const usage = { input: 100, cachedInput: 40, output: 20, reasoning: 7 };
    provider.script({ reply: 'ok', usage });
    const streamed = streamText({ ...once, model });
    await streamed.consumeStream();
    for (const told of [(await generateText({ ...once, model })).usage, await streamed.usage]) {
      expect(told).toMatchObject({
        inputTokens: 140,
        inputTokenDetails: { noCacheTokens: 100, cacheReadTokens: 40 },
        outputTokens: 27,
        outputTokenDetails: { textTokens: 20, reasoningTokens: 7 },
      });
    }
  });
});

test('a write into the cache is a bucket of its own with OpenAI and Anthropic', async () => {
  provider.script({ reply: 'ok', usage: { input: 100, cacheWrite: 30, output: 20 } });
  for (const name of ['OpenAI Responses', 'OpenAI Chat Completions', 'Anthropic Messages']) {
    const model = SPOKEN[name]!.model(`${provider.url}/v1`);
    const { usage } = await generateText({ ...once, model });
    expect(usage).toMatchObject({
      inputTokens: 130,
      inputTokenDetails: { noCacheTokens: 100, cacheWriteTokens: 30 },
    });
  }
});

test('Chat Completions tells the usage of a stream only where the request asks for it', async () => {
  provider.script({ reply: 'ok' });
  const model = createOpenAICompatible({ name: 'local', baseURL: `${provider.url}/v1` })('qwen3');
  const streamed = streamText({ ...once, model });
  await streamed.consumeStream();
  expect((await streamed.usage).inputTokens).toBeUndefined();
  expect(provider.calls.at(-1)?.body).not.toHaveProperty('stream_options');
});
