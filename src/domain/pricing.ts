/**
 * What a call to a model costs: the most it can, before it is made, and what it did, by its usage. Prices are the operator's. What nobody
 * priced or counted is null here, never 0 and never a guess.
 */
import { nanoOf } from './dollars.ts';
import type { Buckets, NanoUsd, Price, Usage } from './money.ts';

const PER_PRICE = 1_000_000n;

/** What the estimate of a call is made from. */
export interface SizeOfCall {
  /** No text has more tokens than bytes. */
  promptBytes: number;
  maxOutputTokens: number | null;
  hasFiles: boolean;
  /** The provider may bill what neither the prompt nor the answer holds. */
  isUnbounded: boolean;
}

export type Estimate =
  | { nano: NanoUsd; refused?: never }
  | { nano?: never; refused: 'money/no_price' | 'money/no_maximum' | 'money/files' | 'money/unbounded' };

/** The fake model of `claimcheck/testing` is nobody's to bill, so that tests need no prices. */
const FAKE: Price = { model: 'fake', from: '1970-01-01', input: 0, output: 0 };

/** A version of a model by its day: `gpt-5-2025-08-07`, `claude-sonnet-4-5-20250929`, `claude-sonnet-4-5@20250929`. */
const DATED = /[-@](\d{4}-\d{2}-\d{2}|\d{8})$/;

/**
 * What a model costs on a day: its newest price that holds by then. A dated version without a price of its own has that of
 * the name before its date. Null where it has none.
 * @param day UTC, `2026-11-30`
 */
export function priceOf(
  prices: readonly Price[],
  provider: string,
  model: string,
  day: string,
): Price | null {
  const name = `${provider}/${model}`;
  const own = newest(prices, name, day) ?? newest(prices, name.replace(DATED, ''), day);
  return own ?? (provider === 'fake' ? FAKE : null);
}

function newest(prices: readonly Price[], name: string, day: string): Price | null {
  const holding = prices.filter(({ model, from }) => model === name && from <= day);
  return holding.reduce<Price | null>(
    (best, one) => (best !== null && best.from > one.from ? best : one),
    null,
  );
}

type PerBucket = Readonly<Record<keyof Buckets, number>>;

function perBucket({ input, cachedInput, cacheWrite, output, reasoning }: Price): PerBucket {
  return {
    input,
    cachedInput: cachedInput ?? input,
    cacheWrite: cacheWrite ?? input,
    output,
    reasoning: reasoning ?? output,
  };
}

/** Where the tokens of a bucket lie that a provider does not tell apart. */
const WITHIN = { cachedInput: 'input', cacheWrite: 'input', reasoning: 'output' } as const;

/**
 * What a call cost, rounded up to whole nano-dollars. Null where a bucket that counts is null: one of no price counts for nothing, and
 * one of the same price as the bucket in which its tokens lie anyway need not be told apart. Null, too, where the buckets are not all.
 */
export function costOf(usage: Usage, price: Price): NanoUsd | null {
  if (usage.unpriced === true) return null;
  const prices = perBucket(price);
  let sum = 0n;
  for (const bucket of Object.keys(prices) as (keyof Buckets)[]) {
    const tokens = usage[bucket];
    if (tokens === null && counts(bucket, prices)) return null;
    sum += BigInt(tokens ?? 0) * BigInt(prices[bucket]);
  }
  return rounded(sum);
}

function counts(bucket: keyof Buckets, prices: PerBucket): boolean {
  if (bucket === 'input' || bucket === 'output') return prices[bucket] > 0;
  return prices[bucket] !== prices[WITHIN[bucket]];
}

/**
 * Whether a call that was answered by this status is known to be billed nothing: it was sent elsewhere, was refused, or
 * the provider says that it could not serve it. Behind a gateway that gave up waiting (408, 502, 504, 520 to 527), or where the caller did (499), the model may have written its answer.
 */
export function isUnbilled(httpStatus: number | null): boolean {
  if (httpStatus === null || httpStatus === 408 || httpStatus === 499) return false;
  return (httpStatus >= 300 && httpStatus < 500) || [500, 503, 529].includes(httpStatus);
}

/**
 * The most that a call can cost: what the workflow declares, else a token for every byte of the prompt and every token that the
 * answer may have, each at the dearest price of its side. Refused where nobody can tell.
 * @param perCallUsd dollars; an amount as `nanoOf` takes it
 * @throws where `perCallUsd` is no amount
 */
export function estimateOf(size: SizeOfCall, price: Price | null, perCallUsd: number | null): Estimate {
  if (perCallUsd !== null) return { nano: declared(perCallUsd) };
  if (price === null) return { refused: 'money/no_price' };
  const prices = perBucket(price);
  if (Object.values(prices).every((one) => one === 0)) return { nano: 0 };
  if (size.hasFiles) return { refused: 'money/files' };
  if (size.isUnbounded) return { refused: 'money/unbounded' };
  const tokens = size.maxOutputTokens ?? price.maxOutputTokens ?? null;
  if (tokens === null) return { refused: 'money/no_maximum' };
  const input = Math.max(prices.input, prices.cachedInput, prices.cacheWrite);
  const output = Math.max(prices.output, prices.reasoning);
  const nano = rounded(BigInt(size.promptBytes) * BigInt(input) + BigInt(Math.ceil(tokens)) * BigInt(output));
  return nano === null ? { refused: 'money/no_maximum' } : { nano };
}

function declared(perCallUsd: number): NanoUsd {
  const nano = nanoOf(perCallUsd);
  if (nano === null) throw new Error(`perCallUsd is no amount of dollars: ${perCallUsd}`);
  return nano;
}

/** Null past the nine million dollars that a number can hold. */
function rounded(sum: bigint): NanoUsd | null {
  const nano = Number((sum + PER_PRICE - 1n) / PER_PRICE);
  return Number.isSafeInteger(nano) ? nano : null;
}
