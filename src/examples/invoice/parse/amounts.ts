/**
 * Amounts as people write them: `1,234.50`, `1.234,50`, `1 234,50`, `1'234.50`, `1.250,-`, with a currency before or
 * after them or none.
 *
 * A single separator before one or two digits is the decimal one, before three it groups thousands:
 * invoices do not write three decimals.
 */
import { CURRENCY, currencyOf } from './currencies.ts';

export interface Amount {
  /** Digits with a point where decimals were written; a minus where it is below zero. */
  number: string;
  /** Null where none stands beside it, or one that could be of several countries. */
  currency: string | null;
  start: number;
  end: number;
}

const SPACE = ' \\u00a0\\u2007\\u2009\\u202f';
const DECIMALS = '(?:\\d{1,2}|[-\\u2013\\u2014]{1,2})';

function grouped(separator: string, decimal: string): string {
  return `\\d{1,3}(?:${separator}\\d{3})+(?:${decimal}${DECIMALS})?`;
}

const NUMBER = [
  grouped(`[${SPACE}]`, '[.,]'),
  grouped("['\\u2019]", '[.,]'),
  grouped('\\.', ','),
  grouped(',', '\\.'),
  `\\d+(?:[.,]${DECIMALS})?`,
].join('|');

const MINUS = '[-\\u2212\\u2013]';
/** Not inside a word, a date, a reference number or a longer number. */
const BEFORE = "(?<![\\p{L}\\p{N}]|\\p{N}[.,'\\u2019/:\\u2013-]|\\p{L}-)";
const AFTER = `(?![\\p{L}\\p{N}]|[.,'\\u2019/:-]\\p{N}|[${SPACE}]?%)`;

const AMOUNT = new RegExp(
  `${BEFORE}(?<open>\\()?(?<sign>${MINUS}[${SPACE}]?)?(?:(?<before>${CURRENCY})[${SPACE}]?)?` +
    `(?<inner>${MINUS}[${SPACE}]?)?(?<number>${NUMBER})(?<trailing>-(?![\\p{L}\\p{N}]))?` +
    `(?:[${SPACE}]?(?<after>${CURRENCY}))?(?<close>\\))?${AFTER}`,
  'gu',
);

export function findAmounts(text: string): Amount[] {
  const amounts: Amount[] = [];
  if (!/\d/.test(text)) return amounts; // most texts, and far cheaper to tell
  for (const found of text.matchAll(AMOUNT)) {
    const { open, close, sign, inner, trailing, number = '', before, after } = found.groups ?? {};
    const negative = Boolean(sign ?? inner ?? trailing ?? (open && close));
    const digits = plainNumber(number);
    amounts.push({
      number: negative && /[1-9]/.test(digits) ? `-${digits}` : digits,
      currency: currencyOf(before ?? after ?? ''),
      start: found.index,
      end: found.index + found[0].length,
    });
  }
  return amounts;
}

/** A written number, without sign and currency, as digits with a point. */
function plainNumber(written: string): string {
  const [, whole = '', decimals = ''] = /^(.*?)(?:[.,](\d{1,2}|[-\u2013\u2014]{1,2}))?$/u.exec(written) ?? [];
  const digits = whole.replace(/\D/g, '').replace(/^0+(?=\d)/, '');
  if (decimals === '') return digits;
  return `${digits}.${/\d/.test(decimals) ? decimals : '00'}`;
}

const FILLER = new RegExp(`(?<!\\p{L})(?:${CURRENCY})|\\d+(?:[.,]\\d+)?[${SPACE}]?%|[\\s:=*]`, 'gu');

/** Whether a text is nothing but amounts, currencies and rates. */
export function isAmounts(text: string): boolean {
  return withoutAmounts(text).replace(FILLER, '') === '';
}

export function withoutAmounts(text: string): string {
  const rest: string[] = [];
  let from = 0;
  for (const amount of findAmounts(text)) {
    rest.push(text.slice(from, amount.start));
    from = amount.end;
  }
  return [...rest, text.slice(from)].join('');
}
