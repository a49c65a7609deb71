/** Currencies as invoices write them, and amounts of money in the one form that leaves this example. */

export interface Money {
  /** Decimal digits with a point, such as `1234.50` or `-5.00`; never a float. */
  amount: string;
  /** ISO 4217. */
  currency: string;
}

const CODES =
  'EUR USD GBP CHF CAD AUD NZD SGD HKD SEK NOK DKK ISK PLN CZK HUF RON BGN UAH JPY CNY KRW INR BRL MXN ZAR ILS AED'.split(
    ' ',
  );

/** Longer ones first, so that `US$` (`$US` in French) is not read as `$`. `kr` alone does not say of which country. */
const SYMBOLS: readonly (readonly [symbol: string, currency: string | null])[] = [
  ['US$', 'USD'],
  ['CA$', 'CAD'],
  ['AU$', 'AUD'],
  ['NZ$', 'NZD'],
  ['HK$', 'HKD'],
  ['$US', 'USD'],
  ['$CA', 'CAD'],
  ['$AU', 'AUD'],
  ['\u00a3GB', 'GBP'],
  ['C$', 'CAD'],
  ['A$', 'AUD'],
  ['S$', 'SGD'],
  ['R$', 'BRL'],
  ['SFr.', 'CHF'],
  ['sFr.', 'CHF'],
  ['Fr.', 'CHF'],
  ['z\u0142', 'PLN'],
  ['K\u010d', 'CZK'],
  ['kr', null],
  ['\u20ac', 'EUR'],
  ['\u00a3', 'GBP'],
  ['\u20b9', 'INR'],
  ['\u00a5', 'JPY'],
  ['$', 'USD'],
];

function escape(text: string): string {
  return text.replace(/[$.]/g, String.raw`\$&`);
}

/** Source of a pattern without groups: one currency, by code or symbol, that is no part of a word. */
export const CURRENCY = [
  ...CODES.map((code) => `${code}(?![\\p{L}])`),
  ...SYMBOLS.map(([symbol]) => escape(symbol) + (/\p{L}$/u.test(symbol) ? '(?!\\p{L})' : '')),
].join('|');

export function currencyOf(written: string): string | null {
  if (CODES.includes(written)) return written;
  return SYMBOLS.find(([symbol]) => symbol === written)?.[1] ?? null;
}

const MENTION = new RegExp(`(?<![\\p{L}])(?:${CURRENCY})`, 'gu');

/** The currency that a text names most often, the first of equals; null where it names none. */
export function mainCurrency(text: string): string | null {
  const counts = new Map<string, number>();
  for (const [written] of text.matchAll(MENTION)) {
    const currency = currencyOf(written);
    if (currency) counts.set(currency, (counts.get(currency) ?? 0) + 1);
  }
  let main: string | null = null;
  for (const [currency, count] of counts) {
    if (main === null || count > (counts.get(main) ?? 0)) main = currency;
  }
  return main;
}

/** With as many decimals as the currency has, or as many as were written where those are more. */
export function toMoney(number: string, currency: string): Money {
  const [whole = '0', decimals = ''] = number.split('.');
  const padded = decimals.padEnd(minorDigits(currency), '0');
  return { amount: padded === '' ? whole : `${whole}.${padded}`, currency };
}

function minorDigits(currency: string): number {
  const format = new Intl.NumberFormat('en', { style: 'currency', currency });
  return format.resolvedOptions().maximumFractionDigits ?? 2;
}
