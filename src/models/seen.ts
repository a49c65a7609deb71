/**
 * What came of a call, as plain data for the table of `domain/model-outcome.ts`. The AI SDK hides three things that count, and
 * they are looked for here: a refusal next to a tool call, a response that says `failed` and is handed on as an answer, and a
 * stream that ends as if all were well.
 */
import type { LanguageModelV3FinishReason, LanguageModelV3GenerateResult } from '@ai-sdk/provider';
import { SIGNAL_REASONS } from '../domain/model-outcome.ts';
import type { Seen } from '../domain/model-outcome.ts';
import {
  isFailedBody,
  isSdkError,
  isSdkErrorNamed,
  providerError,
  seenOfError,
} from '../domain/sdk-errors.ts';
import { looksLikeKey } from '../domain/smoke/secrets.ts';
import { isWithoutConnection } from '../domain/network-faults.ts';
import { items, read, readIn, readText } from '../domain/untrusted.ts';

/**
 * A call that threw, or a stream that broke.
 * @param signal the attempt's: where it has fired, that is what ended the call, whatever was thrown
 */
export function seenOfThrown(error: unknown, signal: AbortSignal, nowMs: number): Seen {
  return seenOfSignal(signal) ?? seenOfError(error, nowMs) ?? { type: 'other' };
}

function seenOfSignal({ aborted, reason }: AbortSignal): Seen | null {
  const ending = SIGNAL_REASONS.find((known) => known === read(reason, 'ending'));
  if (aborted && ending !== undefined) return { type: 'signal', reason: ending };
  return null;
}

/** An answer that came whole. */
export function seenOfAnswer({ finishReason, response }: LanguageModelV3GenerateResult): Seen {
  const body = response?.body;
  if (isFailedBody(body) || isUnfinishedBody(body)) {
    return { type: 'failed_body', ...providerError(null, body, null) };
  }
  return seenOfFinish(finishReason, isRefusalBody(body));
}

/** A stream that ended. `finish` is null where no part of it said why. */
export function seenOfStreamEnd(finish: LanguageModelV3FinishReason | null, refused: boolean): Seen {
  // OpenAI's models make up such a finish where the server gave none.
  const madeUp = finish?.unified === 'other' && finish.raw === undefined;
  return finish === null || madeUp ? { type: 'ended_early' } : seenOfFinish(finish, refused);
}

function seenOfFinish({ unified, raw }: LanguageModelV3FinishReason, refused: boolean): Seen {
  return { type: 'finish', reason: unified, raw: wordOf(raw), refused };
}

/** A part of type `error`: an error of the SDK's, or the frame that the provider sent, as it came. */
export function seenOfStreamError(error: unknown, nowMs: number): Seen {
  if (isSdkErrorNamed(error, 'AI_InvalidResponseDataError') && read(error, 'data') === undefined) {
    return { type: 'ended_early' }; // what an OpenAI-compatible model makes of a missing end
  }
  if (['AI_JSONParseError', 'AI_TypeValidationError'].some((name) => isSdkErrorNamed(error, name))) {
    return { type: 'broken_json' };
  }
  if (isSdkError(error)) return seenOfError(error, nowMs) ?? { type: 'broken_stream' };
  const known = seenOfError(error, nowMs);
  if (known !== null) return known.type === 'network' ? { type: 'broken_stream' } : known;
  // OpenAI's models add a status that nobody sent, and keep the frame in `data`.
  return { type: 'stream_error', ...providerError(null, read(error, 'data') ?? error, null) };
}

// --- what only a body tells ------------------------------------------------------------------------

/** Of OpenAI's Responses: an answer that is not there yet. */
function isUnfinishedBody(body: unknown): boolean {
  return ['queued', 'in_progress'].includes(readText(body, 'status') ?? '');
}

/** A refusal in a Responses body or in one of Chat Completions; Anthropic tells it by its finish reason. */
function isRefusalBody(body: unknown): boolean {
  const outputs = items(read(body, 'output'), 200).flatMap((item) => items(read(item, 'content'), 200));
  if (outputs.some((part) => read(part, 'type') === 'refusal')) return true;
  return items(read(body, 'choices'), 1).some((choice) => isText(readIn(choice, 'message', 'refusal')));
}

/** Whether a raw chunk of a stream is part of a refusal. */
export function isRefusalChunk(chunk: unknown): boolean {
  if (readText(chunk, 'type')?.startsWith('response.refusal.') === true) return true;
  return items(read(chunk, 'choices'), 1).some((choice) => isText(readIn(choice, 'delta', 'refusal')));
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}

/** A provider's word for an end; one that is none is told as `unreadable`. */
function wordOf(raw: string | undefined): string | null {
  if (raw === undefined) return null;
  return /^[A-Za-z]{1,24}([_.-][A-Za-z]{1,24}){0,5}$/.test(raw) ? raw : 'unreadable';
}

/** Whether nothing of a call can have reached its provider. */
export function isUnsent(seen: Seen): boolean {
  if (seen.type === 'unusable') return true;
  return seen.type === 'network' && seen.faultCode !== null && isWithoutConnection(seen.faultCode);
}

// --- facts beside it -------------------------------------------------------------------------------

/** The status and the provider's request id of a call that failed, where there were any. */
export function factsOfError(error: unknown): { httpStatus: number | null; requestId: string | null } {
  const inner = read(error, 'lastError') ?? error;
  // A body that was parsed came with a 200, whatever status the SDK makes up for the failure in it.
  const wasParsed = typeof read(inner, 'responseBody') === 'object' && read(inner, 'responseBody') !== null;
  const status = wasParsed ? 200 : read(inner, 'statusCode');
  return {
    httpStatus: typeof status === 'number' ? status : null,
    requestId: requestIdOf(read(inner, 'responseHeaders')),
  };
}

const REQUEST_IDS = ['x-request-id', 'request-id', 'apim-request-id', 'x-amzn-requestid', 'cf-ray'];

/** The forms in which providers name requests: one that is none of them may be anything, a key that a server gives back above all. */
const REQUEST_ID =
  /^(req[_-][A-Za-z0-9_-]{1,80}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{8,64}(-[A-Z]{3})?)$/i;

export function requestIdOf(headers: unknown): string | null {
  const ids = REQUEST_IDS.map((name) => readText(headers, name));
  return ids.find((id) => id !== null && REQUEST_ID.test(id) && !looksLikeKey(id)) ?? null;
}

const RATE_LIMIT = /^(x-ratelimit|anthropic-ratelimit)-[a-z-]{1,60}$/;
const AMOUNT = /^(\d+(\.\d+)?(ms|s|m|h|d)?)+$|^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)$/;

/** What a provider's headers say of its limits: numbers, durations and instants. */
export function rateLimitsOf(headers: unknown): Record<string, string> {
  if (typeof headers !== 'object' || headers === null) return {};
  const found = Object.keys(headers).flatMap((name) => {
    const value = readText(headers, name) ?? '';
    const isOne = RATE_LIMIT.test(name) && value.length <= 40 && AMOUNT.test(value);
    return isOne ? [[name, value] as const] : [];
  });
  return Object.fromEntries(found);
}
