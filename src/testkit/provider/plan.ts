/**
 * From a reply to what goes over the wire: a status, headers, and pieces of a body, where to wait and how to end.
 * Nothing here is random and nothing asks a clock, so a seed and a script always give the same bytes.
 */
import { httpError, isError } from './errors.ts';
import type { Trouble } from './errors.ts';
import type { Asked, ErrorReply, ProviderReply } from './replies.ts';
import { idOf } from './said.ts';
import { EVENT_STREAM, JSON_TYPE } from './sending.ts';
import type { Plan, Sending } from './sending.ts';
import { speak } from './speak.ts';

const ANSWERED = {
  kind: 'send',
  status: 200,
  headers: {},
  pieces: [],
  pauseMs: 0,
  holdBefore: null,
  end: 'whole',
} satisfies Sending;

export function plan(reply: ProviderReply, asked: Asked): Plan {
  if (reply.reply === 'connection_reset') return { kind: 'reset' };
  const requestId = reply.requestId ?? newRequestId(asked);
  const sending = { ...ANSWERED, ...answer(reply, asked, requestId) };
  return {
    ...sending,
    headers: { ...requestIdHeader(asked, requestId), ...sending.headers, ...reply.headers },
    holdBefore: holdOf(reply, sending.pieces.length),
  };
}

/** What a call gets that never comes to the script. */
export function planWithoutScript(what: 'unknown_path' | 'unreadable_body', asked: Asked): Plan {
  const requestId = newRequestId(asked);
  const sending = { ...ANSWERED, ...error(what, asked, requestId) };
  return { ...sending, headers: { ...requestIdHeader(asked, requestId), ...sending.headers } };
}

function newRequestId(asked: Asked): string {
  return `req_${idOf(asked, 'request')}`;
}

function requestIdHeader({ api }: Asked, requestId: string): Record<string, string> {
  return { [api === 'messages' ? 'request-id' : 'x-request-id']: requestId };
}

type Answering = Exclude<ProviderReply, { reply: 'connection_reset' }>;

function answer(reply: Answering, asked: Asked, requestId: string): Partial<Sending> {
  if (reply.reply === 'raw') return raw(reply);
  if (reply.reply === 'empty_body') return { headers: asked.stream ? EVENT_STREAM : JSON_TYPE };
  if (reply.reply === 'bad_gateway_html') return BAD_GATEWAY;
  if (isError(reply)) return error(reply.reply, asked, requestId, retryAfter(reply));
  // Anthropic has no finish reason for a filter: it says so with an error
  const blocked = reply.reply === 'content_filter' && asked.api === 'messages';
  return blocked ? error('output_blocked', asked, requestId) : speak(reply, asked, requestId);
}

const BAD_GATEWAY = {
  status: 502,
  headers: { 'content-type': 'text/html' },
  pieces: [
    '<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n' +
      '<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n',
  ],
};

function raw({ status, body }: Extract<ProviderReply, { reply: 'raw' }>): Partial<Sending> {
  const text = typeof body === 'string';
  return {
    status: status ?? 200,
    headers: text ? {} : JSON_TYPE,
    pieces: [text ? body : JSON.stringify(body)],
  };
}

/** A status and the API's own words. */
function error(what: Trouble, asked: Asked, requestId: string, headers: object = {}): Partial<Sending> {
  const { status, body } = httpError(what, asked, requestId);
  return { status, headers: { ...JSON_TYPE, ...headers }, pieces: [JSON.stringify(body)] };
}

const DAY_SECONDS = 86_400;

function retryAfter(reply: ErrorReply): object {
  if (!('retryAfter' in reply)) return {};
  const { retryAfter: wanted } = reply;
  if (wanted instanceof Date) return { 'retry-after': wanted.toUTCString() };
  return { 'retry-after': String(typeof wanted === 'object' ? wanted.days * DAY_SECONDS : wanted) };
}

function holdOf(reply: Answering, pieces: number): number | null {
  if (reply.reply === 'silence' || reply.hold === true) return -1;
  if (reply.reply === 'headers_then_silence') return 0;
  return reply.hold === 'middle' ? Math.floor(pieces / 2) : null;
}
