/** The HTTP surface as one fetch handler: who may ask, what is asked, what is answered, one line of log. */
import type { ServerResponse } from 'node:http';
import { Hono } from 'hono';
import { getPath } from 'hono/utils/url';
import type { EngineApi } from '../engine/api.ts';
import { DEFAULT_SETTINGS } from '../engine/settings.ts';
import { systemClock } from '../engine/system-clock.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/telemetry.ts';
import { WHOLE_SERVER } from './endpoint.ts';
import type { AppEnv, BodyLimits, Ctx, Endpoint, StreamLimits, Surface } from './endpoint.ts';
import { PROBLEMS, UNAUTHORIZED, problem, thrownProblem } from './problems.ts';
import { SAFETY_HEADERS, respond } from './respond.ts';
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

/** `fetch` of what this gives is a standard fetch handler. */
export function createApp(options: AppOptions): Hono<AppEnv> {
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
  const app = new Hono<AppEnv>({ getPath: (request) => withoutPrefix(getPath(request), prefix) });
  const table = routes();
  app.use('*', observing(surface));
  serve(
    app,
    table.filter(({ scope }) => scope === null),
    surface,
  );
  app.use('*', authenticating(surface));
  serve(
    app,
    table.filter(({ scope }) => scope !== null),
    surface,
  );
  refuseOtherMethods(app, table, surface);
  app.all('*', (c) =>
    c.req.method === 'OPTIONS' && c.req.path === WHOLE_SERVER
      ? new Response(null, { status: 204, headers: { allow: allowed(table) } })
      : respond(c, surface, problem('not_found', 'There is nothing at this address.')),
  );
  app.onError((error, c) => failed(error, c, surface));
  return app;
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

function serve(app: Hono<AppEnv>, table: Endpoint[], surface: Surface): void {
  for (const endpoint of table) {
    app.on(endpoint.method.toUpperCase(), endpoint.path, async (c) => {
      c.set('route', endpoint.path);
      const outcome = await endpoint.run(c, surface);
      return outcome instanceof Response ? outcome : respond(c, surface, outcome);
    });
  }
}

function refuseOtherMethods(app: Hono<AppEnv>, table: Endpoint[], surface: Surface): void {
  for (const path of new Set(table.map((endpoint) => endpoint.path))) {
    const allow = allowed(table.filter((endpoint) => endpoint.path === path));
    const refusal = problem('method_not_allowed', `This address takes ${allow}.`);
    app.all(path, (c) => {
      c.set('route', path);
      return respond(c, surface, { ...refusal, headers: { allow } });
    });
  }
}

/** What an `Allow` says of these routes. */
function allowed(table: Endpoint[]): string {
  const methods = new Set(table.map(({ method }) => method.toUpperCase()));
  return [...methods].flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ');
}

function setAll(outgoing: ServerResponse, requestId: string): void {
  outgoing.setHeader('x-request-id', requestId);
  for (const [name, value] of SAFETY_HEADERS) outgoing.setHeader(name, value);
}

function addMissing(headers: Headers, requestId: string): void {
  headers.set('x-request-id', requestId);
  for (const [name, value] of SAFETY_HEADERS) if (!headers.has(name)) headers.set(name, value);
}

/** Wraps every request: its id, the headers that every answer has, one line of log without anything a caller wrote. */
function observing({ log, clock }: Surface) {
  const boot = Math.random().toString(36).slice(2, 8);
  let count = 0;
  return async (c: Ctx, next: () => Promise<void>): Promise<void> => {
    const started = clock.monotonicMs();
    count += 1;
    const requestId = `req_${boot}_${count.toString(36)}`;
    c.set('requestId', requestId);
    c.env ??= {}; // a bare fetch handler is given none
    const { outgoing } = c.env;
    // on a socket, what the answer says itself is put over these; to open the headers of a finished answer costs more
    if (outgoing !== undefined) setAll(outgoing, requestId);
    await next();
    const { status } = c.res;
    if (outgoing === undefined) addMissing(c.res.headers, requestId);
    const ms = Math.round(clock.monotonicMs() - started);
    const { route = 'none', caller } = c.var as Partial<AppEnv['Variables']>;
    log.debug(
      { request_id: requestId, method: c.req.method, route, status, ms, key: caller?.actor ?? null },
      'request',
    );
  };
}

function authenticating(surface: Surface) {
  return async (c: Ctx, next: () => Promise<void>): Promise<Response | void> => {
    const token = bearerToken(c.req.header('authorization'));
    const caller = token === null ? null : await surface.engine.authenticate(token);
    if (token === null || caller === null) return respond(c, surface, UNAUTHORIZED);
    c.set('token', token);
    c.set('caller', caller);
    await next();
  };
}

function bearerToken(authorization: string | undefined): string | null {
  return /^bearer +([\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?) *$/i.exec(authorization ?? '')?.[1] ?? null;
}

function failed(error: Error, c: Ctx, surface: Surface): Response {
  const requestId = c.var.requestId;
  const refusal = thrownProblem(error, requestId);
  const { status } = PROBLEMS[refusal.code];
  const fields = { request_id: requestId, route: c.var.route, status, ...errorFields(error) };
  if (refusal.code === 'internal') surface.log.error(fields, 'a request failed');
  else surface.log.warn(fields, 'a request was put off');
  return respond(c, surface, refusal);
}

/** What is logged of an error: where it came from. Its message may quote what a caller sent. */
function errorFields(error: Error): object {
  const code = 'code' in error && typeof error.code === 'string' ? error.code.slice(0, 60) : undefined;
  const frames = (error.stack ?? '').split('\n').filter((line) => line.startsWith('    at '));
  return { error: error.name, error_code: code, stack: frames.slice(0, 12).map((line) => line.trim()) };
}
