/** The fetch handler on a socket of this machine, with bounds on what a client may hold and for how long. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import type { Http2Bindings, HttpBindings } from '@hono/node-server';
import type { Bindings } from './endpoint.ts';
import { problem, problemHeaders, problemJson } from './problems.ts';

export class PortTakenError extends Error {
  override readonly name = 'PortTakenError';

  constructor(host: string, port: number) {
    super(`Port ${port} on ${host} is taken by another program; stop it, or choose another port.`);
  }
}

export interface SocketLimits {
  /** For the head of a request to arrive. */
  headersTimeoutMs: number;
  /** For a whole request to arrive; each route has shorter ones of its own. */
  requestTimeoutMs: number;
  /** For the next request on an open connection. Longer than a proxy's, so that the proxy closes first. */
  keepAliveTimeoutMs: number;
  /** Without a byte in either direction: ends readers that do not read. Longer than the longest `wait`. */
  idleTimeoutMs: number;
  maxHeaderBytes: number;
  maxConnections: number;
  /** For requests under way when the server is told to stop. */
  closeTimeoutMs: number;
}

const DEFAULT_SOCKETS: SocketLimits = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 600_000,
  keepAliveTimeoutMs: 65_000,
  idleTimeoutMs: 90_000,
  maxHeaderBytes: 16 * 1024,
  maxConnections: 4_000,
  closeTimeoutMs: 5_000,
};

export interface Listening {
  /** Such as `http://127.0.0.1:8484`. */
  url: string;
  port: number;
  /** Takes no new requests, ends streams and waits, and gives the rest `closeTimeoutMs`. */
  close(): Promise<void>;
}

export interface ListenOptions {
  app: { fetch(request: Request, env: Bindings): Response | Promise<Response> };
  host: string;
  /** 0 for any that is free. */
  port: number;
  sockets?: Partial<SocketLimits>;
}

/** @throws PortTakenError */
export async function listen({ app, host, port, sockets }: ListenOptions): Promise<Listening> {
  const limits = { ...DEFAULT_SOCKETS, ...sockets };
  const server = createServer(serverOptions(limits));
  const underway = new Underway(server);
  const { closing } = underway;
  const answer = getRequestListener((request, env) => app.fetch(request, { ...bindings(env), closing }), {
    errorHandler: unreadable,
  });
  const answerAsked = getRequestListener(
    (request, env) => app.fetch(request, { ...askedFirst(bindings(env)), closing }),
    { errorHandler: unreadable },
  );
  server.on('request', (incoming: IncomingMessage, outgoing: ServerResponse) => {
    underway.begin(outgoing);
    void answer(incoming, outgoing);
  });
  server.on('checkContinue', (incoming: IncomingMessage, outgoing: ServerResponse) => {
    underway.begin(outgoing);
    void answerAsked(incoming, outgoing);
  });
  server.maxConnections = limits.maxConnections;
  server.timeout = limits.idleTimeoutMs;
  const bound = await bind(server, host, port);
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    port: bound,
    close: () => underway.close(limits.closeTimeoutMs),
  };
}

function serverOptions(limits: SocketLimits) {
  return {
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    maxHeaderSize: limits.maxHeaderBytes,
    // how often the two timeouts above are looked at
    connectionsCheckingInterval: Math.min(1_000, limits.headersTimeoutMs, limits.requestTimeoutMs),
  };
}

function bindings(env: HttpBindings | Http2Bindings): Bindings {
  const { incoming, outgoing } = env as HttpBindings; // `createServer` is that of node:http
  return { body: incoming, outgoing };
}

/** A client that asks first (Expect: 100-continue) is told to go on by whoever reads its body, after key and length were looked at. */
function askedFirst(env: Bindings): Bindings {
  return { ...env, sendContinue: () => env.outgoing?.writeContinue() };
}

/** A request that is no HTTP request for any handler: no host, or an address that is none. */
function unreadable(error: unknown): Response {
  const isRequestError = error instanceof Error && error.name === 'RequestError';
  const refusal = isRequestError
    ? problem('invalid_request', 'The request has no valid host or address.')
    : problem('internal', 'Something went wrong here.');
  const body = JSON.stringify(problemJson(refusal));
  return new Response(body, { status: isRequestError ? 400 : 500, headers: problemHeaders(refusal) });
}

async function bind(server: Server, host: string, port: number): Promise<number> {
  server.listen(port, host);
  try {
    await once(server, 'listening');
  } catch (error) {
    const taken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
    throw taken ? new PortTakenError(host, port) : error;
  }
  return (server.address() as AddressInfo).port;
}

/**
 * Node's own `closeIdleConnections` leaves out those that never sent a request, and those whose last one ends later.
 */
class Underway {
  readonly #closing = new AbortController();
  readonly #server: Server;
  #requests = 0;

  constructor(server: Server) {
    this.#server = server;
  }

  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  begin(outgoing: ServerResponse): void {
    this.#requests += 1;
    outgoing.once('close', () => {
      this.#requests -= 1;
      if (this.closing.aborted) this.#closeIfDone();
    });
  }

  async close(closeTimeoutMs: number): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#closing.abort();
    this.#closeIfDone();
    const last = setTimeout(() => this.#server.closeAllConnections(), closeTimeoutMs);
    await closed;
    clearTimeout(last);
  }

  #closeIfDone(): void {
    if (this.#requests === 0) this.#server.closeAllConnections();
    else this.#server.closeIdleConnections();
  }
}
