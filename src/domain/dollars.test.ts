import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { MOST_USD, dollars, nanoOf, usdOf } from './dollars.ts';
import { NANO } from './money.ts';

const amount = fc.integer({ min: 0, max: MOST_USD * NANO });

test('every whole nano-dollar comes back from its dollars, through JSON', () => {
  fc.assert(
    fc.property(amount, (nano) => {
      expect(nanoOf(JSON.parse(JSON.stringify(usdOf(nano))))).toBe(nano);
      expect(nanoOf(Number(dollars(nano).slice(1)))).toBe(nano);
    }),
  );
});

test.each([
  -0.01,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  MOST_USD + 1,
  0.000_000_000_1,
  0.123_456_789_1,
  '1',
  null,
])('%s is no amount', (usd) => {
  expect(nanoOf(usd)).toBeNull();
});

test.each([
  [0, '$0.00'],
  [250_000_000, '$0.25'],
  [1_500_000_000, '$1.50'],
  [123_000, '$0.000123'],
  [1, '$0.000000001'],
  [12_000_000_000, '$12.00'],
])('%d nano-dollars are written %s', (nano, text) => {
  expect(dollars(nano)).toBe(text);
});
