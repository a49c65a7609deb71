/**
 * Errors of the AI SDK, read as what was seen of a call. They are known by the marker symbols that the SDK gives them, as its own
 * `isInstance` knows them, so that an error of any copy of the SDK is read, and this room needs none.
 *
 * An `APICallError` carries the prompt, the answer, every header, and whatever a provider quotes of a key. Only what is named
 * here leaves it: statuses, error types and codes that look like names, a wait, and which of four known sentences it says.
 */
import type { FinishReason, ProviderError, Said, Seen } from './model-outcome.ts';
import { isLastingFault, isPassingFault } from './network-faults.ts';
import { parseRetryAfter, parseRetryAfterMs } from './retry-after.ts';
import { items, read, readIn, readText, withCauses } from './untrusted.ts';

const MARKER = 'vercel.ai.error';
const GATEWAY = Symbol.for('vercel.ai.gateway.error');
const CAUSES_LIMIT = 6;
const BODY_LIMIT = 262_144;

type Kind = 'call' | 'gateway' | 'download' | 'wrapper' | 'object' | 'malformed' | 'unreadable' | 'unusable';

/** What each of the SDK's errors is, by its name. Those that are not here are `other`. */
const KINDS: Readonly<Record<string, Kind>> = {
  AI_APICallError: 'call',
  AI_DownloadError: 'download',
  AI_RetryError: 'wrapper',
  AI_NoOutputGeneratedError: 'wrapper',
  AI_ToolCallRepairError: 'malformed',
  AI_NoObjectGeneratedError: 'object',
  AI_NoContentGeneratedError: 'malformed',
  AI_TypeValidationError: 'malformed',
  AI_JSONParseError: 'malformed',
  AI_InvalidToolInputError: 'malformed',
  AI_NoSuchToolError: 'malformed',
  AI_ToolChoiceViolationError: 'malformed',
  AI_InvalidResponseDataError: 'unreadable',
  AI_EmptyResponseBodyError: 'unreadable',
  AI_LoadAPIKeyError: 'unusable',
  AI_LoadSettingError: 'unusable',
  AI_NoSuchModelError: 'unusable',
  AI_NoSuchProviderError: 'unusable',
  AI_UnsupportedFunctionalityError: 'unusable',
  AI_UnsupportedModelVersionError: 'unusable',
  AI_InvalidArgumentError: 'unusable',
  AI_InvalidPromptError: 'unusable',
  AI_InvalidDataContentError: 'unusable',
  AI_InvalidMessageRoleError: 'unusable',
  AI_MessageConversionError: 'unusable',
};

export function isSdkError(thrown: unknown): boolean {
  return isMarked(thrown, Symbol.for(MARKER)) || isMarked(thrown, GATEWAY);
}

/** Whether it is the SDK's error of this name: `AI_APICallError`. */
export function isSdkErrorNamed(thrown: unknown, name: string): boolean {
  // Not every class has a marker of its own.
  return (
    isMarked(thrown, Symbol.for(`${MARKER}.${name}`)) ||
    (isMarked(thrown, Symbol.for(MARKER)) && read(thrown, 'name') === name)
  );
}

function isMarked(thrown: unknown, marker: symbol): boolean {
  return read(thrown, marker) === true;
}

/**
 * What was seen of a call that ended in this error; null where it is none of the SDK's.
 * @param nowMs for a Retry-After that is a date, where the answer itself does not say when it was written
 */
export function seenOfSdkError(thrown: unknown, nowMs: number | null): Seen | null {
  if (!isSdkError(thrown)) return null;
  switch (kindOf(thrown)) {
    case 'call':
      return seenOfCallError(thrown, nowMs);
    case 'gateway':
      return { type: 'http', ...gatewayError(thrown, nowMs) };
    case 'download':
      return seenOfDownload(thrown);
    case 'wrapper':
      return seenOfWrapper(thrown, nowMs);
    case 'object':
      return seenOfObjectError(thrown);
    case 'malformed':
      return { type: 'malformed' };
    case 'unreadable':
      return { type: 'broken_json' };
    case 'unusable':
      return { type: 'unusable' };
    case null:
      return { type: 'other' };
  }
}

function kindOf(thrown: unknown): Kind | null {
  if (isMarked(thrown, GATEWAY)) return 'gateway';
  const name = Object.keys(KINDS).find((known) => isSdkErrorNamed(thrown, known));
  return name === undefined ? null : (KINDS[name] ?? null);
}

/** The error that the SDK gave up with, or that left it without output; without one, there was no output to find. */
export function innerOf(wrapper: unknown): unknown {
  return read(wrapper, 'lastError') ?? read(wrapper, 'cause');
}

function seenOfWrapper(wrapper: unknown, nowMs: number | null): Seen {
  const inner = innerOf(wrapper);
  const nested = kindOf(inner) === 'wrapper';
  return (nested ? null : seenOfError(inner, nowMs)) ?? { type: 'malformed' };
}

const FINISHES: readonly unknown[] = ['length', 'content-filter'] satisfies FinishReason[];

/** Why the model stopped comes before what it wrote: what was cut off cannot match a schema. */
function seenOfObjectError(thrown: unknown): Seen {
  const reason = read(thrown, 'finishReason');
  if (!FINISHES.includes(reason)) return { type: 'malformed' };
  return { type: 'finish', reason: reason as FinishReason, raw: null, refused: false };
}

function seenOfDownload(thrown: unknown): Seen {
  const status = statusOf(read(thrown, 'statusCode'));
  return status === null
    ? { type: 'network', faultCode: faultOf(thrown) }
    : { type: 'http', ...providerError(status, null, null) };
}

/** An error of the SDK's or of the network; null where it is neither. */
export function seenOfError(thrown: unknown, nowMs: number | null): Seen | null {
  const sdk = seenOfSdkError(thrown, nowMs);
  if (sdk !== null) return sdk;
  const name = read(thrown, 'name');
  if (name === 'TimeoutError') return { type: 'timeout' };
  if (name === 'AbortError' || name === 'ResponseAborted') return { type: 'aborted' };
  const faultCode = faultOf(thrown);
  if (faultCode !== null) return { type: 'network', faultCode };
  return causedBy(thrown, isTimeout) ? { type: 'timeout' } : null;
}

// --- a call that failed ----------------------------------------------------------------------------

function seenOfCallError(thrown: unknown, nowMs: number | null): Seen {
  const status = statusOf(read(thrown, 'statusCode'));
  const retryAfterMs = retryAfterOf(read(thrown, 'responseHeaders'), nowMs);
  const body = bodyOf(thrown);
  // An error that OpenAI puts into a 200: the SDK hands its body on as it was parsed, and makes up a status.
  if (isObject(read(thrown, 'responseBody')) && isFailedBody(body))
    return { type: 'failed_body', ...providerError(null, body, retryAfterMs) };
  if (status === null) return seenOfNoAnswer(thrown);
  // The first chunk of a stream of Anthropic's, where it could not be read: the SDK's own error takes the place of the frame.
  if (UNREAD.includes(read(body, 'name'))) return { type: 'broken_json' };
  if (status >= 200 && status < 300) return seenOfUnread(thrown, body, retryAfterMs);
  return { type: 'http', ...providerError(status, body, retryAfterMs) };
}

const UNREAD: readonly unknown[] = ['AI_JSONParseError', 'AI_TypeValidationError'];

function seenOfNoAnswer(thrown: unknown): Seen {
  return causedBy(thrown, isTimeout) ? { type: 'timeout' } : { type: 'network', faultCode: faultOf(thrown) };
}

/** A 200 that the SDK could not use. */
function seenOfUnread(thrown: unknown, body: unknown, retryAfterMs: number | null): Seen {
  if (isFailedBody(body)) return { type: 'failed_body', ...providerError(null, body, retryAfterMs) };
  if (causedBy(thrown, isTimeout)) return { type: 'timeout' };
  if (faultOf(thrown) !== null) return { type: 'broken_stream' };
  return { type: 'broken_json' };
}

function gatewayError(thrown: unknown, nowMs: number | null): ProviderError {
  const retryAfterMs = retryAfterOf(readIn(thrown, 'cause', 'responseHeaders'), nowMs);
  const error = { type: read(thrown, 'type'), message: read(thrown, 'message') };
  return providerError(statusOf(read(thrown, 'statusCode')), error, retryAfterMs);
}

/** The body as it came; what the SDK parsed of it lacks the fields that the SDK does not know. */
function bodyOf(thrown: unknown): unknown {
  const body = read(thrown, 'responseBody');
  const parsed = typeof body === 'string' ? parsedBody(body) : body;
  return isObject(parsed) ? parsed : read(thrown, 'data');
}

function parsedBody(body: string): unknown {
  if (body.length > BODY_LIMIT) return null;
  try {
    return JSON.parse(body) as unknown;
  } catch {
    return null;
  }
}

// --- what a provider says --------------------------------------------------------------------------

/** Whether a body that came with a 200 says that there is no answer in it. */
export function isFailedBody(body: unknown): boolean {
  const status = read(body, 'status');
  return isSaid(read(body, 'error')) || status === 'failed' || status === 'cancelled';
}

function isSaid(error: unknown): boolean {
  return isObject(error) || (typeof error === 'string' && error !== '');
}

/** Allow-listed fields of the bodies of OpenAI, of Anthropic and of those that speak like them. */
export function providerError(
  status: number | null,
  body: unknown,
  retryAfterMs: number | null,
): ProviderError {
  const error = errorIn(body);
  const errorCode = nameOrNumber(read(error, 'code')) ?? nameOf(readIn(error, 'details', 'error_code'));
  return {
    status: status ?? statusOf(Number(errorCode ?? Number.NaN)),
    errorType: nameOf(read(error, 'type')) ?? nameOf(read(error, 'status')),
    errorCode,
    said: saidIn(messageIn(error)),
    retryAfterMs,
  };
}

/** `{error: {...}}`, the frame of a failed response in a stream, or the error itself. */
function errorIn(body: unknown): unknown {
  const inner = read(body, 'error') ?? readIn(body, 'response', 'error');
  return isSaid(inner) ? inner : body;
}

function messageIn(error: unknown): string {
  if (typeof error === 'string') return error;
  return readText(error, 'message') ?? readText(error, 'detail') ?? '';
}

const SAYINGS: readonly (readonly [Said, RegExp])[] = [
  ['never_fits', /^request too large for /i],
  ['filtered', /content (filtering|filter|management) policy/i],
  [
    'out_of_money',
    /credit balance is too low|insufficient (credit|balance|fund)|reached your specified api usage limit|billing (hard )?limit/i,
  ],
  [
    'too_long',
    /maximum context length|context (length|window|size)|(prompt|input|request) is too long|too many (input )?tokens|exceeds? the (maximum )?(number of tokens|token limit)/i,
  ],
];

/** Anthropic tells an empty account, a filter and a long prompt by the same type as any mistake; its sentence is all there is. */
function saidIn(message: string): Said | null {
  const start = message.slice(0, 2000);
  return SAYINGS.find(([, pattern]) => pattern.test(start))?.[0] ?? null;
}

/** Words joined by underscores or dots. Nothing that a key or a sentence could be. */
const NAME = /^[A-Za-z]{1,40}([_.][A-Za-z0-9]{1,24}){0,8}$/;

function nameOf(value: unknown): string | null {
  return typeof value === 'string' && NAME.test(value) ? value : null;
}

function nameOrNumber(value: unknown): string | null {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < 100_000)
    return String(value);
  return typeof value === 'string' && /^\d{3}$/.test(value) ? value : nameOf(value);
}

function statusOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isInteger(value) && value >= 100 && value <= 599 ? value : null;
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}

// --- headers ---------------------------------------------------------------------------------------

/** The wait that an answer's headers ask for; null where they ask for none. Names are in lower case. */
function retryAfterOf(headers: unknown, nowMs: number | null): number | null {
  const inMs = parseRetryAfterMs(readText(headers, 'retry-after-ms') ?? '');
  if (inMs !== null) return inMs;
  // The date was written by the clock that wrote `date`, whatever ours says.
  const written = Date.parse(readText(headers, 'date') ?? '');
  const now = Number.isNaN(written) ? nowMs : written;
  const value = readText(headers, 'retry-after') ?? '';
  return now === null && !/^[\d.]+$/.test(value) ? null : parseRetryAfter(value, now ?? 0);
}

// --- causes ----------------------------------------------------------------------------------------

function causedBy(thrown: unknown, matches: (cause: unknown) => boolean): boolean {
  return chainOf(thrown).some(matches);
}

function isTimeout(thrown: unknown): boolean {
  return read(thrown, 'name') === 'TimeoutError';
}

/** The first code of a broken connection among the causes. */
function faultOf(thrown: unknown): string | null {
  const codes = chainOf(thrown).map((one) => read(one, 'code'));
  return codes.find(isFaultCode) ?? null;
}

function isFaultCode(code: unknown): code is string {
  if (typeof code !== 'string' || !/^[A-Z0-9_]{3,50}$/.test(code)) return false;
  return isPassingFault(code) || isLastingFault(code) || /^(UND_ERR|HPE)_/.test(code);
}

/** An address with several records fails as an aggregate. */
function chainOf(thrown: unknown): unknown[] {
  return withCauses(thrown, CAUSES_LIMIT).flatMap((one) => [one, ...items(read(one, 'errors'), 4)]);
}
