/**
 * A provider of model answers on loopback that fails as real ones do: a real server and real sockets, so that a client's
 * timeouts, aborts and error codes are its own.
 */
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type ProviderReply =
  /** Answers `json`, with 200 unless a status is given. */
  | { type: 'json'; json: unknown; status?: number; headers?: Record<string, string> }
  /** 429 with Retry-After in seconds. */
  | { type: 'rate_limited'; retryAfterSeconds: number }
  /** 500 with a body that quotes the request, as careless providers do. */
  | { type: 'server_error' }
  /** Closes the connection with a reset, without a byte of an answer. */
  | { type: 'reset' }
  /** Accepts the request and never answers. */
  | { type: 'stall' }
  /** Announces a body, sends half of it and resets the connection. */
  | { type: 'half'; json: unknown };

export interface ProviderCall {
  method: string;
  url: string;
  headers: Record<string, string | string[] | undefined>;
  body: string;
  /** Resolves when the client has closed the connection before the answer was complete. */
  clientClosed: Promise<void>;
}

export interface FakeProvider {
  url: string;
  /** Every request that came in whole, oldest first. */
  readonly calls: readonly ProviderCall[];
  /** Resolves with the call of this number, counted from 0, once it is in. */
  call(index: number): Promise<ProviderCall>;
  close(): Promise<void>;
}

/** @param replies what the requests get, in order; the last one lasts */
export async function startFakeProvider(
  replies: readonly [ProviderReply, ...ProviderReply[]],
): Promise<FakeProvider> {
  const calls: ProviderCall[] = [];
  const awaited: { index: number; resolve: (call: ProviderCall) => void }[] = [];

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // listened for from the start: a client may be gone while its body is still being read
    const clientClosed = new Promise<void>((resolve) => {
      response.once('close', () => {
        if (!response.writableFinished) resolve();
      });
    });
    const body = await read(request);
    const { method = '', url = '', headers } = request;
    const index = calls.length;
    const call: ProviderCall = { method, url, headers, body, clientClosed };
    calls.push(call);
    for (const waiter of awaited) if (waiter.index === index) waiter.resolve(call);
    answer(replies[Math.min(index, replies.length - 1)] ?? replies[0], call, response);
  }

  const server = createServer((request, response) => {
    // a body that breaks off is no call
    serve(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    calls,
    call(index) {
      const known = calls[index];
      return known === undefined
        ? new Promise((resolve) => awaited.push({ index, resolve }))
        : Promise.resolve(known);
    },
    close() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

async function read(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

function answer(reply: ProviderReply, call: ProviderCall, response: ServerResponse): void {
  switch (reply.type) {
    case 'json':
      return send(response, reply.status ?? 200, reply.json, reply.headers);
    case 'rate_limited':
      return send(
        response,
        429,
        { error: 'rate limited' },
        { 'retry-after': String(reply.retryAfterSeconds) },
      );
    case 'server_error':
      return send(response, 500, { error: `internal error while handling ${call.body}` });
    case 'reset':
      response.socket?.resetAndDestroy();
      return;
    case 'stall':
      return;
    case 'half':
      return half(response, reply.json);
  }
}

function send(
  response: ServerResponse,
  status: number,
  json: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(json));
}

function half(response: ServerResponse, json: unknown): void {
  const body = Buffer.from(JSON.stringify(json));
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.byteLength });
  // the reset waits until the half has left, or the client would see none of it
  response.write(body.subarray(0, body.byteLength / 2), () => response.socket?.resetAndDestroy());
}
