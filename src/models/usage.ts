/**
 * Tokens of a call in buckets that share none. The AI SDK puts 0 where OpenAI's formats leave a number out; what was left out is
 * unknown, and stays so: nothing is free because nobody said what it cost.
 */
import type { LanguageModelV3Usage } from '@ai-sdk/provider';
import type { Buckets, Usage } from '../domain/money.ts';
import { read, readIn } from '../domain/untrusted.ts';

/** Where the formats of OpenAI and Anthropic have each number. */
const PLACES = {
  input: [['prompt_tokens'], ['input_tokens']],
  cachedInput: [
    ['prompt_tokens_details', 'cached_tokens'],
    ['input_tokens_details', 'cached_tokens'],
    ['cache_read_input_tokens'],
  ],
  cacheWrite: [
    ['prompt_tokens_details', 'cache_write_tokens'],
    ['input_tokens_details', 'cache_write_tokens'],
    ['cache_creation_input_tokens'],
  ],
  output: [['completion_tokens'], ['output_tokens']],
  reasoning: [
    ['completion_tokens_details', 'reasoning_tokens'],
    ['output_tokens_details', 'reasoning_tokens'],
    ['output_tokens_details', 'thinking_tokens'],
  ],
} as const satisfies Record<keyof Buckets, readonly (readonly string[])[]>;

/**
 * Null where the provider did not say, or where its numbers contradict each other. What it does not tell apart (a cache, reasoning) lies
 * in `input` or `output`, and its own bucket is null.
 */
export function usageOf({ inputTokens, outputTokens, raw }: LanguageModelV3Usage): Usage {
  const said = (bucket: keyof Buckets, tokens: number | undefined) =>
    wasLeftOut(raw, bucket) ? null : countOf(tokens);
  const cachedInput = said('cachedInput', inputTokens.cacheRead);
  const cacheWrite = said('cacheWrite', inputTokens.cacheWrite);
  const reasoning = said('reasoning', outputTokens.reasoning);
  return {
    input: rest(said('input', inputTokens.total), inputTokens.noCache, [cachedInput, cacheWrite]),
    cachedInput,
    cacheWrite,
    output: rest(said('output', outputTokens.total), outputTokens.text, [reasoning]),
    reasoning,
    ...(countsMore(raw) ? { unpriced: true } : {}),
  };
}

/** What Anthropic counts beside tokens, or bills at a price that has no bucket: searches, what stays in a cache for an hour. */
function countsMore(raw: unknown): boolean {
  const tools = read(raw, 'server_tool_use');
  const counts: unknown[] = typeof tools === 'object' && tools !== null ? Object.values(tools) : [];
  return [...counts, readIn(raw, 'cache_creation', 'ephemeral_1h_input_tokens')].some(
    (count) => typeof count === 'number' && count > 0,
  );
}

/** What of a total lies in no other bucket; `told` is what the provider, or the SDK, says of it. */
function rest(
  total: number | null,
  told: number | undefined,
  others: readonly (number | null)[],
): number | null {
  if (total === null) return null;
  const left = others.reduce<number>((sum, other) => sum - (other ?? 0), total);
  return told !== undefined && told !== left ? null : countOf(left);
}

/** No provider counts below 0 or in halves; where one does, nobody knows what it means. */
function countOf(tokens: number | undefined): number | null {
  return tokens !== undefined && Number.isSafeInteger(tokens) && tokens >= 0 ? tokens : null;
}

/** Only formats that are known can be looked at for what is not there. */
function wasLeftOut(raw: unknown, bucket: keyof Buckets): boolean {
  const isKnown = typeof raw === 'object' && raw !== null && isOfKnownForm(raw);
  return isKnown && !PLACES[bucket].some((place) => typeof readIn(raw, ...place) === 'number');
}

function isOfKnownForm(raw: object): boolean {
  const names = Object.keys(raw);
  return (
    names.length === 0 || names.some((name) => /^(prompt|completion|input|output|total)_tokens$/.test(name))
  );
}
