import type { LanguageModelV3Usage } from '@ai-sdk/provider';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { usageOf } from './usage.ts';

type Input = LanguageModelV3Usage['inputTokens'];
type Output = LanguageModelV3Usage['outputTokens'];

const NO_INPUT: Input = { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined };
const NO_OUTPUT: Output = { total: undefined, text: undefined, reasoning: undefined };

function usage(input: Partial<Input>, output: Partial<Output>, raw?: unknown): LanguageModelV3Usage {
  return {
    inputTokens: { ...NO_INPUT, ...input },
    outputTokens: { ...NO_OUTPUT, ...output },
    raw: raw as NonNullable<LanguageModelV3Usage['raw']>,
  };
}

describe('the usage of', () => {
  test('Anthropic, with a cache', () => {
    const said = usage(
      { total: 60, noCache: 10, cacheRead: 30, cacheWrite: 20 },
      { total: 7 },
      { input_tokens: 10, output_tokens: 7, cache_read_input_tokens: 30, cache_creation_input_tokens: 20 },
    );
    expect(usageOf(said)).toEqual({ input: 10, cachedInput: 30, cacheWrite: 20, output: 7, reasoning: null });
  });

  test.each([
    { server_tool_use: { web_search_requests: 1 } },
    { server_tool_use: { web_search_requests: 0, of_tomorrow: 2 } },
    { cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 9 } },
  ])('Anthropic, with what no bucket tells: %o', (more) => {
    const tokens = { input_tokens: 10, output_tokens: 7 };
    const said = (raw: object) => usageOf(usage({ total: 10 }, { total: 7 }, { ...tokens, ...raw }));
    expect(said(more)).toMatchObject({ input: 10, output: 7, unpriced: true });
    const nothing = { server_tool_use: { web_search_requests: 0 }, cache_creation: null };
    expect(said(nothing)).not.toHaveProperty('unpriced');
  });

  test('OpenAI, with reasoning', () => {
    const said = usage(
      { total: 60, noCache: 40, cacheRead: 20 },
      { total: 100, text: 30, reasoning: 70 },
      {
        prompt_tokens: 60,
        completion_tokens: 100,
        prompt_tokens_details: { cached_tokens: 20 },
        completion_tokens_details: { reasoning_tokens: 70 },
      },
    );
    expect(usageOf(said)).toEqual({
      input: 40,
      cachedInput: 20,
      cacheWrite: null,
      output: 30,
      reasoning: 70,
    });
  });

  test('a server that counts only totals, where the SDK puts 0 for the rest', () => {
    const said = usage(
      { total: 60, noCache: 60, cacheRead: 0 },
      { total: 9, text: 9, reasoning: 0 },
      { prompt_tokens: 60, completion_tokens: 9 },
    );
    expect(usageOf(said)).toEqual({
      input: 60,
      cachedInput: null,
      cacheWrite: null,
      output: 9,
      reasoning: null,
    });
  });

  test.each([{}, { total_tokens: 7 }, { prompt_tokens: null, completion_tokens: null }])(
    'a server that counts nothing, where the SDK puts 0 for all: %o',
    (raw) => {
      const zeros = usage({ total: 0, noCache: 0, cacheRead: 0 }, { total: 0, text: 0, reasoning: 0 }, raw);
      expect(Object.values(usageOf(zeros))).toEqual([null, null, null, null, null]);
    },
  );

  test('a provider whose own form is not known is what the SDK makes of it', () => {
    const said = usage(
      { total: 60, noCache: 60, cacheRead: 0 },
      { total: 9, text: 4, reasoning: 5 },
      { promptTokenCount: 60 },
    );
    expect(usageOf(said)).toMatchObject({ input: 60, cachedInput: 0, output: 4, reasoning: 5 });
  });

  test('one that says nothing is unknown', () => {
    expect(Object.values(usageOf(usage({}, {})))).toEqual([null, null, null, null, null]);
  });

  test.each([
    ['more from the cache than there was', { total: 10, noCache: -10, cacheRead: 20 }, { total: 1 }, 'input'],
    ['parts that make another total', { total: 10, noCache: 3, cacheRead: 3 }, { total: 1 }, 'input'],
    ['reasoning beside its total', { total: 1 }, { total: 9, text: 0, reasoning: 300 }, 'output'],
    ['halves', { total: 0.5 }, { total: 1 }, 'input'],
    ['less than nothing', { total: 1 }, { total: -1 }, 'output'],
  ] as const)('one that contradicts itself is unknown: %s', (_, input, output, bucket) => {
    expect(usageOf(usage(input, output))[bucket]).toBeNull();
  });
});

test('every usage is in buckets that share no token, make up its totals, and are never guessed', () => {
  const tokens = fc.oneof(fc.constant(undefined), fc.nat(1_000_000));
  fc.assert(
    fc.property(
      fc.record({ noCache: fc.nat(1e6), cacheRead: tokens, cacheWrite: tokens }),
      fc.record({ text: fc.nat(1e6), reasoning: tokens }),
      (input, output) => {
        const totals = [
          input.noCache + (input.cacheRead ?? 0) + (input.cacheWrite ?? 0),
          output.text + (output.reasoning ?? 0),
        ] as const;
        const said = usage({ ...input, total: totals[0] }, { ...output, total: totals[1] });
        const found = usageOf(said);
        expect((found.input ?? 0) + (found.cachedInput ?? 0) + (found.cacheWrite ?? 0)).toBe(totals[0]);
        expect((found.output ?? 0) + (found.reasoning ?? 0)).toBe(totals[1]);
        expect([found.cachedInput, found.cacheWrite, found.reasoning]).toEqual(
          [input.cacheRead, input.cacheWrite, output.reasoning].map((one) => one ?? null),
        );
      },
    ),
  );
});
