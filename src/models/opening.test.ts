/** What is known of a call before it is made: what it may be billed for, and which calls are the same. */
import { describe, expect, test } from 'vitest';
import { fakeModel } from '../testkit/fake-model.ts';
import { openingOf } from './opening.ts';
import type { CallParams } from './opening.ts';

const KIND = { account: 'default', streamed: false, repair: false };
const PROMPT: CallParams['prompt'] = [{ role: 'user', content: [{ type: 'text', text: 'x' }] }];

/** Given as a workflow in JavaScript may: the types hold nobody back there. */
function sizeOf(params: object) {
  return openingOf(fakeModel(), { prompt: PROMPT, ...params }, KIND).size;
}

const saying = (part: object) => ({ prompt: [{ role: 'user', content: [part] }] });
const resultOf = (output: object) => ({
  prompt: [
    { role: 'tool', content: [{ type: 'tool-result', toolCallId: 'c', toolName: 'look', output }] },
  ] as object[],
});

describe('the size of a call', () => {
  test.each([
    [{ type: 'enabled', budgetTokens: 5000 }, 5100],
    [{ type: 'enabled' }, 1124],
    [{ type: 'adaptive' }, 100],
    [{ type: 'disabled', budgetTokens: 5000 }, 100],
  ])('has the budget of thinking on top of its maximum: %o', (thinking, tokens) => {
    const asked = { maxOutputTokens: 100, providerOptions: { anthropic: { thinking } } };
    expect(sizeOf(asked)).toMatchObject({ maxOutputTokens: tokens, isUnbounded: false });
    const own = { ...asked, providerOptions: { mine: { thinking } } };
    expect(sizeOf(own).maxOutputTokens).toBe(tokens);
  });

  test.each([Number.NaN, -1, Infinity, '5000'])('is none with a budget of %o', (budgetTokens) => {
    const thinking = { type: 'enabled', budgetTokens };
    expect(sizeOf({ providerOptions: { anthropic: { thinking } } }).isUnbounded).toBe(true);
  });

  test('knows the options that add nothing', () => {
    const openai = {
      reasoningEffort: 'low',
      reasoningSummary: 'auto',
      store: false,
      user: 'u',
      metadata: { a: 'b' },
      parallelToolCalls: false,
      strictJsonSchema: true,
      textVerbosity: 'low',
      logprobs: 3,
      previousResponseId: undefined,
    };
    const anthropic = {
      sendReasoning: true,
      disableParallelToolUse: true,
      cacheControl: { type: 'ephemeral' },
    };
    expect(sizeOf({ providerOptions: { openai, anthropic } }).isUnbounded).toBe(false);
  });

  test.each([
    { previousResponseId: 'resp_1' },
    { conversation: 'conv_1' },
    { instructions: 'x' },
    { serviceTier: 'priority' },
    { maxCompletionTokens: 9 },
    { mcpServers: [] },
    { n: 8 },
    { cacheControl: { type: 'ephemeral', ttl: '1h' } },
  ])('is nobody’s to tell with %o', (options) => {
    expect(sizeOf({ providerOptions: { any: options } }).isUnbounded).toBe(true);
  });

  test.each<[string, object]>([
    ['a tool of the provider', { tools: [{ type: 'provider', id: 'a.search', name: 's', args: {} }] }],
    ['one of an older form', { tools: [{ type: 'provider-defined', id: 'a.search', name: 's', args: {} }] }],
    [
      'an option of a tool',
      { tools: [{ type: 'function', name: 's', inputSchema: {}, providerOptions: { a: { x: 1 } } }] },
    ],
    ['an option of a part', saying({ type: 'text', text: 'x', providerOptions: { a: { fileId: 'f' } } })],
    ['an option of a result', resultOf({ type: 'text', value: 'x', providerOptions: { a: { x: 1 } } })],
    ['what a provider ran', saying({ type: 'tool-call', input: {}, providerExecuted: true })],
    [
      'reasoning that the provider kept',
      saying({ type: 'reasoning', text: '', providerOptions: { openai: { itemId: 'rs_1' } } }),
    ],
  ])('is nobody’s to tell with %s', (_, params) => {
    expect(sizeOf(params)).toMatchObject({ hasFiles: false, isUnbounded: true });
  });

  test('is known where an answer is given back', () => {
    const kept = { itemId: 'rs_1', reasoningEncryptedContent: 'secret' };
    const given = [
      saying({ type: 'reasoning', text: '', providerOptions: { openai: kept } }),
      saying({ type: 'reasoning', text: 'x', providerOptions: { anthropic: { signature: 's' } } }),
      saying({ type: 'text', text: 'x', providerOptions: { openai: { itemId: 'msg_1' } } }),
      resultOf({ type: 'json', value: { type: 'file', data: 'x' } }),
      resultOf({ type: 'content', value: [{ type: 'text', text: 'x' }] }),
    ];
    for (const params of given) expect(sizeOf(params)).toMatchObject({ hasFiles: false, isUnbounded: false });
  });

  test.each(['file', 'image-file-id', 'image', 'audio', 'of-tomorrow', undefined])(
    'holds a file in a part of type %s, in a result, too',
    (type) => {
      expect(sizeOf(saying({ type, data: 'x' })).hasFiles).toBe(true);
      expect(sizeOf(resultOf({ type: 'content', value: [{ type, fileId: 'f' }] })).hasFiles).toBe(true);
      expect(sizeOf(resultOf({ type, value: 'x' })).hasFiles).toBe(true);
    },
  );
});

describe('the hash of a request', () => {
  const hashOf = (params: object = {}, provider = 'openai.chat', account = 'default') =>
    openingOf({ ...fakeModel(), provider }, { prompt: PROMPT, ...params }, { ...KIND, account }).opening
      .requestSha256;

  test('tells apart the accounts, and the APIs of one provider', () => {
    expect(hashOf()).toBe(hashOf());
    const all = [hashOf(), hashOf({}, 'openai.responses'), hashOf({}, 'openai.chat', 'other')];
    expect(new Set(all).size).toBe(3);
  });

  test('loses no key, whatever its name', () => {
    const schemaOf = (text: string) => ({
      responseFormat: { type: 'json', schema: JSON.parse(text) as object },
    });
    const all = ['{}', '{"__proto__":{"a":1}}', '{"__proto__":{"a":2}}'].map((text) =>
      hashOf(schemaOf(text)),
    );
    expect(new Set(all).size).toBe(3);
  });
});
