/** The HTTP surface as one fetch handler, which another app can mount; and as what `listen` puts on a socket. */
import { Hono } from 'hono';
import { getPath } from 'hono/utils/url';
import type { EngineApi } from '../engine/api.ts';
import { DEFAULT_SETTINGS } from '../engine/settings.ts';
import { systemClock } from '../engine/system-clock.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/telemetry.ts';
import { createAnswering } from './answer.ts';
import type { Answering } from './answer.ts';
import { Ctx } from './endpoint.ts';
import type { BodyLimits, FullReply, StreamLimits, Surface } from './endpoint.ts';
import { routes } from './routes.ts';

const DEFAULT_LIMITS: BodyLimits = {
  bodyBytes: 1024 * 1024,
  uploadBytes: DEFAULT_SETTINGS.maxUploadBytes,
  bodyMs: 30_000,
  uploadIdleMs: 30_000,
};

const DEFAULT_STREAMS: StreamLimits = {
  heartbeatMs: 15_000,
  // a stream ends within five seconds after its key was revoked
  recheckMs: 4_000,
  perKey: 500,
};

export interface AppOptions {
  engine: EngineApi;
  log: Log;
  limits?: Partial<BodyLimits>;
  streams?: Partial<StreamLimits>;
  /**
   * The path under which the app is mounted, such as `/claims`. Links carry it. Requests may come with it or, from a
   * host that takes it off, without.
   */
  basePath?: string;
  serverInfo?: { version: string };
  clock?: Clock;
}

/** `fetch` is a standard fetch handler; `answer` is what it asks, for requests that come otherwise. */
export type App = Hono & { answer: Answering };

export function createApp(options: AppOptions): App {
  const prefix = cleanPrefix(options.basePath ?? '');
  const surface: Surface = {
    engine: options.engine,
    log: options.log,
    clock: options.clock ?? systemClock,
    limits: { ...DEFAULT_LIMITS, ...options.limits },
    streams: { ...DEFAULT_STREAMS, ...options.streams },
    openStreams: new Map(),
    version: options.serverInfo?.version ?? '0.0.0',
    link: (path) => `${prefix}${path}`,
  };
  const table = routes();
  const answer = createAnswering(table, surface);
  const path = (request: Request) => withoutPrefix(getPath(request), prefix);
  const app = new Hono({ getPath: path });
  const fetched = async (request: Request) =>
    responseOf(request, await answer(new FetchCtx(request, path(request))));
  for (const endpoint of table)
    app.on(endpoint.method.toUpperCase(), endpoint.path, (c) => fetched(c.req.raw));
  app.all('*', (c) => fetched(c.req.raw));
  return Object.assign(app, { answer });
}

function cleanPrefix(basePath: string): string {
  const prefix = basePath.replace(/\/+$/, '');
  return prefix === '' || prefix.startsWith('/') ? prefix : `/${prefix}`;
}

function withoutPrefix(path: string, prefix: string): string {
  if (prefix === '' || !path.startsWith(prefix)) return path;
  const rest = path.slice(prefix.length);
  return rest === '' || rest.startsWith('/') ? rest || '/' : path;
}

class FetchCtx extends Ctx {
  readonly #request: Request;

  constructor(request: Request, path: string) {
    super({ method: request.method, path, search: new URL(request.url).search });
    this.#request = request;
  }

  get signal(): AbortSignal {
    return this.#request.signal;
  }

  get stream(): ReadableStream<Uint8Array> | null {
    return this.#request.body;
  }

  header(name: string): string | undefined {
    return this.#request.headers.get(name) ?? undefined;
  }
}

function responseOf({ method }: Request, { status, headers: list, body }: FullReply): Response {
  const headers = new Headers();
  for (let at = 0; at < list.length; at += 2) headers.set(list[at] as string, list[at + 1] as string);
  if (method !== 'HEAD') return new Response(body, { status, headers });
  if (body instanceof ReadableStream) void body.cancel();
  return new Response(null, { status, headers });
}
