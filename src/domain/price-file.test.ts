import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parsePriceFile } from './price-file.ts';

const RATES = { input: 1.25, cached_input: 0.125, output: 10 };
const GPT = { model: 'openai/gpt-5', from: '2026-01-01', usd_per_million: RATES, max_output_tokens: 128_000 };

function issuesOf(file: unknown): string[] {
  return (parsePriceFile(JSON.stringify(file)).issues ?? []).map(({ path, message }) => `${path} ${message}`);
}

function gpt(changes: object): object {
  return { prices: [{ ...GPT, ...changes }] };
}

test('a price file is read as whole nano-dollars', () => {
  const local = { model: 'ollama/llama3:8b', from: '2026-02-01', usd_per_million: { input: 0, output: 0 } };
  expect(parsePriceFile(JSON.stringify({ prices: [GPT, local] }))).toEqual({
    prices: [
      {
        model: 'openai/gpt-5',
        from: '2026-01-01',
        input: 1_250_000_000,
        cachedInput: 125_000_000,
        output: 10_000_000_000,
        maxOutputTokens: 128_000,
      },
      { model: 'ollama/llama3:8b', from: '2026-02-01', input: 0, output: 0 },
    ],
  });
  expect(parsePriceFile('{"prices":[]}')).toEqual({ prices: [] });
});

describe('a mistake is told with its place', () => {
  test.each<[unknown, string[]]>([
    [[], [' must be an object']],
    [{}, ['/prices must be a list of prices']],
    [{ price: [], prices: [] }, ['/price is not known here; did you mean prices?']],
    [{ prices: [7] }, ['/prices/0 must be an object']],
    [gpt({ model: 'gpt-5' }), ['/prices/0/model must be a provider and a model, as "openai/gpt-5"']],
    [gpt({ from: '2026-02-30' }), ['/prices/0/from must be a day (UTC), as "2026-01-31"']],
    [gpt({ from: '2026-1-1' }), ['/prices/0/from must be a day (UTC), as "2026-01-31"']],
    [gpt({ usd_per_million: undefined }), ['/prices/0/usd_per_million is missing']],
    [
      gpt({ usd_per_million: { input: 1, ouput: 2 } }),
      [
        '/prices/0/usd_per_million/ouput is not known here; did you mean output?',
        '/prices/0/usd_per_million/output is missing',
      ],
    ],
    [
      gpt({ usd_per_million: { ...RATES, input: -1, output: '10' } }),
      [
        '/prices/0/usd_per_million/input must be a number of dollars from 0 to 1000000, with at most 9 decimals',
        '/prices/0/usd_per_million/output must be a number of dollars from 0 to 1000000, with at most 9 decimals',
      ],
    ],
    [
      gpt({ max_output_tokens: 0 }),
      ['/prices/0/max_output_tokens must be a whole number of tokens from 1 on'],
    ],
    [
      gpt({ 'a/b~': 1 }),
      ['/prices/0/a~1b~0 is not known here; it may have model, from, usd_per_million, max_output_tokens'],
    ],
    [
      { prices: [GPT, { ...GPT, from: '2026-02-01' }, GPT] },
      ['/prices/2 is a second price of openai/gpt-5 from 2026-01-01, beside /prices/0'],
    ],
    [
      {
        prices: [
          { ...GPT, model: 7 },
          { ...GPT, from: null },
        ],
      },
      [
        '/prices/0/model must be a provider and a model, as "openai/gpt-5"',
        '/prices/1/from must be a day (UTC), as "2026-01-31"',
      ],
    ],
  ])('%j', (file, issues) => expect(issuesOf(file)).toEqual(issues));

  test('also where it is no JSON', () => {
    expect(parsePriceFile('{"prices": [')).toEqual({
      issues: [{ path: '', message: expect.stringMatching(/^is not JSON: /) }],
    });
  });

  test('whatever the file is', () => {
    const some = fc.oneof(
      fc.json(),
      fc.string(),
      fc.json().map((inner) => `{"prices":[${inner}]}`),
    );
    fc.assert(
      fc.property(some, (text) => {
        const { prices, issues } = parsePriceFile(text);
        expect(prices === undefined).toBe(issues !== undefined);
        if (issues !== undefined) expect(issues.length).toBeGreaterThan(0);
      }),
    );
  });
});
