/**
 * Whether a call's tokens can be bounded before it is made. Text is no more tokens than bytes, and that is all that is known: of a file,
 * of what lies with the provider (an earlier response, a conversation) and of tools that the provider runs itself nobody can tell before.
 * So options are allowed by name: one that is not known to add nothing may add anything.
 */
import { items, read, readIn } from '../domain/untrusted.ts';
import type { CallParams } from './opening.ts';

export interface Bounds {
  hasFiles: boolean;
  /** Something else is billed than the prompt and the answer, or at another price. */
  isUnbounded: boolean;
  /** What an answer may have beyond `maxOutputTokens`. */
  thinkingTokens: number;
}

/** Options of a call that bill no token which is not in the prompt or within the maximum of the answer, at no other price. */
const OF_CALLS = new Set([
  'cacheControl',
  'disableParallelToolUse',
  'effort',
  'forceReasoning',
  'include',
  'logitBias',
  'logprobs',
  'metadata',
  'parallelToolCalls',
  'promptCacheKey',
  'promptCacheRetention',
  'reasoningEffort',
  'reasoningSummary',
  'safetyIdentifier',
  'sendReasoning',
  'store',
  'strictJsonSchema',
  'structuredOutputMode',
  'systemMessageMode',
  'textVerbosity',
  'thinking',
  'toolStreaming',
  'truncation',
  'user',
]);

/** Options of a message, a part or a tool: what the providers gave with an answer and are given back, which is in the prompt. */
const OF_PARTS = new Set([
  'annotations',
  'cacheControl',
  'eagerInputStreaming',
  'itemId',
  'logprobs',
  'phase',
  'reasoningEncryptedContent',
  'redactedData',
  'signature',
  'strict',
  'thoughtSignature',
]);

const TEXTS: readonly unknown[] = ['text', 'reasoning', 'tool-call', 'tool-result'];
const RESULTS: readonly unknown[] = ['text', 'json', 'error-text', 'error-json', 'execution-denied'];

export function boundsOf({ prompt, tools = [], providerOptions }: CallParams): Bounds {
  const parts = prompt.flatMap(({ content }) => (typeof content === 'string' ? [] : listOf(content)));
  const pieces = parts.flatMap((part) => [part, ...resultsOf(part)]);
  const thinkingTokens = thinkingOf(providerOptions);
  return {
    hasFiles: parts.some(isFile),
    isUnbounded:
      thinkingTokens === null ||
      !isAllowed(providerOptions, OF_CALLS) ||
      tools.some(({ type }) => type !== 'function') ||
      parts.some(liesElsewhere) ||
      [...prompt, ...pieces, ...tools].some((one) => !isAllowed(read(one, 'providerOptions'), OF_PARTS)),
    thinkingTokens: thinkingTokens ?? 0,
  };
}

function listOf(value: unknown): unknown[] {
  return items(value, Number.MAX_SAFE_INTEGER);
}

/** A result's output, and what that is made of. */
function resultsOf(part: unknown): unknown[] {
  const output = read(part, 'output');
  return [output, ...contentOf(output)];
}

function contentOf(output: unknown): unknown[] {
  return read(output, 'type') === 'content' ? listOf(read(output, 'value')) : [];
}

/** Every kind of part is one that is not known to be text. */
function isFile(part: unknown): boolean {
  const type = read(part, 'type');
  if (!TEXTS.includes(type)) return true;
  if (type !== 'tool-result') return false;
  const output = read(part, 'output');
  if (read(output, 'type') !== 'content') return !RESULTS.includes(read(output, 'type'));
  return contentOf(output).some((piece) => read(piece, 'type') !== 'text');
}

/** What the provider is to look up: the outcome of a tool of its own, or reasoning that it kept to itself. */
function liesElsewhere(part: unknown): boolean {
  if (read(part, 'providerExecuted') === true) return true;
  if (read(part, 'type') !== 'reasoning') return false;
  return ofProviders(read(part, 'providerOptions')).some(
    (options) =>
      typeof read(options, 'itemId') === 'string' &&
      typeof read(options, 'reasoningEncryptedContent') !== 'string',
  );
}

function isAllowed(providerOptions: unknown, allowed: ReadonlySet<string>): boolean {
  return ofProviders(providerOptions).every(
    (options) =>
      Object.entries(options).every(([name, value]) => value === undefined || allowed.has(name)) &&
      // what stays in a cache for an hour is written at a price of its own
      readIn(options, 'cacheControl', 'ttl') !== '1h',
  );
}

function ofProviders(providerOptions: unknown): object[] {
  if (typeof providerOptions !== 'object' || providerOptions === null) return [];
  return Object.values(providerOptions).filter((one) => typeof one === 'object' && one !== null) as object[];
}

/** What the SDK takes for a budget of thinking where none is given. */
const LEAST_THINKING = 1024;

/** Anthropic's models are asked for the maximum and the budget together; null where the budget is no number of tokens. */
function thinkingOf(providerOptions: unknown): number | null {
  const budgets = ofProviders(providerOptions)
    .map((options) => read(options, 'thinking'))
    .filter((thinking) => read(thinking, 'type') === 'enabled')
    .map((thinking) => read(thinking, 'budgetTokens') ?? LEAST_THINKING);
  if (!budgets.every((budget) => typeof budget === 'number' && budget >= 0 && budget < 1e9)) return null;
  return Math.ceil(Math.max(0, ...(budgets as number[])));
}
