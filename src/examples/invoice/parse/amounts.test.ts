import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { findAmounts, isAmounts } from './amounts.ts';
import { mainCurrency, toMoney } from './currencies.ts';

function only(text: string): string | null {
  const amounts = findAmounts(text);
  expect(amounts.length, text).toBeLessThanOrEqual(1);
  const [amount] = amounts;
  return amount ? `${amount.currency ?? '-'} ${amount.number}` : null;
}

test.for([
  ['1,234.50', '- 1234.50'],
  ['1.234,50', '- 1234.50'],
  ['1 234,50', '- 1234.50'],
  ['1\u00a0234,50', '- 1234.50'],
  ['1\u202f234\u202f567,89', '- 1234567.89'],
  ["1'234.50", '- 1234.50'],
  ['1\u2019234.50', '- 1234.50'],
  ['1234,5', '- 1234.5'],
  ['1.234', '- 1234'],
  ['1,234', '- 1234'],
  ['0.99', '- 0.99'],
  ['007', '- 7'],
  ['€ 1.250,-', 'EUR 1250.00'],
  ['1.250,-- €', 'EUR 1250.00'],
  ["CHF 1'250.\u2013", 'CHF 1250.00'],
  ['€1.234,50', 'EUR 1234.50'],
  ['1.234,50 €', 'EUR 1234.50'],
  ['EUR 1.234,50', 'EUR 1234.50'],
  ['1,234.50 USD', 'USD 1234.50'],
  ['$1,234.50', 'USD 1234.50'],
  ['US$1,234.50', 'USD 1234.50'],
  ['CA$ 12.00', 'CAD 12.00'],
  ['£99', 'GBP 99'],
  ['Fr. 80.00', 'CHF 80.00'],
  ['120,00 kr', '- 120.00'],
  ['-5.00', '- -5.00'],
  ['\u2212 5,00 €', 'EUR -5.00'],
  ['€ -315,00', 'EUR -315.00'],
  ['-$4,000.00', 'USD -4000.00'],
  ['(54.00)', '- -54.00'],
  ['50,00-', '- -50.00'],
  ['-0.00', '- 0.00'],
])('%s is read as %s', ([written, read]) => {
  expect(only(written as string)).toBe(read);
});

test.for([
  '19%',
  '19 %',
  '8,1 %',
  '2026-03-14',
  '14.03.2026',
  '14/03/2026',
  'INV-100',
  'A4',
  '10:30',
  '1,23,4',
])('%s is no amount', (text) => {
  expect(findAmounts(text)).toEqual([]);
});

test('all amounts of a line are found with their places', () => {
  const line = 'Net 1.000,00 €   VAT 19% 190,00 €   Gross 1.190,00 €';
  expect(findAmounts(line).map((amount) => line.slice(amount.start, amount.end))).toEqual([
    '1.000,00 €',
    '190,00 €',
    '1.190,00 €',
  ]);
});

test('a text of amounts, currencies and rates alone is told from one with words', () => {
  expect(isAmounts('EUR 1.190,00  (19 %)'.replace(/[()]/g, ''))).toBe(true);
  expect(isAmounts('€')).toBe(true);
  expect(isAmounts('1 item 5.00')).toBe(false);
});

describe('what a locale writes is read back', () => {
  const LOCALES = ['en-US', 'en-GB', 'de-DE', 'de-AT', 'de-CH', 'fr-FR', 'fr-CH', 'fr-BE', 'nl-NL', 'nl-BE'];
  test.for(LOCALES)('%s', (locale) => {
    const currency = fc.constantFrom('EUR', 'USD', 'GBP', 'CHF');
    const cents = fc.integer({ min: -999_999_999_99, max: 999_999_999_99 });
    const display = fc.constantFrom('symbol' as const, 'code' as const);
    fc.assert(
      fc.property(cents, currency, display, (value, code, currencyDisplay) => {
        const written = new Intl.NumberFormat(locale, { style: 'currency', currency: code, currencyDisplay });
        const digits = String(Math.abs(value)).padStart(3, '0');
        const number = `${value < 0 ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}`;
        expect(only(written.format(value / 100)), written.format(value / 100)).toBe(`${code} ${number}`);
      }),
    );
  });
});

test('no text makes the search for amounts fail or read a sign or a digit that is not there', () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(..."0123456789.,-\u2013 \u00a0\u2019'€$EUR()%x".split('')), { maxLength: 60 }),
      (letters) => {
        const text = letters.join('');
        for (const { number, start, end } of findAmounts(text)) {
          expect(number).toMatch(/^-?\d+(\.\d{1,2})?$/);
          const digits = text.slice(start, end).replace(/\D/g, '');
          expect(digits.replace(/^0+/, '')).toBe(
            number.replace(/\D/g, '').replace(/^0+/, '').slice(0, digits.replace(/^0+/, '').length),
          );
        }
      },
    ),
  );
});

test('a long line is searched in a time that grows with its length', () => {
  const started = performance.now();
  findAmounts('1 234 '.repeat(30_000));
  findAmounts('1.234.'.repeat(30_000));
  findAmounts(`${'9'.repeat(100_000)}x`);
  expect(performance.now() - started).toBeLessThan(2_000);
});

test('money has as many decimals as its currency', () => {
  expect(toMoney('1250', 'EUR')).toEqual({ amount: '1250.00', currency: 'EUR' });
  expect(toMoney('12.5', 'USD')).toEqual({ amount: '12.50', currency: 'USD' });
  expect(toMoney('-1250', 'JPY')).toEqual({ amount: '-1250', currency: 'JPY' });
});

test('the main currency is the one named most often, and words are no codes', () => {
  expect(mainCurrency('EUR 1, USD 2, 3 €')).toBe('EUR');
  expect(mainCurrency('EUROPEAN goods, 20 kr')).toBeNull();
  expect(mainCurrency('US$ 5')).toBe('USD');
});
