import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Buckets, Price, Usage } from './money.ts';
import { costOf, estimateOf, isUnbilled, priceOf } from './pricing.ts';

const DAY = '2026-11-30';

function price(model: string, from: string, changes: Partial<Price> = {}): Price {
  return { model, from, input: 1_250_000_000, output: 10_000_000_000, ...changes };
}

const GPT = price('openai/gpt-5', '2026-01-01', { cachedInput: 125_000_000 });

describe('the price of a model', () => {
  const prices = [
    price('openai/gpt-5', '2026-06-01', { input: 2 }),
    price('openai/gpt-5', '2026-12-01', { input: 3 }),
    price('openai/gpt-5', '2026-01-01', { input: 1 }),
    price('openai/gpt-5-mini', '2026-01-01', { input: 4 }),
    price('openai/gpt-5-2025-08-07', '2026-10-01', { input: 5 }),
    price('anthropic/claude-sonnet-4-5', '2026-01-01', { input: 6 }),
  ];

  test.each([
    ['openai', 'gpt-5', '2026-11-30', 2],
    ['openai', 'gpt-5', '2026-06-01', 2],
    ['openai', 'gpt-5', '2026-05-31', 1],
    ['openai', 'gpt-5', '2026-12-01', 3],
    ['openai', 'gpt-5', '2025-12-31', null],
    ['openai', 'gpt-5-mini-2025-08-07', DAY, 4],
    ['openai', 'gpt-5-2025-08-07', DAY, 5],
    ['openai', 'gpt-5-2025-08-07', '2026-09-30', 2],
    ['anthropic', 'claude-sonnet-4-5-20250929', DAY, 6],
    ['anthropic', 'claude-sonnet-4-5@20250929', DAY, 6],
    ['openai', 'gpt-5-pro', DAY, null],
    ['openai', 'gpt', DAY, null],
    ['azure', 'gpt-5', DAY, null],
    ['', '', DAY, null],
  ])('%s/%s on %s is %s', (provider, model, day, input) => {
    expect(priceOf(prices, provider, model, day)?.input ?? null).toBe(input);
  });

  test('of the fake one is nothing, unless the operator has one for it', () => {
    expect(priceOf([], 'fake', 'any', DAY)).toMatchObject({ input: 0, output: 0 });
    expect(priceOf([price('fake/any', '2026-01-01')], 'fake', 'any', DAY)).toMatchObject({
      input: 1_250_000_000,
    });
  });
});

describe('what a call cost', () => {
  const none: Usage = { input: null, cachedInput: null, cacheWrite: null, output: null, reasoning: null };

  test.each<[Partial<Usage>, Partial<Price>, number | null]>([
    [{ input: 1000, cachedInput: 2000, output: 100 }, {}, 1_250_000 + 250_000 + 1_000_000],
    [{ input: 1, cachedInput: 0, output: 0 }, {}, 1250],
    // a part of a nano-dollar is a whole one
    [{ input: 1, cachedInput: 0, output: 0 }, { input: 1 }, 1],
    [{ input: 0, cachedInput: 0, output: 0 }, {}, 0],
    // what is not told apart costs the same here, so it need not be
    [{ input: 1000, cachedInput: 0, output: 100, reasoning: null, cacheWrite: null }, {}, 2_250_000],
    [{ input: 1000, cachedInput: 0, output: 100, reasoning: null }, { reasoning: 1 }, null],
    [{ input: 1000, cachedInput: 0, output: 100, cacheWrite: null }, { cacheWrite: 1 }, null],
    [{ input: 1000, output: 100 }, {}, null],
    [{ output: 100, cachedInput: 0 }, {}, null],
    [{ input: 100, cachedInput: 0 }, {}, null],
    [{}, { input: 0, output: 0, cachedInput: 0 }, 0],
    [{ input: Number.MAX_SAFE_INTEGER, cachedInput: 0, output: 0 }, {}, null],
  ])('%o at %o is %s', (usage, changes, cost) => {
    expect(costOf({ ...none, ...usage }, { ...GPT, ...changes })).toBe(cost);
  });
});

test('what the buckets do not tell has no cost', () => {
  const usage: Usage = { input: 1, cachedInput: 0, cacheWrite: 0, output: 1, reasoning: 0 };
  expect(costOf(usage, GPT)).toBe(11_250);
  expect(costOf({ ...usage, unpriced: true }, GPT)).toBeNull();
});

test.each([307, 400, 401, 403, 404, 413, 422, 429, 500, 503, 529])('%i is billed nothing', (status) =>
  expect(isUnbilled(status)).toBe(true),
);

test.each([null, 200, 408, 499, 501, 502, 504, 520, 522, 524, 527, 530, 600])(
  'after %s nobody knows what was billed',
  (status) => expect(isUnbilled(status)).toBe(false),
);

describe('what a call can cost', () => {
  const size = { promptBytes: 400, maxOutputTokens: 100, hasFiles: false, isUnbounded: false };

  test('is a token a byte, and every token that the answer may have', () => {
    expect(estimateOf(size, GPT, null)).toEqual({ nano: 400 * 1250 + 100 * 10_000 });
  });

  test('takes the dearest price of each side', () => {
    const dear = { ...GPT, cacheWrite: 2_000_000_000, reasoning: 20_000_000_000 };
    expect(estimateOf(size, dear, null)).toEqual({ nano: 400 * 2000 + 100 * 20_000 });
  });

  test('takes the most that the model writes, where the call sets none', () => {
    const unset = { ...size, maxOutputTokens: null };
    expect(estimateOf(unset, { ...GPT, maxOutputTokens: 200 }, null)).toEqual({
      nano: 400 * 1250 + 200 * 10_000,
    });
    expect(estimateOf(unset, GPT, null)).toEqual({ refused: 'money/no_maximum' });
  });

  test.each([
    { ...size, maxOutputTokens: Number.MAX_SAFE_INTEGER },
    { ...size, promptBytes: 1e16 },
  ])('past all that a number can hold is no estimate: %o', (huge) =>
    expect(estimateOf(huge, GPT, null)).toEqual({ refused: 'money/no_maximum' }),
  );

  test('is nobody’s to guess without a price, nor for files', () => {
    expect(estimateOf(size, null, null)).toEqual({ refused: 'money/no_price' });
    expect(estimateOf({ ...size, hasFiles: true }, GPT, null)).toEqual({ refused: 'money/files' });
    expect(estimateOf({ ...size, isUnbounded: true }, GPT, null)).toEqual({ refused: 'money/unbounded' });
    expect(estimateOf({ ...size, isUnbounded: true }, GPT, 0.05)).toEqual({ nano: 50_000_000 });
  });

  test('is what the workflow declares, whatever else is known', () => {
    for (const known of [null, GPT]) {
      expect(estimateOf({ ...size, hasFiles: true }, known, 0.05)).toEqual({ nano: 50_000_000 });
    }
    expect(() => estimateOf(size, null, -1)).toThrow('perCallUsd');
  });

  test('is nothing where nothing has a price, files or not', () => {
    const free = { ...GPT, input: 0, cachedInput: 0, output: 0 };
    expect(
      estimateOf({ promptBytes: 1, maxOutputTokens: null, hasFiles: true, isUnbounded: true }, free, null),
    ).toEqual({
      nano: 0,
    });
  });
});

describe('of every call', () => {
  const rate = fc.nat(100_000_000_000);
  const prices = fc.record(
    {
      model: fc.constant('p/m'),
      from: fc.constant('2026-01-01'),
      input: rate,
      output: rate,
      cachedInput: rate,
      cacheWrite: rate,
      reasoning: rate,
    },
    { requiredKeys: ['model', 'from', 'input', 'output'] },
  ) as fc.Arbitrary<Price>;
  const tokens = fc.nat(200_000);
  const counted = fc.record({
    input: tokens,
    cachedInput: tokens,
    cacheWrite: tokens,
    output: tokens,
    reasoning: tokens,
  });

  test('the cost is a whole number, never below nothing, and grows with every token', () => {
    fc.assert(
      fc.property(prices, counted, counted, (known, usage, more) => {
        const both = Object.fromEntries(
          Object.entries(usage).map(([bucket, count]) => [bucket, count + more[bucket as keyof Buckets]]),
        ) as unknown as Usage;
        const [cost, larger] = [costOf(usage, known)!, costOf(both, known)!];
        expect(Number.isSafeInteger(cost) && cost >= 0).toBe(true);
        expect(larger).toBeGreaterThanOrEqual(cost);
      }),
    );
  });

  test('the estimate covers every usage within its bounds', () => {
    fc.assert(
      fc.property(prices, counted, fc.nat(1000), (known, usage, spare) => {
        const promptBytes = usage.input + usage.cachedInput + usage.cacheWrite + spare;
        const maxOutputTokens = usage.output + usage.reasoning;
        const { nano } = estimateOf(
          { promptBytes, maxOutputTokens, hasFiles: false, isUnbounded: false },
          known,
          null,
        );
        expect(nano).toBeGreaterThanOrEqual(costOf(usage, known)!);
      }),
    );
  });
});
