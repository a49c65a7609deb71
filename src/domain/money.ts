/**
 * Money in whole nano-dollars (10^-9 USD): the cheapest token of any provider costs tens of them, and 2^53 are nine
 * million dollars. Prices are the operator's, never guessed; a cost that cannot be known is null, never 0.
 */

/** A whole number of 10^-9 USD. */
export type NanoUsd = number;

export const NANO = 1_000_000_000;

/**
 * Tokens of one call in buckets that share none: `input` without what was read from or written to a cache, `output` without
 * `reasoning`. Null where the provider did not say.
 */
export interface Buckets {
  input: number | null;
  cachedInput: number | null;
  cacheWrite: number | null;
  output: number | null;
  reasoning: number | null;
}

export interface Usage extends Buckets {
  /** The buckets do not tell all that counts for the bill: searches, a longer cache, a model without a name. Left out otherwise. */
  unpriced?: true;
}

/** What a model costs from a day on, in nano-dollars for a million tokens of a bucket. */
export interface Price {
  /** `openai/gpt-5`: the provider's name, a slash, the model's name as the provider knows it. */
  model: string;
  /** The first day (UTC, `2026-11-30`) on which it holds. */
  from: string;
  input: NanoUsd;
  /** As `input`, where it is not given. */
  cachedInput?: NanoUsd;
  cacheWrite?: NanoUsd;
  output: NanoUsd;
  /** As `output`, where it is not given. */
  reasoning?: NanoUsd;
  /** What the model can write at most, for calls that set no maximum of their own. */
  maxOutputTokens?: number;
}

/** What a workflow says about its money. In dollars; null or absent: no limit. */
export interface SpendingPolicy {
  /** All calls of one job together, those of failed attempts included. */
  perJobUsd?: number;
  /** All jobs of this workflow in one day (UTC). */
  perDayUsd?: number;
  /** The most that one call may cost: what is reserved for it, and the way to call a model without a price. */
  perCallUsd?: number;
}
