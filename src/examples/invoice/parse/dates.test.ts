import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { dateOrder, findDates } from './dates.ts';

function only(text: string): string | null {
  const dates = findDates(text, 'day_first');
  expect(dates.length, text).toBeLessThanOrEqual(1);
  return dates[0]?.iso ?? null;
}

test.for([
  '2026-03-14',
  '2026/03/14',
  '14.03.2026',
  '14.3.2026',
  '14. 3. 2026',
  '14.03.26',
  '14/03/2026',
  '03/14/2026',
  '14-03-2026',
  'March 14, 2026',
  'March 14th 2026',
  'Mar. 14, 2026',
  '14 March 2026',
  '14th of March, 2026',
  '14-Mar-2026',
  '14-MAR-26',
  '14. März 2026',
  '14. Maerz 2026',
  '14. Mrz. 2026',
  '14 mars 2026',
  '14\u00a0mars\u00a02026',
  '14 maart 2026',
  '14 mrt. 2026',
  'Köln, den 14. März 2026',
  'le 14 mars 2026.',
])('%s is 14 March 2026', (written) => {
  expect(only(written)).toBe('2026-03-14');
});

test.for([
  ['1er août 2026', '2026-08-01'],
  ['29 février 2028', '2028-02-29'],
  ['5. Jänner 2026', '2026-01-05'],
  ['31. Dezember 2026', '2026-12-31'],
  ['2 juil. 2026', '2026-07-02'],
])('%s is %s', ([written, iso]) => {
  expect(only(written as string)).toBe(iso);
});

test.for([
  '29.02.2026',
  '31/04/2026',
  '2026-13-01',
  '0.1.2026',
  '1.234.2026',
  '14 Marchers 2026',
  '192.168.10.12',
  '99/99/9999',
])('%s is no date', (text) => {
  expect(findDates(text, 'day_first')).toEqual([]);
});

test('a date with slashes follows the order of its document, others do not', () => {
  const iso = (text: string) => findDates(text, 'month_first').map((date) => date.iso);
  expect(iso('03/04/2026')).toEqual(['2026-03-04']);
  expect(iso('03.04.2026, 03-04-2026')).toEqual(['2026-04-03', '2026-04-03']);
});

test('the order comes from a date that can be read in one way alone, else from the country', () => {
  expect(dateOrder('Invoice 03/04/2026, due 05/20/2026', 'EUR')).toBe('month_first');
  expect(dateOrder('Invoice 03/04/2026, due 20/05/2026', 'USD')).toBe('day_first');
  expect(dateOrder('Invoice 03/04/2026', 'USD')).toBe('month_first');
  expect(dateOrder('Invoice 03/04/2026, Portland, OR 97205', null)).toBe('month_first');
  expect(dateOrder('Invoice 03/04/2026', 'GBP')).toBe('day_first');
  expect(dateOrder('Facture 03/04/2026', 'USD')).toBe('day_first');
});

describe('what a locale writes is read back', () => {
  const LOCALES = ['en-US', 'en-GB', 'de-DE', 'de-AT', 'de-CH', 'fr-FR', 'fr-BE', 'nl-NL', 'nl-BE'];
  test.for(LOCALES)('%s', (locale) => {
    const day = fc.date({ min: new Date('2000-01-01'), max: new Date('2099-12-31'), noInvalidDate: true });
    const style = fc.constantFrom('short' as const, 'medium' as const, 'long' as const);
    fc.assert(
      fc.property(day, style, (date, dateStyle) => {
        const written = new Intl.DateTimeFormat(locale, { dateStyle, timeZone: 'UTC' }).format(date);
        const order = locale === 'en-US' ? 'month_first' : 'day_first';
        const iso = date.toISOString().slice(0, 10);
        expect(
          findDates(written, order).map((found) => found.iso),
          written,
        ).toEqual([iso]);
      }),
    );
  });
});
