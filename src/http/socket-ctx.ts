/** A request as it comes over a socket, and its reply on the way out. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { getPath } from 'hono/utils/url';
import { Ctx, WHOLE_SERVER } from './endpoint.ts';
import type { OnSocket, FullReply } from './endpoint.ts';

export class SocketCtx extends Ctx {
  readonly #headers: IncomingMessage['headers'];
  #signal: AbortSignal | null = null;

  constructor(address: Address, on: OnSocket) {
    const { incoming } = on;
    const { path, search } = address;
    super({ method: incoming.method ?? '', path, search }, on);
    this.#headers = incoming.headers;
  }

  /** Few routes ask for it, and it is dear. */
  get signal(): AbortSignal {
    this.#signal ??= leaving(this.socket as OnSocket);
    return this.#signal;
  }

  get stream(): null {
    return null;
  }

  header(name: string): string | undefined {
    const value = this.#headers[name];
    return typeof value === 'string' ? value : undefined;
  }
}

function leaving({ outgoing }: OnSocket): AbortSignal {
  const left = new AbortController();
  const look = () => {
    if (!outgoing.writableFinished) left.abort();
  };
  if (outgoing.destroyed) look();
  else outgoing.once('close', look);
  return left.signal;
}

type Address = Pick<Ctx, 'path' | 'search'>;

/** Such as need no reading: nothing to be decoded, no `..` and no query. */
const PLAIN_PATH = /^(?:\/[\w~-][\w.~-]*)+$/;
const PLAIN_HOST = /^[a-z0-9.-]+(?::\d{1,5})?$/;

/** Null where the request has no valid host or no address. HTTP/1.0 knows no host. */
export function addressOf({ url = '', method, headers, httpVersion }: IncomingMessage): Address | null {
  const host = headers.host ?? (httpVersion === '1.0' ? 'localhost' : '');
  if (PLAIN_PATH.test(url) && PLAIN_HOST.test(host)) return { path: url, search: '' };
  if (!isHost(host)) return null;
  if (method === 'OPTIONS' && url === '*') return { path: WHOLE_SERVER, search: '' };
  const whole = url.startsWith('/') ? `http://${host}${url}` : url;
  const [beforeQuery = ''] = whole.split('?', 1);
  if (!/^https?:\/\//.test(whole) || beforeQuery.includes('\\') || !URL.canParse(whole)) return null;
  const { href, search } = new URL(whole);
  return { path: getPath({ url: href } as Request), search };
}

function isHost(host: string): boolean {
  const url = `http://${host}/`;
  return /^[^/?#@\\\s]+$/.test(host) && URL.canParse(url);
}

export function send({ status, headers, body }: FullReply, { outgoing, incoming }: OnSocket): void {
  if (outgoing.destroyed) {
    if (body instanceof ReadableStream) void body.cancel();
    return;
  }
  if (typeof body === 'string') {
    const bytes = Buffer.byteLength(body);
    headers.push('content-length', String(bytes));
    // pure ASCII goes out as it is, together with its head; as UTF-8 both would be encoded
    outgoing.writeHead(status, headers).end(body, bytes === body.length ? 'latin1' : 'utf8');
    return;
  }
  outgoing.writeHead(status, headers);
  if (body === null) outgoing.end();
  else if (incoming.method === 'HEAD') {
    outgoing.end();
    void body.cancel();
  } else {
    outgoing.flushHeaders();
    void pump(body, outgoing);
  }
}

/** Reads as fast as the client takes it. A stream that breaks off breaks the connection: nothing else tells the client. */
async function pump(body: ReadableStream<Uint8Array>, outgoing: ServerResponse): Promise<void> {
  const reader = body.getReader();
  const leave = () => void reader.cancel().catch(() => undefined);
  outgoing.once('close', leave);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      if (!outgoing.write(value)) await drained(outgoing);
    }
    outgoing.end();
  } catch {
    outgoing.destroy();
  } finally {
    outgoing.off('close', leave);
  }
}

/** Or gone. */
function drained(outgoing: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const go = () => {
      outgoing.off('drain', go).off('close', go);
      resolve();
    };
    outgoing.once('drain', go).once('close', go);
  });
}
