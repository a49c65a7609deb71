/** The fields of a smoke check's file: what each must be, and what is wrong with one that is not. */
import { ALLOWED_USD, nanoOf } from '../dollars.ts';
import { isObject, isRegex, schemaIssues } from '../json-schema.ts';
import type { JsonObject } from '../json-schema.ts';
import { pointer } from '../json.ts';
import type { JsonValue } from '../json.ts';
import { namesVersion } from '../model-name.ts';
import type { ValidationIssue } from '../record.ts';

export interface Field {
  /** What it must be, as the end of a sentence. */
  must: string;
  /** A field that may be left out says nothing that way; the others are the pins. */
  isRequired: boolean;
  /** What is wrong with its value. No message quotes a value: it may be a key in the wrong place. */
  issues(value: JsonValue, path: string, file: JsonObject): ValidationIssue[];
}

const PROVIDERS = ['openai', 'anthropic', 'openai-compatible'] as const;
export type Provider = (typeof PROVIDERS)[number];

const APIS: Readonly<Record<Provider, readonly string[]>> = {
  openai: ['responses', 'chat'],
  anthropic: ['messages'],
  'openai-compatible': ['chat'],
};

const NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/;
const VARIABLE = /^[A-Z_][A-Z0-9_]{0,99}$/;
const MAX_OUTPUT_TOKENS = 1_000_000;
const MAX_TIMEOUT_MS = 3_600_000;
const MAX_CALLS = 100;

const BASE_URL =
  'an http or https address without user, query or fragment, such as http://127.0.0.1:11434/v1';

/** In the order in which a reader expects them. */
export function fieldsOf(file: JsonObject): Record<string, Field> {
  const provider = PROVIDERS.find((one) => one === file['provider']);
  const apis = provider === undefined ? Object.values(APIS).flat() : APIS[provider];
  return {
    name: pin('a name for the report: small letters, digits, ".", "_" and "-"', (value) => fits(value, NAME)),
    provider: pin(`one of ${PROVIDERS.join(', ')}`, (value) => PROVIDERS.some((one) => one === value)),
    api: pin(`one of ${[...new Set(apis)].join(', ')}`, (value) => apis.some((one) => one === value)),
    base_url: { ...pin(BASE_URL, isBaseUrl), isRequired: provider === 'openai-compatible' },
    api_key_env: pin(
      'the name of the environment variable that holds the key, such as OPENAI_API_KEY (null for an openai-compatible server that takes none)',
      (value) => fits(value, VARIABLE) || (value === null && provider === 'openai-compatible'),
    ),
    model: { must: 'the exact name of one version of the model', isRequired: true, issues: modelIssues },
    alias_accepted: optional('true or false', (value) => typeof value === 'boolean'),
    prompt: { must: 'an object of system (a text or null) and user', isRequired: true, issues: promptIssues },
    schema: {
      must: 'the JSON Schema of the answer, or null for a text',
      isRequired: true,
      issues: answerIssues,
    },
    stream: pin('true or false', (value) => typeof value === 'boolean'),
    max_output_tokens: pin(...whole(MAX_OUTPUT_TOKENS)),
    redact: {
      must: 'the list of what is replaced in the report, {"regex": ...} or {"pointer": ...}; [] for nothing',
      isRequired: true,
      issues: redactIssues,
    },
    timeout_ms: pin(...whole(MAX_TIMEOUT_MS)),
    spending_limit_usd: pin(`${ALLOWED_USD}, more than 0`, (value) => (nanoOf(value) ?? 0) > 0),
    usd_per_million: {
      must: 'the price of a million tokens: input and output, and cached_input, cache_write, reasoning where they differ',
      isRequired: true,
      issues: priceIssues,
    },
    calls: pin(...whole(MAX_CALLS)),
  };
}

function pin(must: string, isOk: (value: JsonValue) => boolean): Field {
  return {
    must,
    isRequired: true,
    issues: (value, path) => (isOk(value) ? [] : [{ path, message: `must be ${must}` }]),
  };
}

function optional(must: string, isOk: (value: JsonValue) => boolean): Field {
  return { ...pin(must, isOk), isRequired: false };
}

function whole(max: number): [string, (value: JsonValue) => boolean] {
  return [
    `a whole number from 1 to ${max}`,
    (value) => Number.isInteger(value) && Number(value) >= 1 && Number(value) <= max,
  ];
}

function fits(value: JsonValue | undefined, form: RegExp): boolean {
  return typeof value === 'string' && form.test(value);
}

function isBaseUrl(value: JsonValue): boolean {
  if (typeof value !== 'string' || /[@?#\s]/.test(value) || !URL.canParse(value)) return false;
  return /^https?:$/.test(new URL(value).protocol);
}

function modelIssues(value: JsonValue, path: string, file: JsonObject): ValidationIssue[] {
  if (typeof value !== 'string' || !/^[\x21-\x7e]{1,200}$/.test(value))
    return [{ path, message: 'must be the name of a model' }];
  if (file['alias_accepted'] === true || namesVersion(value)) return [];
  const message =
    'names no version: without a date or number at its end it is an alias, behind which the provider may change the model; ' +
    'name the version, or say "alias_accepted": true';
  return [{ path, message }];
}

function promptIssues(value: JsonValue, path: string): ValidationIssue[] {
  const must = (isOk: boolean, key: string, what: string) =>
    isOk ? [] : [{ path: pointer(path, key), message: `must be ${what}` }];
  if (!isObject(value)) return [{ path, message: 'must be an object of system (a text or null) and user' }];
  const { system, user } = value;
  return [
    ...must(system === null || (typeof system === 'string' && system !== ''), 'system', 'a text, or null'),
    ...must(typeof user === 'string' && user !== '', 'user', 'a text'),
    ...unknown(value, ['system', 'user'], path),
  ];
}

function answerIssues(value: JsonValue, path: string): ValidationIssue[] {
  if (value === null) return [];
  if (!isObject(value)) return [{ path, message: 'must be a JSON Schema, or null' }];
  return schemaIssues(value).map((issue) => ({ ...issue, path: `${path}${issue.path}` }));
}

function redactIssues(value: JsonValue, path: string): ValidationIssue[] {
  if (!Array.isArray(value)) return [{ path, message: 'must be a list of rules; [] for nothing' }];
  return value.flatMap((rule, index) => ruleIssues(rule, pointer(path, index)));
}

function ruleIssues(rule: JsonValue, path: string): ValidationIssue[] {
  if (!isObject(rule) || Object.keys(rule).length !== 1) {
    return [{ path, message: 'must be {"regex": ...} or {"pointer": ...}' }];
  }
  const { regex, pointer: to } = rule;
  if (typeof regex === 'string') return regexIssues(regex, pointer(path, 'regex'));
  if (fits(to, /^\/(request|output)(\/([^~]|~[01])*)?$/)) return [];
  const message = 'must be a JSON Pointer into the request or the output: /request/..., /output/...';
  return [{ path: to === undefined ? path : pointer(path, 'pointer'), message }];
}

function regexIssues(regex: string, path: string): ValidationIssue[] {
  if (!isRegex(regex)) return [{ path, message: 'is no regular expression of JavaScript (flag u)' }];
  const matchesNothing = new RegExp(regex, 'u').test('');
  return matchesNothing ? [{ path, message: 'matches an empty text, and so everywhere' }] : [];
}

const BUCKETS = ['input', 'cached_input', 'cache_write', 'output', 'reasoning'];

function priceIssues(value: JsonValue, path: string): ValidationIssue[] {
  if (!isObject(value)) return [{ path, message: 'must be an object of dollars by bucket' }];
  const missing = ['input', 'output'].filter((bucket) => value[bucket] === undefined);
  const wrong = BUCKETS.filter((bucket) => value[bucket] !== undefined && nanoOf(value[bucket]) === null);
  return [
    ...missing.map((bucket) => ({ path: pointer(path, bucket), message: 'is not pinned' })),
    ...wrong.map((bucket) => ({ path: pointer(path, bucket), message: `must be ${ALLOWED_USD}` })),
    ...unknown(value, BUCKETS, path),
  ];
}

/** What is there and says nothing: a misspelt field is one that silently does not hold. */
export function unknown(value: JsonObject, known: readonly string[], path: string): ValidationIssue[] {
  const names = Object.keys(value).filter((name) => !known.includes(name));
  return names.map((name) => ({
    path: pointer(path, name),
    message: `is no field here; known are ${known.join(', ')}`,
  }));
}
