import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseRetryAfter, parseRetryAfterMs } from './retry-after.ts';

const NOW = Date.parse('2026-11-30T12:00:00Z');

describe('Retry-After', () => {
  test.each([
    ['20', 20_000],
    [' 7 ', 7000],
    ['0', 0],
    ['0.25', 250],
    ['864000', 864_000_000],
    ['Mon, 30 Nov 2026 12:00:30 GMT', 30_000],
    ['Thu, 10 Dec 2026 12:00:00 GMT', 864_000_000],
    ['Monday, 30-Nov-26 12:01:00 GMT', 60_000],
    ['Mon Nov 30 12:00:05 2026', 5000],
    ['Mon, 30 Nov 2026 11:00:00 GMT', 0],
  ])('%s is a wait of %d ms', (text, ms) => expect(parseRetryAfter(text, NOW)).toBe(ms));

  test.each(['', 'soon', '-5', '1e9', '2026-11-30T12:00:30Z', 'Mon, never', '5 minutes', 'Infinity', '0x10'])(
    '%s is none',
    (text) => expect(parseRetryAfter(text, NOW)).toBeNull(),
  );

  test('of more than a year is one of a year: what lies past a deadline is its end anyway', () => {
    expect(parseRetryAfter('9'.repeat(40), NOW)).toBe(366 * 86_400_000);
  });

  test('may say anything', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const ms = parseRetryAfter(text, NOW);
        expect(ms === null || (Number.isSafeInteger(ms) && ms >= 0)).toBe(true);
      }),
    );
  });

  test('is given in milliseconds by its name alone', () => {
    expect(parseRetryAfterMs('1500.2')).toBe(1501);
    expect(parseRetryAfterMs('Mon, 30 Nov 2026 12:00:30 GMT')).toBeNull();
  });
});
