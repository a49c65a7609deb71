/**
 * What a call to a model meant: one versioned table from what was seen to a code of the record.
 *
 * Whoever makes a call turns what came (an answer, an error, the end of a stream) into a `Seen`: plain data of names and
 * numbers, with nothing in it that a prompt, an answer, a header or a key said. The table is read from its top; the first
 * rule that matches gives the code, and its id is kept with the error, so that a record can be read by the table of
 * its day. The order is: a guard of our own; why our own signal fired; a timeout; the finish reason, before any content;
 * malformed output; what no retry can mend; what passes by itself; and anything else is a defect of the function.
 *
 * A status in a stream, or in a 200 whose body says that it failed, is not the provider's: the SDK makes one up, and
 * takes 500 or 400 where it knows no better. So the words of an error count before its status.
 */
import type { ErrorCode } from './failures.ts';
import { isLastingFault } from './network-faults.ts';

/** Grows with every change of a rule's meaning. */
export const TABLE_VERSION = 1;

/** `rule` names the line of the table, for the error entry: `models-v1/rate_limited`. */
export interface Judgement {
  code: ErrorCode;
  rule: string;
  /** From the provider's Retry-After. */
  retryAfterMs?: number;
}

/** Why the attempt's own signal fired. `revoked`: cancelled, or settled from outside. */
export const SIGNAL_REASONS = ['timeout', 'deadline_exceeded', 'revoked', 'lease_lost', 'shutdown'] as const;
type SignalReason = (typeof SIGNAL_REASONS)[number];

/** What only the sentence of an error tells: `never_fits` is a request larger than a whole minute's allowance. */
export type Said = 'out_of_money' | 'too_long' | 'never_fits' | 'filtered';

/** What a provider said of a failure: names and numbers only. */
export interface ProviderError {
  /** Null where there was none, or only a 200's. */
  status: number | null;
  errorType: string | null;
  errorCode: string | null;
  said: Said | null;
  retryAfterMs: number | null;
}

export type FinishReason = 'stop' | 'length' | 'content-filter' | 'tool-calls' | 'error' | 'other';

export type Seen =
  /** We did not make the call. */
  | { type: 'guard'; judgement: Judgement }
  | { type: 'signal'; reason: SignalReason }
  /** A time limit that is not the attempt's own. */
  | { type: 'timeout' }
  /** The function, or somebody else's signal, gave the call up. */
  | { type: 'aborted' }
  /** `refused`: the answer has a refusal in it, whatever it says of its end. `raw`: the provider's own word. */
  | { type: 'finish'; reason: FinishReason; raw: string | null; refused: boolean }
  /** The answer is whole, and not what was asked for. */
  | { type: 'malformed' }
  | ({ type: 'http' } & ProviderError)
  /** A 200, and its body says that it failed. */
  | ({ type: 'failed_body' } & ProviderError)
  /** A part of a stream that says that the rest will not come. */
  | ({ type: 'stream_error' } & ProviderError)
  /** No answer. */
  | { type: 'network'; faultCode: string | null }
  /** The connection broke in the middle of an answer. */
  | { type: 'broken_stream' }
  /** The stream ended as if all were well, before it said why. */
  | { type: 'ended_early' }
  /** A 200 that cannot be read: no JSON, or none that the SDK knows. */
  | { type: 'broken_json' }
  /** The SDK could not make a request: no key, no such model, a feature that there is not. */
  | { type: 'unusable' }
  | { type: 'other' };

/** What earlier calls of the job say about this one. */
export interface CallsBefore {
  /** Whether one of them, in any attempt, met a 200 that could not be read. */
  brokenJson: boolean;
}

type Group = 'signal' | 'timeout' | 'finish' | 'malformed' | 'permanent' | 'transient' | 'rest';

interface Rule {
  id: string;
  group: Group;
  code: ErrorCode;
  matches: (seen: Seen, before: CallsBefore) => boolean;
}

const QUOTA = words(
  'insufficient_quota billing_hard_limit_reached billing_not_active billing_error credit_balance_too_low',
  'insufficient_balance insufficient_credits insufficient_funds payment_required exceeded_current_quota_error',
  'enforced_spend_limit_reached spend_limit_reached',
);
const TOO_LONG = words(
  'context_length_exceeded context_window_exceeded string_above_max_length request_too_large',
  'exceed_context_size_error',
);
const POLICY = words(
  'content_policy_violation content_filter image_content_policy_violation moderation_blocked bio_policy',
  'cyber_policy_violation responsibleaipolicyviolation refusal',
);
const RATE = words(
  'rate_limit_exceeded rate_limit_error rate_limited too_many_requests requests tokens resource_exhausted',
  'throttlingexception slow_down',
);
const OVERLOADED = words(
  'overloaded_error overloaded server_overloaded engine_overloaded model_overloaded service_unavailable',
  'unavailable',
);
const SERVER = words(
  'server_error internal_error internal_server_error internal api_error timeout_error deadline_exceeded',
  'vector_store_timeout',
);
const PERMANENT = words(
  'authentication_error permission_error permission_denied unauthenticated unauthorized',
);
const PERMANENT_FORM =
  /^(invalid|unsupported|missing|empty|image)_|(^|_)(invalid|not_found|not_found_error|too_large|too_small|too_long)$/;

/** Ends that are whole, of servers whose words the SDK does not know. */
const WHOLE = words('stop eos eos_token end end_turn stop_sequence complete completed pause_turn compaction');
/** Ends that the provider's own trouble made. */
const TROUBLE = words('error abort aborted failed insufficient_system_resource');
/** Words of an end that a refusal gives: OpenAI says `stop`, or nothing at all, Anthropic `refusal`. */
const REFUSAL = words('stop refusal completed');

const DEFECT = rule('unknown', 'rest', 'workflow_error', () => true);

export const RULES = [
  rule('signal_timeout', 'signal', 'timeout', fired('timeout')),
  rule('signal_deadline', 'signal', 'deadline_exceeded', fired('deadline_exceeded')),
  rule('signal_revoked', 'signal', 'cancelled', fired('revoked')),
  rule('signal_lease_lost', 'signal', 'worker_lost', fired('lease_lost')),
  rule('signal_shutdown', 'signal', 'worker_lost', fired('shutdown')),

  rule('timeout', 'timeout', 'upstream_unavailable', ({ type }) => type === 'timeout'),

  rule('refusal', 'finish', 'refused', finished(isRefusal)),
  rule('content_filter', 'finish', 'refused', finished(ended('content-filter'))),
  rule('finish_length', 'finish', 'incomplete_output', finished(ended('length'))),
  rule('finish_malformed', 'finish', 'malformed_output', finished(isMalformedCall)),
  rule('finish_error', 'finish', 'upstream_unavailable', finished(isTrouble)),
  rule('finish_unknown', 'finish', 'incomplete_output', finished(isUnknownEnd)),

  rule('malformed', 'malformed', 'malformed_output', ({ type }) => type === 'malformed'),
  rule('broken_json_again', 'malformed', 'malformed_output', ({ type }, { brokenJson }) => {
    return type === 'broken_json' && brokenJson;
  }),

  rule('quota', 'permanent', 'spending_limit', said(isOutOfMoney)),
  rule('context_too_long', 'permanent', 'invalid_request', said(isTooLong)),
  rule(
    'never_fits',
    'permanent',
    'invalid_request',
    said((error) => error.said === 'never_fits'),
  ),
  rule('content_policy', 'permanent', 'refused', said(isAgainstPolicy)),
  rule('unauthorized', 'permanent', 'invalid_request', said(answered(401))),
  rule('forbidden', 'permanent', 'invalid_request', said(answered(403))),
  rule('not_found', 'permanent', 'invalid_request', said(answered(404))),
  rule('bad_request', 'permanent', 'invalid_request', said(isOtherRejection)),
  rule('invalid_words', 'permanent', 'invalid_request', said(isRejectedInWords)),
  rule('unusable', 'permanent', 'invalid_request', ({ type }) => type === 'unusable'),
  rule('unreachable', 'permanent', 'invalid_request', (seen) => {
    return seen.type === 'network' && seen.faultCode !== null && isLastingFault(seen.faultCode);
  }),

  rule('rate_limited', 'transient', 'upstream_unavailable', said(isRateLimited)),
  rule('overloaded', 'transient', 'upstream_unavailable', said(isOverloaded)),
  rule('request_timeout', 'transient', 'upstream_unavailable', said(hasStatus(408))),
  rule('conflict', 'transient', 'upstream_unavailable', said(hasStatus(409))),
  rule('too_early', 'transient', 'upstream_unavailable', said(hasStatus(425))),
  rule('server_error', 'transient', 'upstream_unavailable', said(isServerError)),
  rule('failed_body', 'transient', 'upstream_unavailable', ({ type }) => type === 'failed_body'),
  rule('stream_error', 'transient', 'upstream_unavailable', ({ type }) => type === 'stream_error'),
  rule('broken_stream', 'transient', 'upstream_unavailable', ({ type }) => type === 'broken_stream'),
  rule('ended_early', 'transient', 'upstream_unavailable', ({ type }) => type === 'ended_early'),
  rule('broken_json', 'transient', 'upstream_unavailable', ({ type }) => type === 'broken_json'),
  rule('network', 'transient', 'upstream_unavailable', ({ type }) => type === 'network'),

  rule('aborted', 'rest', 'workflow_error', ({ type }) => type === 'aborted'),
  DEFECT,
] as const;

export type RuleId = (typeof RULES)[number]['id'];

/** What was seen, judged; null where the call succeeded. Total. */
export function judge(seen: Seen, before: CallsBefore): Judgement | null {
  if (seen.type === 'guard') return seen.judgement;
  if (isSuccess(seen)) return null;
  const { id, code } = RULES.find((one) => one.matches(seen, before)) ?? DEFECT;
  const retryAfterMs = 'retryAfterMs' in seen ? seen.retryAfterMs : null;
  const passes = code === 'upstream_unavailable' && retryAfterMs !== null && retryAfterMs > 0;
  return { code, rule: ruleName(id), ...(passes ? { retryAfterMs } : {}) };
}

/** How a rule of this table is told in a record. */
export function ruleName(id: RuleId): string {
  return `models-v${TABLE_VERSION}/${id}`;
}

/** What the rules of a job's earlier calls and errors say, in whichever version of the table they were given. */
export function callsBefore(rules: readonly (string | null | undefined)[]): CallsBefore {
  return { brokenJson: rules.some((one) => /^models-v\d+\/broken_json(_again)?$/.test(one ?? '')) };
}

// --- how the rules are told ------------------------------------------------------------------------

type Finish = Extract<Seen, { type: 'finish' }>;

function rule<Id extends string>(id: Id, group: Group, code: ErrorCode, matches: Rule['matches']) {
  return { id, group, code, matches } satisfies Rule;
}

function fired(reason: SignalReason): Rule['matches'] {
  return (seen) => seen.type === 'signal' && seen.reason === reason;
}

function finished(matches: (finish: Finish) => boolean): Rule['matches'] {
  return (seen) => seen.type === 'finish' && matches(seen);
}

function said(matches: (error: ProviderError) => boolean): Rule['matches'] {
  return (seen) => 'errorType' in seen && matches(seen);
}

function words(...lines: string[]): ReadonlySet<string> {
  return new Set(lines.join(' ').split(' '));
}

// --- ends of answers -------------------------------------------------------------------------------

/** Success is told by the end alone: whether the content is what was asked for is the function's to say. */
function isSuccess(seen: Seen): boolean {
  if (seen.type !== 'finish' || seen.refused) return false;
  if (seen.reason === 'stop' || seen.reason === 'tool-calls') return true;
  return seen.reason === 'other' && (seen.raw === null || WHOLE.has(seen.raw.toLowerCase()));
}

function isRefusal({ reason, raw, refused }: Finish): boolean {
  return refused || (reason === 'content-filter' && (raw === null || REFUSAL.has(raw.toLowerCase())));
}

function ended(reason: FinishReason) {
  return (finish: Finish) => finish.reason === reason;
}

/** Gemini's word for a tool call that it could not put together. */
function isMalformedCall({ raw }: Finish): boolean {
  return raw?.toLowerCase().startsWith('malformed') === true;
}

function isTrouble({ reason, raw }: Finish): boolean {
  return reason === 'error' || TROUBLE.has(raw?.toLowerCase() ?? '');
}

/** An end that nobody knows is not known to be a whole one. */
function isUnknownEnd({ reason }: Finish): boolean {
  return reason === 'other';
}

// --- errors of providers ---------------------------------------------------------------------------

function hasStatus(status: number) {
  return (error: ProviderError) => error.status === status;
}

function speaksOf(...known: ReadonlySet<string>[]) {
  return ({ errorType, errorCode }: ProviderError) =>
    [errorCode, errorType].some((word) => word !== null && known.some((set) => set.has(word.toLowerCase())));
}

/** The code says more than the type: `invalid_prompt` is no `server_error`, whatever type it comes with. */
function saysItPasses(error: ProviderError): boolean {
  const type = hasPermanentForm(error.errorCode) ? null : error.errorType;
  return speaksOf(RATE, OVERLOADED, SERVER)({ ...error, errorType: type });
}

function hasPermanentForm(word: string | null): boolean {
  return PERMANENT_FORM.test(word?.toLowerCase() ?? '');
}

function isOutOfMoney(error: ProviderError): boolean {
  return error.status === 402 || error.said === 'out_of_money' || speaksOf(QUOTA)(error);
}

function isAgainstPolicy(error: ProviderError): boolean {
  return error.said === 'filtered' || speaksOf(POLICY)(error);
}

/** A 429 that speaks of tokens speaks of how many a minute may have. */
function isTooLong(error: ProviderError): boolean {
  return speaksOf(TOO_LONG)(error) || (error.said === 'too_long' && error.status !== 429);
}

function answered(status: number) {
  return (error: ProviderError) => error.status === status && !saysItPasses(error);
}

/** Codes of HTTP that ask to come again. */
const COME_AGAIN: ReadonlySet<number> = new Set([408, 409, 425, 429]);

/** A redirect that nobody followed is a wrong address. */
function isOtherRejection(error: ProviderError): boolean {
  const { status } = error;
  return status !== null && status >= 300 && status < 500 && !COME_AGAIN.has(status) && !saysItPasses(error);
}

function isRejectedInWords(error: ProviderError): boolean {
  const { status, errorType, errorCode } = error;
  if ((status !== null && status !== 500) || saysItPasses(error)) return false;
  return [errorCode, errorType].some(hasPermanentForm) || speaksOf(PERMANENT)(error);
}

function isRateLimited(error: ProviderError): boolean {
  return error.status === 429 || speaksOf(RATE)(error);
}

function isOverloaded(error: ProviderError): boolean {
  return error.status === 529 || error.status === 503 || speaksOf(OVERLOADED)(error);
}

function isServerError(error: ProviderError): boolean {
  return (error.status !== null && error.status >= 500) || speaksOf(SERVER)(error);
}
