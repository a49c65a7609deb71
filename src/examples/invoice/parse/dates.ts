/**
 * Dates as invoices write them in English, German, French and Dutch.
 *
 * `03/04/2026` is 3 April in Europe and March 4 in the United States: `dateOrder` finds out which.
 */
import { fold } from './lines.ts';

export type DateOrder = 'day_first' | 'month_first';

export interface FoundDate {
  /** `2026-03-14` */
  iso: string;
  start: number;
  end: number;
}

/** Every form of a month's name and short name in the four languages, folded, without dots. */
const MONTHS = [
  'january januar janvier januari janner jan janv',
  'february februar fevrier februari feber feb febr fev fevr',
  'march marz mars maart mar mrz maerz mrt',
  'april avril apr avr',
  'may mai mei',
  'june juni juin jun',
  'july juli juillet jul juil',
  'august aout augustus aug',
  'september septembre sep sept',
  'october oktober octobre oct okt',
  'november novembre nov',
  'december dezember decembre dec dez',
].map((names) => names.split(' '));

const MONTH = MONTHS.flat()
  .toSorted((one, other) => other.length - one.length)
  .join('|');

const BEFORE = '(?<![a-z\\d]|\\d[./-])';
const AFTER = '(?![a-z\\d]|[./-]\\d)';
const YEAR_FIRST = new RegExp(`${BEFORE}(\\d{4})([-/.])(\\d{1,2})\\2(\\d{1,2})${AFTER}`, 'g');
const NUMERIC = new RegExp(`${BEFORE}(\\d{1,2})([-/.]) ?(\\d{1,2})\\2 ?(\\d{4}|\\d{2})${AFTER}`, 'g');
const DAY_NAMED = new RegExp(
  `${BEFORE}(\\d{1,2})(?:st|nd|rd|th|er|e)?\\.?[ -]*(?:of )?(${MONTH})\\.?,?[ -]*(\\d{4}|\\d{2})${AFTER}`,
  'g',
);
const NAMED_DAY = new RegExp(`${BEFORE}(${MONTH})\\.? +(\\d{1,2})(?:st|nd|rd|th)?,? +(\\d{4})${AFTER}`, 'g');

export function findDates(text: string, order: DateOrder): FoundDate[] {
  const found: FoundDate[] = [];
  if (!/\d/.test(text)) return found; // most texts, and far cheaper to tell
  const plain = fold(text);
  const take = (match: RegExpExecArray, year = '', month = 0, day = '') => {
    const iso = isoDate(year, month, Number(day));
    if (iso) found.push({ iso, start: match.index, end: match.index + match[0].length });
  };
  for (const match of plain.matchAll(YEAR_FIRST)) take(match, match[1], Number(match[3]), match[4]);
  for (const match of plain.matchAll(NUMERIC)) {
    const monthFirst = match[2] === '/' && isMonthFirst(Number(match[1]), Number(match[3]), order);
    if (monthFirst) take(match, match[4], Number(match[1]), match[3]);
    else take(match, match[4], Number(match[3]), match[1]);
  }
  for (const match of plain.matchAll(DAY_NAMED)) take(match, match[3], monthNumber(match[2]), match[1]);
  for (const match of plain.matchAll(NAMED_DAY)) take(match, match[3], monthNumber(match[1]), match[2]);
  return found.toSorted((one, other) => one.start - other.start);
}

function isMonthFirst(first: number, second: number, order: DateOrder): boolean {
  if (first > 12) return false;
  return second > 12 || order === 'month_first';
}

function monthNumber(name = ''): number {
  return MONTHS.findIndex((names) => names.includes(name)) + 1;
}

/** Null where the calendar has no such day. Two digits are a year of this century. */
function isoDate(year: string, month: number, day: number): string | null {
  const full = year.length === 2 ? `20${year}` : year;
  const iso = `${full}-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}`;
  const time = Date.parse(`${iso}T00:00:00Z`);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(iso) ? iso : null;
}

const SLASHED = /(?<![\d/])(\d{1,2})\/(\d{1,2})\/(?:\d{4}|\d{2})(?![\d/])/g;
/** A state and a ZIP code, as in `Portland, OR 97205`. */
const US_ADDRESS = /\b[A-Z]{2} \d{5}(?:-\d{4})?\b/;

const NOT_ENGLISH = /\b(?:rechnung|facture|fa[ck]tuur)/i;

/**
 * How `a/b/year` is meant in this text: as another date of it can be read only; else month first where it is
 * an English one in US dollars or with a US address; else day first. `currency` is the invoice's own.
 */
export function dateOrder(text: string, currency: string | null): DateOrder {
  const dates = [...text.matchAll(SLASHED)];
  const dayFirst = dates.some((date) => Number(date[1]) > 12);
  const monthFirst = dates.some((date) => Number(date[2]) > 12);
  if (dayFirst !== monthFirst) return dayFirst ? 'day_first' : 'month_first';
  if (NOT_ENGLISH.test(text)) return 'day_first';
  return currency === 'USD' || US_ADDRESS.test(text) ? 'month_first' : 'day_first';
}
