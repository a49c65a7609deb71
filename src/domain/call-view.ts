/** Calls to models and their money as readers see them: snake case, ISO dates, dollars. */
import { usdOf } from './dollars.ts';
import type { ErrorCode } from './failures.ts';
import { iso } from './instant.ts';
import { servedAnother } from './model-call.ts';
import type { Billing, ModelCall, ResponseRef } from './model-call.ts';
import type { Usage } from './money.ts';
import type { JobSpending } from './record.ts';

export interface UsageJson {
  input: number | null;
  cached_input: number | null;
  cache_write: number | null;
  output: number | null;
  reasoning: number | null;
  /** The buckets do not tell all that counts for the bill; left out where they do. */
  unpriced?: true;
}

/** What is not known (yet) is null, a cost above all. */
export interface CallJson {
  n: number;
  attempt: number;
  provider: string;
  account: string;
  requested_model: string;
  served_model: string | null;
  served_another: boolean;
  prompt_sha256: string;
  schema_sha256: string | null;
  request_sha256: string;
  parameters: ModelCall['parameters'];
  sdk: string;
  streamed: boolean;
  repair: boolean;
  started_at: string;
  latency_ms: number | null;
  finish_reason: string | null;
  request_id: string | null;
  http_status: number | null;
  usage: UsageJson | null;
  reserved_usd: number;
  cost_usd: number | null;
  billing: Billing | null;
  code: ErrorCode | null;
  rule: string | null;
  /** `erased_at` only once its bytes had their time. */
  response: { uri: string; sha256: string; bytes: number; erased_at?: string } | null;
  reused_from: number | null;
  settled_by: { actor: string; reason: string; at: string } | null;
}

export interface SpendingJson {
  limit_usd: number | null;
  spent_usd: number;
  reserved_usd: number;
}

export function callJson(call: ModelCall): CallJson {
  return { ...openingJson(call), ...endJson(call), ...moneyJson(call) };
}

function openingJson(call: ModelCall) {
  return {
    n: call.n,
    attempt: call.attempt,
    provider: call.provider,
    account: call.account,
    requested_model: call.requestedModel,
    served_model: call.end?.servedModel ?? null,
    served_another: servedAnother(call),
    prompt_sha256: call.promptSha256,
    schema_sha256: call.schemaSha256,
    request_sha256: call.requestSha256,
    parameters: call.parameters,
    sdk: call.sdk,
    streamed: call.streamed,
    repair: call.repair,
    started_at: iso(call.startedAt),
  };
}

function endJson({ end }: ModelCall) {
  return {
    latency_ms: end?.latencyMs ?? null,
    finish_reason: end?.finishReason ?? null,
    request_id: end?.requestId ?? null,
    http_status: end?.httpStatus ?? null,
    usage: usageJson(end?.usage ?? null),
    code: end?.code ?? null,
    rule: end?.rule ?? null,
  };
}

function moneyJson({ reserved, cost, billing, response, reusedFrom, settledBy }: ModelCall) {
  return {
    reserved_usd: usdOf(reserved),
    cost_usd: cost === null ? null : usdOf(cost),
    billing,
    response: response && responseJson(response),
    reused_from: reusedFrom,
    settled_by: settledBy && { ...settledBy, at: iso(settledBy.at) },
  };
}

function responseJson({ uri, sha256, bytes, erasedAt }: ResponseRef) {
  return { uri, sha256, bytes, ...(erasedAt === undefined ? {} : { erased_at: iso(erasedAt) }) };
}

function usageJson(usage: Usage | null): UsageJson | null {
  if (usage === null) return null;
  const { input, cachedInput, cacheWrite, output, reasoning, unpriced } = usage;
  const buckets = { input, cached_input: cachedInput, cache_write: cacheWrite, output, reasoning };
  return unpriced === true ? { ...buckets, unpriced } : buckets;
}

export function spendingJson({ limit, spent, reserved }: JobSpending): SpendingJson {
  return {
    limit_usd: limit === null ? null : usdOf(limit),
    spent_usd: usdOf(spent),
    reserved_usd: usdOf(reserved),
  };
}
