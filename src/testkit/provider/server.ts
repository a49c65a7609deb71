/**
 * A provider of model answers on loopback: a real HTTP server and real sockets that speak the wire formats of OpenAI's
 * Responses and Chat Completions and of Anthropic's Messages, so that a client's parser, timeouts, aborts and error
 * codes are its own. What each call gets is scripted by name.
 */
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Moments, NOTHING_SENT, withoutSecrets } from './calls.ts';
import type { OpenCall, ProviderCall } from './calls.ts';
import { deliver, Gate } from './deliver.ts';
import { plan, planWithoutScript } from './plan.ts';
import { checkScript } from './replies.ts';
import type { Asked, ProviderApi, ProviderReply } from './replies.ts';
import type { Plan } from './sending.ts';

export interface FakeProviderOptions {
  /** The ids of its answers follow from it and from the number of the call; 1 unless given. */
  seed?: number;
  /** What the calls get, in order; the last one lasts. One `ok` answer unless given. */
  script?: readonly ProviderReply[];
}

export interface FakeProvider {
  /** `http://127.0.0.1:PORT`. The base URL of all three APIs is `${url}/v1`. */
  readonly url: string;
  /** Every call that came in whole, oldest first. */
  readonly calls: readonly ProviderCall[];
  /** How many calls had their connection closed by the client before the answer was whole. */
  readonly closedByClient: number;
  /** Replaces what is to come; the last reply lasts. */
  script(...replies: ProviderReply[]): void;
  /** The first call since the script was set that this has not given yet, as soon as it is in. */
  nextCall(): Promise<ProviderCall>;
  /** Resolves when the call of this number is over: answered, or its connection closed by whomever. */
  callEnded(index: number): Promise<ProviderCall>;
  /** Lets every call go on that holds at this moment. */
  release(): void;
  /** Closes every connection. Calls to a provider that is closed are refused by the system. */
  close(): Promise<void>;
}

const PATHS: Readonly<Record<string, ProviderApi>> = {
  '/v1/responses': 'responses',
  '/v1/chat/completions': 'chat',
  '/v1/messages': 'messages',
};

/** Starts a provider of its own on a free port of 127.0.0.1. */
export async function startFakeProvider(options: FakeProviderOptions = {}): Promise<FakeProvider> {
  const running = new RunningProvider(options);
  await running.listen();
  return running;
}

class RunningProvider implements FakeProvider {
  readonly calls: OpenCall[] = [];
  url = '';
  readonly #seed: number;
  readonly #gate = new Gate();
  readonly #came = new Moments<ProviderCall>();
  readonly #ended = new Moments<ProviderCall>();
  readonly #server = createServer((request, response) => {
    // a request that breaks off is no call
    this.#serve(request, response).catch(() => response.destroy());
  });
  #script: ProviderReply[];
  #given = 0;
  #closing = false;

  constructor({ seed = 1, script = [] }: FakeProviderOptions) {
    this.#seed = seed;
    this.#script = [...checkScript(script)];
    // a client may come back on its connection whenever it likes
    this.#server.keepAliveTimeout = 0;
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }, resolve);
    });
    const { port } = this.#server.address() as AddressInfo;
    this.url = `http://127.0.0.1:${port}`;
  }

  get closedByClient(): number {
    return this.calls.filter(({ closedBy }) => closedBy === 'client').length;
  }

  script(...replies: ProviderReply[]): void {
    this.#script = [...checkScript(replies)];
    this.#given = this.calls.length;
  }

  nextCall(): Promise<ProviderCall> {
    return this.#came.at(this.#given++);
  }

  callEnded(index: number): Promise<ProviderCall> {
    return this.#ended.at(index);
  }

  release(): void {
    this.#gate.open();
  }

  close(): Promise<void> {
    this.#closing = true;
    this.#server.closeAllConnections();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await read(request);
    const index = this.calls.length;
    const { call, plan: planned } = this.#take(request, body, index);
    this.calls.push(call);
    response.once('close', () => this.#over(call, response));
    const delivered = deliver(planned, response, call, this.#gate);
    this.#came.reached(index, call);
    await delivered;
  }

  /** The call, and what it gets: one line of the script, where it is a call that one can answer. */
  #take(request: IncomingMessage, bytes: Buffer, index: number): { call: OpenCall; plan: Plan } {
    const path = (request.url ?? '').split('?')[0] ?? '';
    const known = request.method === 'POST' ? PATHS[path] : undefined;
    const body = jsonObject(bytes);
    const asked = this.#asked(index, known ?? likeliest(path, request), body ?? {});
    const amiss = known === undefined ? 'unknown_path' : body === null ? 'unreadable_body' : null;
    const reply = amiss === null ? this.#next() : null;
    const { api, model, stream } = asked;
    const call: OpenCall = {
      index,
      api,
      path,
      model,
      stream,
      body,
      headers: withoutSecrets(request.headers),
      at: Date.now(),
      reply: reply?.reply ?? amiss ?? 'ok',
      bytesIn: bytes.byteLength,
      ...NOTHING_SENT,
    };
    return {
      call,
      plan: reply === null ? planWithoutScript(amiss ?? 'unknown_path', asked) : plan(reply, asked),
    };
  }

  #asked(index: number, api: ProviderApi, body: Record<string, unknown>): Asked {
    const { model, stream } = body;
    return {
      seed: this.#seed,
      index,
      api,
      model: typeof model === 'string' ? model : '',
      stream: stream === true,
      body,
    };
  }

  #next(): ProviderReply {
    const [next = { reply: 'ok' }, ...rest] = this.#script;
    if (rest.length > 0) this.#script = rest;
    return next;
  }

  #over(call: OpenCall, response: ServerResponse): void {
    if (!response.writableFinished) {
      call.finished = false;
      call.closedBy ??= this.#closing ? 'server' : 'client';
    }
    this.#ended.reached(call.index, call);
  }
}

async function read(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function jsonObject(bytes: Buffer): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

/** Whose error a call gets that fits none of the paths. */
function likeliest(path: string, { headers }: IncomingMessage): ProviderApi {
  if (path.includes('/messages') || headers['anthropic-version'] !== undefined) return 'messages';
  return path.includes('/chat') ? 'chat' : 'responses';
}
