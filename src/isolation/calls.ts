/** What a process says of its calls to models, read as if a stranger had said it. Whether it may is the desk's to say. */
import { isErrorCode } from '../domain/failures.ts';

type Fields = Record<string, unknown>;

const MAX_NAME = 500;
const MAX_PARTIAL = 100_000;
const SHA256 = /^[0-9a-f]{64}$/;
const RULE = /^[a-z0-9][a-z0-9_/.-]{0,99}$/;
const BUCKETS = ['input', 'cachedInput', 'cacheWrite', 'output', 'reasoning'];

export function isOpening(value: unknown): boolean {
  if (!isFields(value)) return false;
  const { provider, account, requestedModel, promptSha256, schemaSha256, requestSha256, parameters, sdk } =
    value;
  return (
    [provider, account, requestedModel, sdk].every(isName) &&
    [promptSha256, requestSha256].every(isHash) &&
    (schemaSha256 === null || isHash(schemaSha256)) &&
    [value['streamed'], value['repair']].every((flag) => typeof flag === 'boolean') &&
    isFields(parameters) &&
    Object.entries(parameters).every(([name, item]) => isName(name) && isParameter(item))
  );
}

export function isSize(value: unknown): boolean {
  if (!isFields(value)) return false;
  const { promptBytes, maxOutputTokens, hasFiles, isUnbounded } = value;
  return (
    isCount(promptBytes) &&
    (maxOutputTokens === null || isCount(maxOutputTokens)) &&
    [hasFiles, isUnbounded].every((flag) => typeof flag === 'boolean')
  );
}

export function isEnd(value: unknown): boolean {
  if (!isFields(value)) return false;
  const { servedModel, finishReason, requestId, usage, latencyMs, code, rule, httpStatus } = value;
  return (
    [servedModel, finishReason, requestId].every((text) => text === null || isName(text)) &&
    isCount(latencyMs) &&
    (usage === null || isUsage(usage)) &&
    (code === null || (typeof code === 'string' && isErrorCode(code))) &&
    (rule === null || (typeof rule === 'string' && RULE.test(rule))) &&
    (httpStatus === null || isCount(httpStatus))
  );
}

/** Its content is the process's own: it comes back to the same workflow, and is evidence of what that said. */
export function isStored(value: unknown): boolean {
  return value === null || (isFields(value) && value['version'] === 1 && 'raw' in value && 'result' in value);
}

export function isPartial(text: unknown): boolean {
  return typeof text === 'string' && text.length <= MAX_PARTIAL;
}

function isUsage(usage: unknown): boolean {
  return (
    isFields(usage) &&
    BUCKETS.every((bucket) => usage[bucket] === null || isCount(usage[bucket])) &&
    [undefined, true].includes(usage['unpriced'] as undefined)
  );
}

function isParameter(value: unknown): boolean {
  if (Array.isArray(value)) return value.length <= 1000 && value.every(isName);
  return isName(value) || typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value));
}

function isName(value: unknown): boolean {
  return typeof value === 'string' && value.length <= MAX_NAME;
}

function isHash(value: unknown): boolean {
  return typeof value === 'string' && SHA256.test(value);
}

export function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
