/**
 * The table of docs/fake-provider.md, row for row: every fault, spoken by each API, and what AI SDK v6 makes of it. Where the
 * SDK changes its mind, the difference that this test shows is the row to write there, and the classification of
 * failures has to be looked at again.
 */
import { readFile } from 'node:fs/promises';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { APICallError, generateText, NoObjectGeneratedError, Output, streamText } from 'ai';
import type { LanguageModel } from 'ai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { REPLY_NAMES } from '../../src/testkit/provider/replies.ts';
import type { ProviderReply } from '../../src/testkit/provider/replies.ts';
import { startFakeProvider } from '../../src/testkit/provider/server.ts';
import type { FakeProvider } from '../../src/testkit/provider/server.ts';
import { outcome } from './outcomes.ts';

const json = { answer: 42 };

/** A row's name is its reply with what sets it apart. */
const ROWS: Record<string, ProviderReply> = {
  ok: { reply: 'ok', json },
  rate_limited: { reply: 'rate_limited', retryAfter: 7 },
  insufficient_quota: { reply: 'insufficient_quota' },
  credit_too_low: { reply: 'credit_too_low' },
  payment_required: { reply: 'payment_required' },
  failed_in_200: { reply: 'failed_in_200', json },
  'failed_in_200, rate_limit_exceeded': { reply: 'failed_in_200', code: 'rate_limit_exceeded', json },
  'failed_in_200, errorType': { reply: 'failed_in_200', errorType: 'server_error', json },
  'failed_in_200, afterText': { reply: 'failed_in_200', afterText: true, json },
  length_with_json: { reply: 'length_with_json', json },
  refusal: { reply: 'refusal' },
  content_filter: { reply: 'content_filter', json },
  stream_breaks: { reply: 'stream_breaks', json },
  stream_ends_early: { reply: 'stream_ends_early', json },
  overloaded: { reply: 'overloaded' },
  server_error: { reply: 'server_error' },
  bad_gateway_html: { reply: 'bad_gateway_html' },
  connection_reset: { reply: 'connection_reset' },
  connection_refused: { reply: 'ok' },
  silence: { reply: 'silence' },
  'silence, AbortError': { reply: 'silence' },
  'silence, TimeoutError': { reply: 'silence' },
  headers_then_silence: { reply: 'headers_then_silence' },
  'headers_then_silence, AbortError': { reply: 'headers_then_silence' },
  'headers_then_silence, TimeoutError': { reply: 'headers_then_silence' },
  one_byte_a_second: { reply: 'one_byte_a_second' },
  broken_json: { reply: 'broken_json', json },
  empty_body: { reply: 'empty_body' },
  context_too_long: { reply: 'context_too_long' },
  unauthorized: { reply: 'unauthorized' },
  forbidden: { reply: 'forbidden' },
  model_not_found: { reply: 'model_not_found' },
  bad_request: { reply: 'bad_request' },
  wrong_model: { reply: 'wrong_model', json },
  no_usage: { reply: 'no_usage', json },
  malformed_output: { reply: 'malformed_output', json },
  malformed_tool_call: { reply: 'malformed_tool_call' },
};

/** Replies that end only when the client has had enough, for a reason of its own or one of the platform's. */
const ENDLESS: Record<string, () => unknown> = {
  silence: () => new Error('enough'),
  'silence, AbortError': () => undefined,
  'silence, TimeoutError': () => new DOMException('enough', 'TimeoutError'),
  headers_then_silence: () => new Error('enough'),
  'headers_then_silence, AbortError': () => undefined,
  'headers_then_silence, TimeoutError': () => new DOMException('enough', 'TimeoutError'),
  one_byte_a_second: () => new Error('enough'),
};

let provider: FakeProvider;
let models: Record<string, LanguageModel>;
/** Models of a provider that has closed. */
let refused: Record<string, LanguageModel>;
/** Of the page: the rows on what is sent, and those on what the SDK makes of it. */
let sent: string[];
let table: string[];
/** Called when headers have come. */
let headersCame: () => void = () => {};

beforeAll(async () => {
  const page = await readFile(new URL('../../docs/fake-provider.md', import.meta.url), 'utf8');
  const [, faults = '', made = ''] = page.split(/^## Faults|^## What AI SDK v6 makes of it/m);
  const rowsOf = (part: string) => part.split('\n').filter((line) => line.startsWith('| `'));
  sent = rowsOf(faults);
  table = rowsOf(made);
  provider = await startFakeProvider();
  models = modelsAt(provider.url);
  const closed = await startFakeProvider();
  await closed.close();
  refused = modelsAt(closed.url);
});
afterAll(() => provider.close());

function modelsAt(url: string): Record<string, LanguageModel> {
  const at = {
    baseURL: `${url}/v1`,
    apiKey: 'fake',
    fetch: async (...request: Parameters<typeof fetch>) => {
      const response = await fetch(...request);
      headersCame();
      return response;
    },
  };
  const local = { name: 'local', supportsStructuredOutputs: true, includeUsage: true };
  return {
    responses: createOpenAI(at).responses('gpt-5-mini'),
    chat: createOpenAI(at).chat('gpt-4o-mini'),
    messages: createAnthropic(at)('claude-sonnet-4-5'),
    compatible: createOpenAICompatible({ ...local, ...at })('qwen3'),
  };
}

/** The signal of a client that has had enough as soon as the call, or its headers, are there. */
function impatient(name: string): AbortSignal | undefined {
  provider.script(ROWS[name]!);
  const reason = ENDLESS[name];
  if (reason === undefined) return undefined;
  const controller = new AbortController();
  const enough = () => controller.abort(reason());
  if (ROWS[name]!.reply === 'silence') void provider.nextCall().then(enough);
  else headersCame = enough;
  return controller.signal;
}

/** A row for every way in which the APIs differ. */
async function rows(name: string): Promise<string[]> {
  const found = new Map<string, string[]>();
  for (const [api, model] of Object.entries(name === 'connection_refused' ? refused : models)) {
    const told = await outcome(model, {
      withTools: name === 'malformed_tool_call',
      signal: () => impatient(name),
    });
    headersCame = () => {};
    const cells = [told.whole, told.object, told.stream, told.streamedObject].join(' | ');
    found.set(cells, [...(found.get(cells) ?? []), api]);
  }
  return Array.from(found, ([cells, apis]) => `| \`${name}\` | ${apis.join(', ')} | ${cells} |`);
}

describe('the table of what AI SDK v6 makes of', () => {
  test.each(Object.keys(ROWS))('%s is true', async (name) => {
    expect(await rows(name)).toEqual(table.filter((row) => row.startsWith(`| \`${name}\` |`)));
  });

  test('has no row that nobody checks', () => {
    const names = Object.keys(ROWS);
    expect(table.filter((row) => !names.some((name) => row.startsWith(`| \`${name}\` |`)))).toEqual([]);
  });

  test('has a row for every reply, and each has its line on what is sent', () => {
    const replies = REPLY_NAMES.filter((reply) => reply !== 'raw');
    expect(replies.filter((reply) => !table.some((row) => row.startsWith(`| \`${reply}\` |`)))).toEqual([]);
    const faults = [...replies, 'raw'].filter((reply) => reply !== 'ok');
    expect(faults.filter((reply) => !sent.some((row) => row.startsWith(`| \`${reply}\``)))).toEqual([]);
    expect(sent).toHaveLength(faults.length);
  });
});

describe('beyond the table,', () => {
  const ask = (api: string) => ({ model: models[api]!, prompt: 'A secret prompt', maxRetries: 0 });

  async function callError(api: string, reply: ProviderReply): Promise<APICallError> {
    provider.script(reply);
    const error: unknown = await generateText(ask(api)).catch((reason: unknown) => reason);
    if (!APICallError.isInstance(error)) throw new Error(`That is no APICallError: ${String(error)}`);
    return error;
  }

  test.each<[ProviderReply['reply'], string]>([
    ['rate_limited', 'ends'],
    ['broken_json', 'ends'],
    ['stream_ends_early', 'ends'],
    ['stream_breaks', 'throws'],
  ])('textStream after %s %s, and consumeStream resolves', async (reply, how) => {
    provider.script({ reply } as ProviderReply);
    const streamed = () => streamText({ ...ask('messages'), onError: () => {} });
    const read = (async () => {
      for await (const _ of streamed().textStream);
    })();
    expect(
      await read.then(
        () => 'ends',
        () => 'throws',
      ),
    ).toBe(how);
    await expect(streamed().consumeStream()).resolves.toBeUndefined();
  });

  test.each(['responses', 'chat', 'messages', 'compatible'])(
    'an error of %s carries the prompt, quoted by the provider or not, and the headers of the answer',
    async (api) => {
      const limited = await callError(api, {
        reply: 'rate_limited',
        retryAfter: { days: 2 },
        headers: { 'set-cookie': 'a=b' },
      });
      expect(JSON.stringify(limited.requestBodyValues)).toContain('A secret prompt');
      expect(limited.responseHeaders).toMatchObject({ 'retry-after': '172800', 'set-cookie': 'a=b' });
      const { message, responseBody, data } = await callError(api, { reply: 'server_error' });
      for (const told of [message, responseBody, JSON.stringify(data)])
        expect(told).toContain('A secret prompt');
    },
  );

  test('the code of a 200 that says failed is in the cause, or in a body that is no text', async () => {
    const code = 'rate_limit_exceeded';
    const untyped = await callError('responses', { reply: 'failed_in_200', code });
    expect(untyped.cause).toMatchObject({ value: { status: 'failed', error: { code } } });
    const typed = await callError('responses', { reply: 'failed_in_200', code, errorType: 'tokens' });
    expect(typed.responseBody).toMatchObject({ status: 'failed', error: { code, type: 'tokens' } });
  });

  test('an object that could not be made of an answer still has the text and what was used', async () => {
    provider.script({
      reply: 'malformed_output',
      as: 'prose',
      usage: { input: 9, output: 4 },
      requestId: 'req_9',
    });
    const output = Output.object({ schema: z.object({ answer: z.number() }) });
    const error: unknown = await generateText({ ...ask('messages'), output }).catch(
      (reason: unknown) => reason,
    );
    expect(NoObjectGeneratedError.isInstance(error) && error).toMatchObject({
      text: 'The answer is forty-two, I should think.',
      finishReason: 'stop',
      usage: { inputTokens: 9, outputTokens: 4 },
      response: { modelId: 'claude-sonnet-4-5', headers: { 'request-id': 'req_9' } },
    });
  });
});
