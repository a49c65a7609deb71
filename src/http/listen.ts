/** The fetch handler on a socket of this machine, with bounds on what a client may hold and for how long. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { getRequestListener } from '@hono/node-server';
import type { Http2Bindings, HttpBindings } from '@hono/node-server';
import { WHOLE_SERVER } from './endpoint.ts';
import type { Bindings } from './endpoint.ts';
import { PROBLEMS, problem, problemJson } from './problems.ts';
import type { Problem } from './problems.ts';
import { NO_PROXY, UNKNOWN_EXPECTATION, allHeaders, refuse, unreadableProblem } from './socket-answers.ts';
import { Underway } from './underway.ts';

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
  /** Without a byte in either direction: ends readers that do not read, at the latest. Longer than the longest `wait`. */
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
  const answering = (more: (env: Bindings) => Bindings) => {
    const answer = getRequestListener(
      (request, env) => app.fetch(request, { ...more(bindings(env)), closing }),
      { errorHandler: unreadable },
    );
    return (incoming: IncomingMessage, outgoing: ServerResponse) => {
      underway.begin(incoming, outgoing);
      void answer(addressed(incoming), outgoing);
    };
  };
  server.on(
    'request',
    answering((env) => env),
  );
  server.on('checkContinue', answering(askedFirst));
  refuseTheRest(server, underway);
  server.maxConnections = limits.maxConnections;
  server.timeout = limits.idleTimeoutMs / 2;
  server.on('timeout', (socket: Socket) => underway.stoodStill(socket, limits.idleTimeoutMs / 2));
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
    // who leaves it out is told so like everybody else: see `unreadable`
    requireHostHeader: false,
    // how often the two timeouts above are looked at
    connectionsCheckingInterval: Math.min(1_000, limits.headersTimeoutMs, limits.requestTimeoutMs),
  };
}

/** What no handler is asked about still gets an answer in the form of all others. */
function refuseTheRest(server: Server, underway: Underway): void {
  const turnAway = (socket: Duplex, refusal: Problem) => {
    if (underway.isAnswering(socket)) socket.destroy();
    else refuse(socket, refusal);
  };
  server.on('clientError', (error, socket) => turnAway(socket, unreadableProblem(error)));
  server.on('connect', (_, socket) => turnAway(socket, NO_PROXY));
  server.on('checkExpectation', ({ socket }: IncomingMessage) => turnAway(socket, UNKNOWN_EXPECTATION));
}

/** Two forms of asking without an address: `OPTIONS *`, and HTTP/1.0, which knows no host. */
function addressed(incoming: IncomingMessage): IncomingMessage {
  if (incoming.method === 'OPTIONS' && incoming.url === '*') incoming.url = WHOLE_SERVER;
  if (incoming.httpVersion === '1.0') incoming.headers.host ??= 'localhost';
  return incoming;
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
  return new Response(body, { status: PROBLEMS[refusal.code].status, headers: allHeaders(refusal) });
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
