/** The operator's prices: read once, at the start, and all of them right or none. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileReason } from '../cli/file-reasons.ts';
import { EXIT, Problem } from '../cli/problem.ts';
import type { Price } from '../domain/money.ts';
import { parsePriceFile } from '../domain/price-file.ts';
import type { ValidationIssue } from '../domain/record.ts';

/** A price as a price file has it: dollars for a million tokens of each bucket, from a day on (UTC). */
export interface ModelPrice {
  /** `openai/gpt-5` */
  model: string;
  /** `2026-01-31` */
  from: string;
  usd_per_million: {
    input: number;
    cached_input?: number;
    cache_write?: number;
    output: number;
    reasoning?: number;
  };
  max_output_tokens?: number;
}

/** @throws Problem naming the file and what is wrong where in it */
export function readPrices(path: string | null): readonly Price[] {
  if (path === null) return [];
  const file = resolve(path);
  const { prices, issues } = parsePriceFile(textOf(file));
  if (issues === undefined) return prices;
  throw new Problem(`CLAIMCHECK_PRICES: ${file}${sentence(issues)}`, EXIT.usage);
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new Problem(`CLAIMCHECK_PRICES names ${file}: ${fileReason(error, 'read')}.`, EXIT.usage);
  }
}

/** @throws TypeError that names the place */
export function pricesOf(prices: readonly ModelPrice[]): readonly Price[] {
  const read = parsePriceFile(JSON.stringify({ prices }));
  if (read.issues === undefined) return read.prices;
  throw new TypeError(`openClaimcheck:${sentence(read.issues)}`);
}

function sentence(issues: readonly ValidationIssue[]): string {
  const [first] = issues;
  const where = first === undefined || first.path === '' ? '' : ` ${first.path}`;
  const more = issues.length > 1 ? ` (and ${issues.length - 1} more)` : '';
  return `${where} ${first?.message ?? 'is wrong'}${more}.`;
}
