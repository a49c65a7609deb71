/** Answers with status 200, in one piece or as a stream: whole, cut, or failing in the middle. */
import { chatJson, chatStream } from './chat.ts';
import { anthropicErrorBody } from './errors.ts';
import { messagesJson, messagesStream } from './messages.ts';
import type { Asked, ProviderReply, SpokenReply } from './replies.ts';
import { responsesFailedStream, responsesFailure, responsesJson, responsesStream } from './responses.ts';
import { said } from './said.ts';
import type { Said } from './said.ts';
import { EVENT_STREAM, JSON_TYPE } from './sending.ts';
import type { Sending } from './sending.ts';
import { encodeInPieces, firstHalf } from './sse.ts';
import type { EventStream, SseEvent } from './sse.ts';

export function speak(reply: SpokenReply, asked: Asked, requestId: string): Partial<Sending> {
  const words = said(reply, asked);
  if (reply.reply !== 'failed_in_200') {
    return asked.stream ? stream(reply, streamOf(asked, words)) : inOne(reply, jsonOf(asked, words));
  }
  const failure = failureOf(reply, asked, words, requestId);
  return asked.stream ? stream(reply, failed(reply, asked, words, failure)) : inOne(reply, failure);
}

function inOne(reply: SpokenReply, json: object): Partial<Sending> {
  const body = Buffer.from(JSON.stringify(json));
  const middle = Math.ceil(body.byteLength / 2);
  const headers = { ...JSON_TYPE, 'content-length': String(body.byteLength) };
  const half = body.subarray(0, middle);
  if (reply.reply === 'stream_breaks') return { headers, pieces: [half], end: 'cut' };
  if (reply.reply === 'stream_ends_early' || reply.reply === 'broken_json') {
    return { headers: JSON_TYPE, pieces: [half] };
  }
  return drip(reply, body) ?? { headers, pieces: [half, body.subarray(middle)] };
}

function stream(reply: SpokenReply, { start, body, final }: EventStream): Partial<Sending> {
  const sent = (...events: (readonly SseEvent[])[]) => ({
    headers: EVENT_STREAM,
    pieces: encodeInPieces(events.flat()),
  });
  if (reply.reply === 'stream_breaks') return { ...sent(start, firstHalf(body)), end: 'cut' };
  if (reply.reply === 'stream_ends_early') return sent(start, body);
  if (reply.reply === 'broken_json') return sent(start, firstHalf(body), [cutEvent(body)]);
  const whole = { ...sent(start, body, final), pauseMs: reply.chunkDelayMs ?? 0 };
  return { ...whole, ...drip(reply, Buffer.from(whole.pieces.join(''))) };
}

/** The body byte by byte, where the reply is one that drips. */
function drip(reply: SpokenReply, body: Buffer): Partial<Sending> | null {
  if (reply.reply !== 'one_byte_a_second') return null;
  return {
    pieces: Array.from(body, (_, index) => body.subarray(index, index + 1)),
    pauseMs: reply.intervalMs ?? 1000,
  };
}

/** An event whose JSON stops in the middle. */
function cutEvent(events: readonly SseEvent[]): SseEvent {
  const event = events.at(-1) ?? { data: {} };
  const json = JSON.stringify(event.data);
  return { ...event, data: json.slice(0, Math.ceil(json.length / 2)) };
}

function jsonOf({ api }: Asked, words: Said): object {
  if (api === 'responses') return responsesJson(words);
  return api === 'chat' ? chatJson(words) : messagesJson(words);
}

function streamOf({ api, body }: Asked, words: Said): EventStream {
  if (api === 'responses') return responsesStream(words);
  if (api === 'messages') return messagesStream(words);
  const options = body['stream_options'] as { include_usage?: boolean } | undefined;
  return chatStream(words, options?.include_usage === true);
}

type FailedIn200 = Extract<ProviderReply, { reply: 'failed_in_200' }>;

const FAILED = 'An error occurred while processing your request. You can retry it.';

/** Anthropic's words for OpenAI's codes; any other code is its own. */
const ANTHROPIC_TYPES: Readonly<Record<string, string>> = {
  server_error: 'overloaded_error',
  rate_limit_exceeded: 'rate_limit_error',
};

function failureOf(reply: FailedIn200, { api }: Asked, words: Said, requestId: string): object {
  const code = reply.code ?? 'server_error';
  const type = reply.errorType === undefined ? {} : { type: reply.errorType };
  if (api === 'responses') return responsesFailure(words, { code, message: FAILED, ...type });
  if (api === 'chat') return { error: { message: FAILED, type: 'server_error', param: null, code, ...type } };
  const anthropicType = ANTHROPIC_TYPES[code] ?? code;
  const message = anthropicType === 'overloaded_error' ? 'Overloaded' : FAILED;
  return anthropicErrorBody(anthropicType, message, requestId);
}

function failed(reply: FailedIn200, asked: Asked, words: Said, failure: object): EventStream {
  const { start, body } = streamOf(asked, words);
  const before = reply.afterText ? firstHalf(body) : [];
  if (asked.api === 'responses') return responsesFailedStream(words, failure, before);
  if (asked.api === 'chat') return { start, body: before, final: [{ data: failure }] };
  // before any text Anthropic has not even begun a message
  return { start: reply.afterText ? start : [], body: before, final: [{ event: 'error', data: failure }] };
}
