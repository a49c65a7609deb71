/**
 * What becomes of a request, whichever way it came: who asks, what is asked, what is answered, one line of log. An outside
 * (`app.ts` for fetch, `listen.ts` for sockets) makes a `Ctx` of the request and sends the reply.
 */
import type { KeyHolder } from '../engine/api.ts';
import { WHOLE_SERVER } from './endpoint.ts';
import type { Ctx, Endpoint, Outcome, FullReply, Params, Reply, Surface } from './endpoint.ts';
import { PROBLEMS, UNAUTHORIZED, problem, thrownProblem } from './problems.ts';
import type { Problem } from './problems.ts';
import { allHeaders, respond } from './respond.ts';

export type Answering = (c: Ctx) => Promise<FullReply>;

export function createAnswering(table: readonly Endpoint[], surface: Surface): Answering {
  const { log, clock } = surface;
  const nextId = requestIds();
  const find = finding(table);

  /** Nobody learns what there is without a key: only a route that says so is asked without one. */
  function callerOf(c: Ctx, needsKey: boolean): Promise<KeyHolder | null> {
    if (!needsKey) return NOBODY;
    c.token = bearerToken(c.header('authorization'));
    return c.token === '' ? NOBODY : surface.engine.authenticate(c.token);
  }

  function outcome(c: Ctx, found: Found | null): Outcome {
    if (found === null) return noSuchAddress(table, c);
    c.route = found.endpoint.path;
    return found.endpoint.run(c, found.params, surface);
  }

  function finish(c: Ctx, given: Reply | Problem, started: number): FullReply {
    const { status, headers, body } = 'ok' in given ? respond(c, surface, given) : given;
    const ms = Math.round(clock.monotonicMs() - started);
    const { requestId, method, route, caller } = c;
    log.debug({ request_id: requestId, method, route, status, ms, key: caller?.actor ?? null }, 'request');
    return { status, headers: allHeaders(headers, ['x-request-id', requestId]), body };
  }

  // not async: the state of one such function is a kilobyte, a sixteenth of all that a request makes
  return (c) => {
    const started = clock.monotonicMs();
    c.requestId = nextId();
    const found = find(c);
    const needsKey = found?.endpoint.scope !== null;
    return callerOf(c, needsKey)
      .then((caller) => {
        c.caller = caller;
        return needsKey && caller === null ? UNAUTHORIZED : outcome(c, found);
      })
      .then(
        (given) => finish(c, given, started),
        (error: unknown) => finish(c, failed(error, c, surface), started),
      );
  };
}

const NOBODY = Promise.resolve(null);

function requestIds(): () => string {
  const boot = Math.random().toString(36).slice(2, 8);
  let count = 0;
  return () => {
    count += 1;
    return `req_${boot}_${count.toString(36)}`;
  };
}

interface Found {
  endpoint: Endpoint;
  params: Params;
}

/** The first route of the table that fits the request. */
function finding(table: readonly Endpoint[]): (c: Ctx) => Found | null {
  const all = table.map(routeOf);
  return (c) => {
    const method = c.method === 'HEAD' ? 'GET' : c.method;
    for (const { endpoint, method: own, pattern, names } of all) {
      if (own !== method) continue;
      const match = pattern.exec(c.path);
      if (match === null) continue;
      return { endpoint, params: paramsOf(match, names) };
    }
    return null;
  };
}

function routeOf(endpoint: Endpoint) {
  const names = Array.from(endpoint.path.matchAll(/:(\w+)/g), ([, name = '']) => name);
  const text = endpoint.path.replaceAll('.', '\\.').replace(/:\w+/g, '([^/]+)');
  return { endpoint, method: endpoint.method.toUpperCase(), pattern: new RegExp(`^${text}$`), names };
}

const NO_PARAMS: Params = {};

function paramsOf(match: RegExpExecArray, names: readonly string[]): Params {
  if (names.length === 0) return NO_PARAMS;
  const params: Record<string, string> = {};
  names.forEach((name, index) => {
    params[name] = decoded(match[index + 1] ?? '');
  });
  return params;
}

function decoded(text: string): string {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** What is there under another method, or that nothing is. */
function noSuchAddress(table: readonly Endpoint[], c: Ctx): Problem | Reply {
  if (c.method === 'OPTIONS' && c.path === WHOLE_SERVER) {
    return { status: 204, headers: { allow: allowed(table) }, body: null };
  }
  const near = table.find((endpoint) => routeOf(endpoint).pattern.test(c.path));
  if (near === undefined) return problem('not_found', 'There is nothing at this address.');
  c.route = near.path;
  const allow = allowed(table.filter(({ path }) => path === near.path));
  return { ...problem('method_not_allowed', `This address takes ${allow}.`), headers: { allow } };
}

/** What an `Allow` says of these routes. */
function allowed(table: readonly Endpoint[]): string {
  const methods = new Set(table.map(({ method }) => method.toUpperCase()));
  return [...methods].flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ');
}

/** Empty where there is none. */
function bearerToken(authorization = ''): string {
  return /^bearer +([\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?) *$/i.exec(authorization)?.[1] ?? '';
}

function failed(error: unknown, { requestId, route }: Ctx, { log }: Surface): Problem {
  const refusal = thrownProblem(error, requestId);
  const { status } = PROBLEMS[refusal.code];
  const fields = { request_id: requestId, route, status, ...errorFields(error) };
  if (refusal.code === 'internal') log.error(fields, 'a request failed');
  else log.warn(fields, 'a request was put off');
  return refusal;
}

/** What is logged of an error: where it came from. Its message may quote what a caller sent. */
function errorFields(error: unknown): object {
  if (!(error instanceof Error)) return { error: typeof error };
  const code = 'code' in error && typeof error.code === 'string' ? error.code.slice(0, 60) : undefined;
  const frames = (error.stack ?? '').split('\n').filter((line) => line.startsWith('    at '));
  return { error: error.name, error_code: code, stack: frames.slice(0, 12).map((line) => line.trim()) };
}
