/**
 * What a script may say: answers, and the ways in which a provider fails, each by name. A reply is written once and
 * spoken in the wire form of whichever API the call used.
 */

/** Tokens in buckets that do not overlap; each API adds them up in its own way. A bucket left out is 0. */
export interface ProviderUsage {
  /** Read afresh: neither from a cache nor into one. */
  input?: number;
  /** Read from a cache. */
  cachedInput?: number;
  /** Written into a cache. */
  cacheWrite?: number;
  /** Written for the caller to read. */
  output?: number;
  /** Written for the model itself. */
  reasoning?: number;
}

export interface ProviderToolCall {
  /** Of the tool; the first that the request offers, unless given. */
  name?: string;
  /** The arguments, as a value. */
  input: unknown;
}

interface Anything {
  /** The provider's id of the request; one of the fake's own, unless given. */
  requestId?: string;
  /** Added to the answer's headers: rate limits, say. */
  headers?: Record<string, string>;
  /** `true`: nothing is sent before `release()`. `'middle'`: the first half of the answer is. */
  hold?: true | 'middle';
}

/** What an answer with status 200 may carry. */
interface Spoken extends Anything {
  text?: string;
  /** The text is this value as JSON. Where the request forces a tool, the tool is called with it. */
  json?: unknown;
  toolCalls?: readonly ProviderToolCall[];
  /** The model that says it served; the one that was asked for, unless given. */
  model?: string;
  /** `null`: the answer says nothing of it. */
  usage?: ProviderUsage | null;
  /** Into how many pieces a streamed text is cut; 3 unless given. */
  chunks?: number;
  /** How long a stream waits after each piece of text; not at all, unless given. */
  chunkDelayMs?: number;
}

/** An answer as it should be. */
export interface ProviderAnswer extends Spoken {
  reply: 'ok';
}

/** Answered with status 200, and yet not what was asked for. */
interface SpokenFault extends Spoken {
  reply:
    | 'length_with_json'
    | 'refusal'
    | 'content_filter'
    | 'stream_breaks'
    | 'stream_ends_early'
    | 'silence'
    | 'headers_then_silence'
    | 'broken_json'
    | 'wrong_model'
    | 'no_usage'
    | 'malformed_tool_call';
}

interface MalformedOutput extends Spoken {
  reply: 'malformed_output';
  /** The answer's JSON between prose and a Markdown fence, or prose alone; `'fenced'` unless given. */
  as?: 'fenced' | 'prose';
}

interface FailedIn200 extends Spoken {
  reply: 'failed_in_200';
  /** `server_error` unless given; Anthropic says `overloaded_error`, and `rate_limit_error` for `rate_limit_exceeded`. */
  code?: string;
  /** OpenAI's error of a failed response has no `type`; gateways send one. Left out unless given. */
  errorType?: string;
  /** A stream fails only after half of its text; before any, unless given. */
  afterText?: true;
}

interface OneByteASecond extends Spoken {
  reply: 'one_byte_a_second';
  /** Between two bytes: 1000 unless given. */
  intervalMs?: number;
}

/** An error with an HTTP status of its own, in the API's words. */
interface ErrorAnswer extends Anything {
  reply:
    | 'insufficient_quota'
    | 'credit_too_low'
    | 'payment_required'
    | 'server_error'
    | 'context_too_long'
    | 'unauthorized'
    | 'forbidden'
    | 'model_not_found'
    | 'bad_request';
}

interface ErrorForNow extends Anything {
  reply: 'rate_limited' | 'overloaded';
  /** Retry-After: seconds, a moment (sent as an HTTP date), a number of days (sent as seconds), or the header's own text. */
  retryAfter?: number | Date | { days: number } | string;
}

interface BadGateway extends Anything {
  reply: 'bad_gateway_html';
}

interface EmptyBody extends Anything {
  reply: 'empty_body';
}

interface Reset {
  reply: 'connection_reset';
}

interface Raw extends Anything {
  reply: 'raw';
  /** 200 unless given. */
  status?: number;
  /** Text is sent as it is, any other value as JSON. */
  body: unknown;
}

/** A way to fail. docs/fake-provider.md has a line on each, and what AI SDK v6 makes of it. */
export type ProviderFault =
  | SpokenFault
  | MalformedOutput
  | FailedIn200
  | OneByteASecond
  | ErrorReply
  | BadGateway
  | EmptyBody
  | Reset
  | Raw;

/** A reply with a status of its own and the API's error in it. */
export type ErrorReply = ErrorAnswer | ErrorForNow;

/** A reply with status 200 and an answer in it, whole or not. */
export type SpokenReply = ProviderAnswer | SpokenFault | MalformedOutput | FailedIn200 | OneByteASecond;

/** What one call gets. */
export type ProviderReply = ProviderAnswer | ProviderFault;

/** Every name; the compiler says when one is missing. */
const NAMES: Record<ProviderReply['reply'], true> = {
  ok: true,
  rate_limited: true,
  insufficient_quota: true,
  credit_too_low: true,
  payment_required: true,
  failed_in_200: true,
  length_with_json: true,
  refusal: true,
  content_filter: true,
  stream_breaks: true,
  stream_ends_early: true,
  overloaded: true,
  server_error: true,
  bad_gateway_html: true,
  connection_reset: true,
  silence: true,
  headers_then_silence: true,
  one_byte_a_second: true,
  broken_json: true,
  empty_body: true,
  context_too_long: true,
  unauthorized: true,
  forbidden: true,
  model_not_found: true,
  bad_request: true,
  wrong_model: true,
  no_usage: true,
  malformed_output: true,
  malformed_tool_call: true,
  raw: true,
};

export const REPLY_NAMES: readonly string[] = Object.keys(NAMES);

/** @throws TypeError where a name is none of a reply, which in JavaScript nobody else would say */
export function checkScript(replies: readonly ProviderReply[]): readonly ProviderReply[] {
  for (const { reply } of replies) {
    if (!Object.hasOwn(NAMES, reply)) {
      throw new TypeError(
        `No reply of the fake provider is named "${reply}". There are: ${REPLY_NAMES.join(', ')}.`,
      );
    }
  }
  return replies;
}

/** The wire format that a call speaks. */
export type ProviderApi = 'responses' | 'chat' | 'messages';

/** A call as the wire formats need it. */
export interface Asked {
  /** The provider's seed, and the number of the call: what its ids follow from. */
  seed: number;
  index: number;
  api: ProviderApi;
  model: string;
  stream: boolean;
  body: Record<string, unknown>;
}
