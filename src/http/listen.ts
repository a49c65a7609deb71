/** The app on a socket of this machine, with bounds on what a client may hold and for how long. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { App } from './app.ts';
import type { OnSocket } from './endpoint.ts';
import type { Problem } from './problems.ts';
import {
  DEFECT,
  NO_ADDRESS,
  NO_PROXY,
  UNKNOWN_EXPECTATION,
  refuse,
  replyOf,
  unreadableProblem,
} from './socket-answers.ts';
import { SocketCtx, addressOf, send } from './socket-ctx.ts';
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
  app: Pick<App, 'answer'>;
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
  const answer = (incoming: IncomingMessage, outgoing: ServerResponse, asksFirst: boolean) => {
    underway.begin(incoming, outgoing);
    // who asks first is told to go on by whoever reads the body, after key and length were looked at
    const sendContinue = asksFirst ? () => outgoing.writeContinue() : null;
    answerOn(app, { incoming, outgoing, closing, sendContinue });
  };
  server.on('request', (incoming, outgoing) => answer(incoming, outgoing, false));
  server.on('checkContinue', (incoming, outgoing) => answer(incoming, outgoing, true));
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
    // who leaves it out is told so like everybody else: see `addressOf`
    requireHostHeader: false,
    joinDuplicateHeaders: true,
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

function answerOn(app: Pick<App, 'answer'>, on: OnSocket): void {
  const address = addressOf(on.incoming);
  if (address === null) return send(replyOf(NO_ADDRESS), on);
  const failed = () => {
    if (on.outgoing.headersSent) on.outgoing.destroy();
    else send(replyOf(DEFECT), on);
  };
  app
    .answer(new SocketCtx(address, on))
    .then((reply) => send(reply, on))
    .catch(failed);
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
