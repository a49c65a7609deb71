/** One call of a smoke check: made once, whatever comes of it, under the time limit that was pinned. */
import { valueIssues } from '../domain/json-schema.ts';
import { readJsonText } from '../domain/json-text.ts';
import type { Billing } from '../domain/model-call.ts';
import { isVersionOf } from '../domain/model-name.ts';
import type { Usage } from '../domain/money.ts';
import { costOf, isUnbilled } from '../domain/pricing.ts';
import type { ValidationIssue } from '../domain/record.ts';
import type { SmokePins } from '../domain/smoke/pins.ts';
import type { SmokeCall } from '../domain/smoke/report.ts';
import type { LanguageModel } from '../ports/models.ts';
import { answerOf } from './smoke-answer.ts';
import type { CallOptions, Taken } from './smoke-answer.ts';
import { recordingFetch } from './smoke-fetch.ts';
import type { Wire } from './smoke-fetch.ts';
import { MALFORMED, TIMED_OUT, meaningOf } from './smoke-meaning.ts';
import type { SmokeProvider } from './smoke-provider.ts';
import { usageOf } from './usage.ts';

export async function smokeCall(pins: SmokePins, provider: SmokeProvider, n: number): Promise<SmokeCall> {
  const { fetch: send, wire } = recordingFetch();
  const startedAt = Date.now();
  const made = await underLimit(pins, provider.model(send));
  const { taken } = made;
  const meaning = meaningOf(taken, made.how, made.signal);
  const schemaIssues = meaning.judgement === null ? answerIssues(pins, taken.text) : null;
  const judgement = (schemaIssues ?? []).length > 0 ? MALFORMED : meaning.judgement;
  const usage = toldOf(taken);
  return {
    n,
    startedAt,
    ...wire,
    output: taken.text,
    finishReason: taken.finishReason?.unified ?? null,
    finishReasonRaw: taken.finishReason?.raw ?? null,
    servedModel: taken.servedModel,
    usage,
    ...billed(pins, { usage, wire, wasSent: meaning.wasSent, served: taken.servedModel }),
    latency: { headersMs: wire.headersMs, firstTokenMs: made.firstTokenMs, endMs: made.endMs },
    schemaIssues,
    code: judgement?.code ?? null,
    rule: judgement?.rule ?? null,
    warnings: taken.warnings.map((one) => ('feature' in one ? `${one.type}: ${one.feature}` : one.type)),
  };
}

async function underLimit(pins: SmokePins, model: LanguageModel) {
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(TIMED_OUT), pins.timeoutMs);
  const startedMs = performance.now();
  const since = (atMs: number) => Math.round(atMs - startedMs);
  const made = await answerOf(model, { ...optionsOf(pins), abortSignal: limit.signal }, pins.stream);
  clearTimeout(timer);
  const { firstTokenAtMs: firstMs } = made.taken;
  return {
    ...made,
    signal: limit.signal,
    firstTokenMs: firstMs === null ? null : since(firstMs),
    endMs: since(performance.now()),
  };
}

/** What `generateText` would hand to the model, had a workflow asked for this. */
function optionsOf({ prompt, schema, maxOutputTokens }: SmokePins): CallOptions {
  const { system, user } = prompt;
  const options: CallOptions = {
    prompt: [
      ...(system === null ? [] : [{ role: 'system' as const, content: system }]),
      { role: 'user', content: [{ type: 'text', text: user }] },
    ],
    maxOutputTokens,
  };
  return schema === null ? options : { ...options, responseFormat: { type: 'json', schema } };
}

/** Null where the provider said nothing at all. */
function toldOf({ usage }: Taken): Usage | null {
  const buckets = usage === null ? null : usageOf(usage);
  return buckets !== null && Object.values(buckets).some((tokens) => tokens !== null) ? buckets : null;
}

/** What is wrong with an answer by the schema; null where none was pinned. */
function answerIssues({ schema }: SmokePins, text: string | null): ValidationIssue[] | null {
  if (schema === null) return null;
  const read = readJsonText(text ?? '');
  return read.ok ? valueIssues(schema, read.value) : [read.issue];
}

interface Spent {
  usage: Usage | null;
  wire: Wire;
  wasSent: boolean;
  served: string | null;
}

/** What nobody knows is never taken for nothing. */
function billed(
  pins: SmokePins,
  { usage, wire, wasSent, served }: Spent,
): { billing: Billing; cost: number | null } {
  if (wire.request === null || !wasSent || isUnbilled(wire.httpStatus)) return { billing: 'none', cost: 0 };
  const isPriced = served === null || isVersionOf(served, pins.model);
  const cost = usage === null || !isPriced ? null : costOf(usage, pins.price);
  return cost === null ? { billing: 'unknown', cost } : { billing: 'settled', cost };
}
