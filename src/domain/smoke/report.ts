/** The report of a smoke check: what was sent, what came, what it cost, and what all of it does not prove. */
import { usdOf } from '../dollars.ts';
import type { ErrorCode } from '../failures.ts';
import type { JsonValue } from '../json.ts';
import type { Billing } from '../model-call.ts';
import { isVersionOf } from '../model-name.ts';
import type { NanoUsd, Usage } from '../money.ts';
import type { ValidationIssue } from '../record.ts';
import type { SmokePins } from './pins.ts';
import { redact } from './redaction.ts';
import type { Content } from './redaction.ts';

/** A request as it went out, of its headers those that are allowed. */
export interface SentRequest {
  method: string;
  url: string;
  headers: Readonly<Record<string, string>>;
  body: JsonValue;
}

/** One call, before anything is taken out of it. */
export interface SmokeCall {
  n: number;
  startedAt: number;
  /** Null where the library could not make one. */
  request: SentRequest | null;
  httpStatus: number | null;
  /** Those that are allowed: limits, ids, when to come again. */
  responseHeaders: Readonly<Record<string, string>>;
  requestId: string | null;
  output: string | null;
  finishReason: string | null;
  /** The provider's own word for it. */
  finishReasonRaw: string | null;
  servedModel: string | null;
  usage: Usage | null;
  billing: Billing;
  cost: NanoUsd | null;
  latency: { headersMs: number | null; firstTokenMs: number | null; endMs: number };
  /** What is wrong with the answer by the schema; null where there was none to check, or no answer. */
  schemaIssues: ValidationIssue[] | null;
  code: ErrorCode | null;
  rule: string | null;
  /** What the library says that it could not send as it was asked. */
  warnings: string[];
}

/** What a run knows besides its calls. */
export interface SmokeRun {
  startedAt: number;
  /** Null while calls are still to come. */
  endedAt: number | null;
  /** The key, to be taken out wherever it stands. */
  secrets: readonly string[];
  /** Of Claimcheck, Node and the provider's library. */
  versions: Readonly<Record<string, string>>;
  /** What was held for calls whose cost nobody knows. */
  held: NanoUsd;
  spent: NanoUsd;
  /** Why calls that were pinned were not made. */
  stopped: 'spending_limit' | null;
}

/** The pins that no request shows; prompt and schema stand in the requests, as they were sent. */
interface PinnedReport {
  name: string;
  provider: string;
  api: string;
  base_url: string;
  api_key_env: string | null;
  model: string;
  alias_accepted: boolean;
  stream: boolean;
  max_output_tokens: number;
  timeout_ms: number;
  usd_per_million: Readonly<Record<string, number>>;
  calls: number;
}

export interface CallReport {
  n: number;
  as_pinned: boolean;
  /** How it was not, in sentences. */
  deviations: readonly string[];
  code: ErrorCode | null;
  /** The line of the classification that says so. */
  rule: string | null;
  started_at: string;
  /** The body is a text where something was taken out of it that leaves no JSON. */
  request: { method: string; url: string; headers: Readonly<Record<string, string>>; body: JsonValue } | null;
  http_status: number | null;
  response_headers: Readonly<Record<string, string>>;
  request_id: string | null;
  served_model: string | null;
  finish_reason: string | null;
  finish_reason_raw: string | null;
  output: string | null;
  schema: { result: 'valid' | 'invalid' | 'not_checked'; issues: readonly ValidationIssue[] };
  usage: Readonly<Record<string, number | true | null>> | null;
  billing: Billing;
  cost_usd: number | null;
  latency_ms: { headers: number | null; first_token: number | null; end: number };
  warnings: readonly string[];
}

export interface SmokeReport {
  kind: 'claimcheck_smoke_report';
  version: 1;
  proves: string;
  does_not_prove: readonly string[];
  as_pinned: boolean;
  /** False while it runs, and for ever where it was ended from outside. */
  complete: boolean;
  stopped: string | null;
  started_at: string;
  ended_at: string | null;
  versions: Readonly<Record<string, string>>;
  pinned: PinnedReport;
  redaction: { rule: string; kind: string; matches: number }[];
  spending: { limit_usd: number; most_per_call_usd: number; spent_usd: number; held_usd: number };
  calls: CallReport[];
}

const PROVES =
  'That this provider, asked with this key at the moments given below, answered these requests as written here.';

const DOES_NOT_PROVE: readonly string[] = [
  'That it is available at any other moment, from another place, or to another account or key.',
  'That its answers are right, or good: only their form was checked, by the schema that was pinned.',
  'That other prompts, or the same one again, get such an answer: a model may answer differently every time.',
  'That it holds under load: the calls were made one after the other, and limits were read, not reached.',
  'That the model stays as it is behind its name, or the price as it was pinned: the cost is computed, not billed.',
  'That workflows handle its failures: their tests do that, against a fake provider.',
  'That what the redaction rules do not name is free of secrets.',
];

/** What of a call may hold something that is to be taken out, besides its request's body and its output. */
interface CallRest {
  url: string;
  requestHeaders: Readonly<Record<string, string>>;
  responseHeaders: Readonly<Record<string, string>>;
  requestId: string | null;
  servedModel: string | null;
  finishReasonRaw: string | null;
  warnings: readonly string[];
  deviations: readonly string[];
  schemaIssues: readonly ValidationIssue[];
}

/** The report of what was done so far, with everything taken out of it that the rules name. */
export function reportOf(pins: SmokePins, calls: readonly SmokeCall[], run: SmokeRun): SmokeReport {
  const pinnedContent = { request: null, output: null, rest: asJson(pinnedOf(pins)) };
  const { contents, matches } = redact(
    [pinnedContent, ...calls.map((call) => contentOf(call, pins))],
    pins.redact,
    run.secrets,
  );
  const [left = pinnedContent, ...callContents] = contents;
  const reports = calls.flatMap((call, index) => {
    const content = callContents[index];
    return content === undefined ? [] : [callReport(call, pins, content)];
  });
  const isComplete = run.endedAt !== null;
  return {
    kind: 'claimcheck_smoke_report',
    version: 1,
    proves: PROVES,
    does_not_prove: DOES_NOT_PROVE,
    as_pinned: isComplete && calls.length === pins.calls && reports.every(({ as_pinned: is }) => is),
    complete: isComplete,
    stopped: run.stopped,
    started_at: instant(run.startedAt),
    ended_at: run.endedAt === null ? null : instant(run.endedAt),
    versions: run.versions,
    pinned: left.rest as unknown as PinnedReport,
    redaction: pins.redact.map((rule, index) => ({
      rule: `/redact/${index}`,
      kind: 'regex' in rule ? 'regex' : 'pointer',
      matches: matches[index] ?? 0,
    })),
    spending: {
      limit_usd: usdOf(pins.spendingLimit),
      most_per_call_usd: usdOf(pins.estimate),
      spent_usd: usdOf(run.spent),
      held_usd: usdOf(run.held),
    },
    calls: reports,
  };
}

/** Plain data without `undefined` is JSON. */
function asJson(value: PinnedReport | CallRest): JsonValue {
  return value as unknown as JsonValue;
}

function pinnedOf(pins: SmokePins): PinnedReport {
  return {
    name: pins.name,
    provider: pins.provider,
    api: pins.api,
    base_url: pins.baseUrl,
    api_key_env: pins.apiKeyEnv,
    model: pins.model,
    alias_accepted: pins.aliasAccepted,
    stream: pins.stream,
    max_output_tokens: pins.maxOutputTokens,
    timeout_ms: pins.timeoutMs,
    usd_per_million: pins.usdPerMillion,
    calls: pins.calls,
  };
}

function contentOf(call: SmokeCall, pins: SmokePins): Content {
  const { request } = call;
  return {
    request: request?.body ?? null,
    output: call.output,
    rest: asJson({
      url: request?.url ?? '',
      requestHeaders: request?.headers ?? {},
      responseHeaders: call.responseHeaders,
      requestId: call.requestId,
      servedModel: call.servedModel,
      finishReasonRaw: call.finishReasonRaw,
      warnings: call.warnings,
      deviations: deviationsOf(call, pins),
      schemaIssues: call.schemaIssues ?? [],
    }),
  };
}

function deviationsOf(call: SmokeCall, pins: SmokePins): string[] {
  const { code, rule, servedModel, finishReason, schemaIssues } = call;
  const isServed = pins.aliasAccepted
    ? servedModel !== null && isVersionOf(servedModel, pins.model)
    : servedModel === pins.model;
  const served =
    servedModel === null ? 'the answer does not say which model served it' : `${servedModel} served it`;
  const isMisfit = schemaIssues !== null && schemaIssues.length > 0;
  return [
    ...(code === null || isMisfit ? [] : [`the call failed: ${code} (${rule})`]),
    ...(isMisfit ? ['the answer does not fit the schema'] : []),
    ...(finishReason === null || finishReason === 'stop' ? [] : [`the answer ended with ${finishReason}`]),
    ...(finishReason === null || isServed ? [] : [`${served}; pinned is ${pins.model}`]),
  ];
}

function callReport(call: SmokeCall, pins: SmokePins, content: Content): CallReport {
  const rest = content.rest as unknown as CallRest;
  const { request, usage, cost, latency } = call;
  return {
    n: call.n,
    as_pinned: deviationsOf(call, pins).length === 0,
    deviations: rest.deviations,
    code: call.code,
    rule: call.rule,
    started_at: instant(call.startedAt),
    request: request && {
      method: request.method,
      url: rest.url,
      headers: rest.requestHeaders,
      body: content.request,
    },
    http_status: call.httpStatus,
    response_headers: rest.responseHeaders,
    request_id: rest.requestId,
    served_model: rest.servedModel,
    finish_reason: call.finishReason,
    finish_reason_raw: rest.finishReasonRaw,
    output: content.output,
    schema: { result: schemaResult(call, pins), issues: rest.schemaIssues },
    usage:
      usage && Object.fromEntries(Object.entries(usage).map(([bucket, tokens]) => [snake(bucket), tokens])),
    billing: call.billing,
    cost_usd: cost === null ? null : usdOf(cost),
    latency_ms: { headers: latency.headersMs, first_token: latency.firstTokenMs, end: latency.endMs },
    warnings: rest.warnings,
  };
}

function schemaResult({ schemaIssues }: SmokeCall, pins: SmokePins): CallReport['schema']['result'] {
  if (pins.schema === null || schemaIssues === null) return 'not_checked';
  return schemaIssues.length === 0 ? 'valid' : 'invalid';
}

function snake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function instant(atMs: number): string {
  return new Date(atMs).toISOString();
}
