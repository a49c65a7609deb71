/**
 * What a smoke check needs to have pinned before it may call a provider: everything that shapes the call, what it may
 * cost, and what of it may be written down. Nothing has a default that would differ tomorrow.
 */
import { dollars, nanoOf } from '../dollars.ts';
import { isObject } from '../json-schema.ts';
import type { JsonObject } from '../json-schema.ts';
import { pointer } from '../json.ts';
import type { JsonValue } from '../json.ts';
import type { NanoUsd, Price } from '../money.ts';
import { estimateOf } from '../pricing.ts';
import type { ValidationIssue } from '../record.ts';
import { fieldsOf, unknown } from './fields.ts';
import type { Provider } from './fields.ts';
import { looksLikeKey } from './secrets.ts';

export type RedactionRule = { regex: string } | { pointer: string };

export interface SmokePins {
  name: string;
  provider: Provider;
  api: 'responses' | 'chat' | 'messages';
  baseUrl: string;
  /** Null where the server takes no key. */
  apiKeyEnv: string | null;
  model: string;
  aliasAccepted: boolean;
  prompt: { system: string | null; user: string };
  /** Null where a text is asked for. */
  schema: JsonObject | null;
  stream: boolean;
  maxOutputTokens: number;
  redact: readonly RedactionRule[];
  timeoutMs: number;
  spendingLimit: NanoUsd;
  /** By bucket, as the file has it. */
  usdPerMillion: Readonly<Record<string, number>>;
  price: Price;
  calls: number;
  /** The most that one call can cost by this price. */
  estimate: NanoUsd;
}

export type PinsRead = { ok: true; pins: SmokePins } | { ok: false; issues: ValidationIssue[] };

/** The providers' own addresses; said here, so that no variable of their libraries sends the call elsewhere. */
const HOMES: Readonly<Record<string, string>> = {
  openai: 'https://api.openai.com/v1',
  anthropic: 'https://api.anthropic.com/v1',
};

/** Reads the file's pins, or names everything that is missing or wrong, all at once. */
export function readPins(file: JsonValue): PinsRead {
  if (!isObject(file)) return { ok: false, issues: [{ path: '', message: 'must be an object of pins' }] };
  const issues = oneAPlace([...keyIssues(file, ''), ...fieldIssues(file)]);
  if (issues.length > 0) return { ok: false, issues };
  const pins = pinsOf(file);
  if (pins.estimate <= pins.spendingLimit) return { ok: true, pins };
  const message = `pays for no call: one may cost ${dollars(pins.estimate)} by its prompt, max_output_tokens and price`;
  return { ok: false, issues: [{ path: '/spending_limit_usd', message }] };
}

function fieldIssues(file: JsonObject): ValidationIssue[] {
  const fields = Object.entries(fieldsOf(file));
  const issues = fields.flatMap(([name, field]) => {
    const [value, path] = [file[name], pointer('', name)];
    if (value !== undefined) return field.issues(value, path, file);
    return field.isRequired ? [{ path, message: `is not pinned; it must be ${field.must}` }] : [];
  });
  const names = fields.map(([name]) => name);
  return [...issues, ...unknown(file, names, '')];
}

/** Every text of the file, names included, that looks like a key. */
function keyIssues(value: JsonValue, path: string): ValidationIssue[] {
  const found = {
    path,
    message: 'looks like a key; a key is never in this file, but in the variable that api_key_env names',
  };
  if (typeof value === 'string') return looksLikeKey(value) ? [found] : [];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, one]) =>
    looksLikeKey(key) ? [found] : keyIssues(one, pointer(path, key)),
  );
}

/** The first thing that is said of a place is the weightiest. */
function oneAPlace(issues: readonly ValidationIssue[]): ValidationIssue[] {
  const first = new Map(issues.toReversed().map((issue) => [issue.path, issue]));
  const kept = issues.filter((issue) => first.get(issue.path) === issue);
  // a name that looks like a key is not repeated by what else is said of it
  return kept.filter(({ path }) => !looksLikeKey(path));
}

/** @param file one without issues */
function pinsOf(file: JsonObject): SmokePins {
  const read = file as unknown as {
    name: string;
    provider: Provider;
    api: SmokePins['api'];
    base_url?: string;
    api_key_env: string | null;
    model: string;
    alias_accepted?: boolean;
    prompt: SmokePins['prompt'];
    schema: JsonObject | null;
    stream: boolean;
    max_output_tokens: number;
    redact: RedactionRule[];
    timeout_ms: number;
    spending_limit_usd: number;
    usd_per_million: Record<string, number>;
    calls: number;
  };
  const { provider, prompt, schema } = read;
  const price = priceOf(`${provider}/${read.model}`, read.usd_per_million);
  const maxOutputTokens = read.max_output_tokens;
  const promptBytes = new TextEncoder().encode(JSON.stringify({ prompt, schema })).length;
  return {
    name: read.name,
    provider,
    api: read.api,
    baseUrl: read.base_url ?? HOMES[provider] ?? '',
    apiKeyEnv: read.api_key_env,
    model: read.model,
    aliasAccepted: read.alias_accepted ?? false,
    prompt,
    schema,
    stream: read.stream,
    maxOutputTokens,
    redact: read.redact,
    timeoutMs: read.timeout_ms,
    spendingLimit: nanoOf(read.spending_limit_usd) ?? 0,
    usdPerMillion: read.usd_per_million,
    price,
    calls: read.calls,
    // past what a number can hold it is past every limit, too
    estimate:
      estimateOf({ promptBytes, maxOutputTokens, hasFiles: false, isUnbounded: false }, price, null).nano ??
      Number.MAX_SAFE_INTEGER,
  };
}

function priceOf(model: string, usd: Record<string, number>): Price {
  const bucket = (name: string) => nanoOf(usd[name]) ?? undefined;
  const [cachedInput, cacheWrite, reasoning] = ['cached_input', 'cache_write', 'reasoning'].map(bucket);
  return {
    model,
    from: '1970-01-01',
    input: bucket('input') ?? 0,
    output: bucket('output') ?? 0,
    ...(cachedInput === undefined ? {} : { cachedInput }),
    ...(cacheWrite === undefined ? {} : { cacheWrite }),
    ...(reasoning === undefined ? {} : { reasoning }),
  };
}
