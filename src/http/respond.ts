/** Problems as replies. */
import { finished } from 'node:stream';
import type { IncomingMessage } from 'node:http';
import type { Ctx, Reply, Surface } from './endpoint.ts';
import { PROBLEMS, problemHeaders, problemJson } from './problems.ts';
import type { Problem } from './problems.ts';

/** How long a refused body is read on, so that a client that is still sending sees the answer before the end. */
export const LINGER_MS = 500;

/** On every answer that says nothing else. */
const SAFETY_HEADERS: readonly (readonly [string, string])[] = [
  ['x-content-type-options', 'nosniff'],
  ['content-security-policy', "default-src 'none'; frame-ancestors 'none'"],
  ['referrer-policy', 'no-referrer'],
  ['cross-origin-resource-policy', 'same-origin'],
];

/** Puts what an answer says behind `list`, and then what every answer says and this one does not. */
export function allHeaders(headers: Reply['headers'], list: string[] = []): string[] {
  for (const name in headers) list.push(name, headers[name] as string);
  for (const [name, value] of SAFETY_HEADERS) {
    if (headers[name] === undefined) list.push(name, value);
  }
  return list;
}

export function respond({ socket }: Ctx, { clock }: Pick<Surface, 'clock'>, refusal: Problem): Reply {
  const text = JSON.stringify(problemJson(refusal));
  const headers = problemHeaders(refusal);
  const { status } = PROBLEMS[refusal.code];
  const unread = refusal.closes === true ? socket?.incoming : undefined;
  if (unread === undefined || unread.readableEnded) return { status, headers, body: text };
  // closing a socket with unread bytes resets it, and a reset can overtake the answer
  const length = String(Buffer.byteLength(text));
  const body = new ReadableStream<Uint8Array>({
    async start(controller) {
      controller.enqueue(new TextEncoder().encode(text));
      await discard(unread, clock);
      controller.close();
    },
  });
  return { status, headers: { ...headers, 'content-length': length }, body };
}

/** Resolves at the end of the body, or when it has been read on for long enough. */
function discard(body: IncomingMessage, clock: Surface['clock']): Promise<void> {
  return new Promise((resolve) => {
    const stop = clock.after(LINGER_MS, resolve, { unref: true });
    finished(body, () => {
      stop();
      resolve();
    });
    body.resume();
  });
}
