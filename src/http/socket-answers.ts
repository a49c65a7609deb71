/**
 * Answers to what never became a request for the handler, or not in time: a head that is none, one that is too slow or
 * too large, a client that wants a proxy. They are problem details like all others, written to the socket itself, which
 * is then closed.
 */
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { FullReply } from './endpoint.ts';
import { PROBLEMS, closing, problem, problemHeaders, problemJson } from './problems.ts';
import type { Problem } from './problems.ts';
import { LINGER_MS, allHeaders } from './respond.ts';

/** Sockets that were answered so. What still comes on them gets no second answer. */
const refused = new WeakSet<Duplex>();

export function refuse(socket: Duplex, refusal: Problem): void {
  if (refused.has(socket)) return;
  refused.add(socket);
  socket.on('error', () => undefined); // it is on its way out
  if (socket.writable) socket.end(bytesOf(closing(refusal)));
  else socket.destroy();
  // as long as the client is still sending: closing at once could take the answer back
  socket.resume();
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}

function bytesOf(refusal: Problem): string {
  const { status } = PROBLEMS[refusal.code];
  const body = JSON.stringify(problemJson(refusal));
  const headers = allHeaders({
    ...problemHeaders(refusal),
    'content-length': String(Buffer.byteLength(body)),
    date: new Date().toUTCString(),
  });
  const lines = headers.map((text, at) => (at % 2 === 0 ? `${text}: ` : `${text}\r\n`)).join('');
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines}\r\n${body}`;
}

/** Of a request that the app is not asked about. */
export function replyOf(refusal: Problem): FullReply {
  const { status } = PROBLEMS[refusal.code];
  const headers = allHeaders(problemHeaders(refusal));
  return { status, headers, body: JSON.stringify(problemJson(refusal)) };
}

/** What an error of Node's own reading of HTTP is to the client. */
export function unreadableProblem(error: Error & { code?: string }): Problem {
  return UNREADABLE.get(error.code ?? '') ?? problem('invalid_request', 'The request is not valid HTTP/1.1.');
}

const UNREADABLE = new Map([
  ['ERR_HTTP_REQUEST_TIMEOUT', problem('request_timeout', 'The request did not arrive in time.')],
  ['HPE_HEADER_OVERFLOW', problem('head_too_large', 'Address and headers together are too large.')],
  ['HPE_CHUNK_EXTENSIONS_OVERFLOW', problem('too_large', 'The extensions of a chunk are too large.')],
  ['HPE_INVALID_METHOD', problem('invalid_request', 'This is no HTTP/1.1, or its method is not known.')],
]);

/** A request that is none for any route. */
export const NO_ADDRESS: Problem = problem('invalid_request', 'The request has no valid host or address.');

export const DEFECT: Problem = problem('internal', 'Something went wrong here.');

export const NO_PROXY: Problem = {
  ...problem('method_not_allowed', 'This server is no proxy.'),
  headers: { allow: 'GET, HEAD, POST, PUT, DELETE' },
};

export const UNKNOWN_EXPECTATION: Problem = problem(
  'expectation_failed',
  'The only expectation that is known is 100-continue.',
);

export const NO_ANSWER: Problem = problem(
  'unavailable',
  'There was no answer in time. Send the same request again.',
);
