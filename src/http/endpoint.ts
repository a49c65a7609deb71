/** How one route of the API is written down: its address, what it takes and gives (for the document), what it does. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { z } from 'zod';
import { pointer } from '../domain/json.ts';
import { permits } from '../domain/scopes.ts';
import type { Scope } from '../domain/scopes.ts';
import type { EngineApi, KeyHolder } from '../engine/api.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/telemetry.ts';
import type { Parsed, Problem, ProblemCode } from './problems.ts';
import { invalidRequest, problem } from './problems.ts';
import { readJsonBody } from './body.ts';
import { check } from './requests.ts';

/** Of a request that came over a socket of ours. */
export interface OnSocket {
  incoming: IncomingMessage;
  outgoing: ServerResponse;
  /** Fires when the server is told to stop: whoever holds a request open lets go. */
  closing: AbortSignal;
  /** Tells a client that waits for it (Expect: 100-continue) to send its body. */
  sendContinue: (() => void) | null;
}

/** How the address `*` of a request arrives: that of no resource, but of the server. */
export const WHOLE_SERVER = '/*';

/** One request, whichever way it came, and what was found out about it. */
export abstract class Ctx {
  readonly method: string;
  /** Without the prefix of a mount, and without the query. */
  readonly path: string;
  /** The query with its question mark, or nothing. */
  readonly search: string;
  /** Null in an app that mounts the handler. */
  readonly socket: OnSocket | null;
  requestId = '';
  /** The path of its endpoint, for the log. */
  route = 'none';
  /** Who asks, once that is known. */
  caller: KeyHolder | null = null;
  token = '';

  constructor(
    { method, path, search }: Pick<Ctx, 'method' | 'path' | 'search'>,
    socket: OnSocket | null = null,
  ) {
    this.method = method;
    this.path = path;
    this.search = search;
    this.socket = socket;
  }

  /** Fires when the client leaves before it has its answer. */
  abstract get signal(): AbortSignal;
  /** The body, where it does not come over a socket of ours. */
  abstract get stream(): ReadableStream<Uint8Array> | null;
  /** @param name in small letters */
  abstract header(name: string): string | undefined;
}

/** What a route answers with. */
export interface Reply {
  status: number;
  /** By their names in small letters; an object of this reply alone. */
  headers: Record<string, string>;
  body: string | ReadableStream<Uint8Array> | null;
}

/**
 * What goes out: a reply with all of its headers, each name before its value. Node takes such a list in half the time of an object. It is
 * of this reply alone, and without `content-length` where the body is a text: that is added on the way out.
 */
export interface FullReply {
  status: number;
  headers: string[];
  body: Reply['body'];
}

export interface BodyLimits {
  /** Of a JSON body. */
  bodyBytes: number;
  /** Of an uploaded file. */
  uploadBytes: number;
  /** How long a JSON body may take to arrive. */
  bodyMs: number;
  /** How long an upload may stand still, or fall behind 1 KB a second. */
  uploadIdleMs: number;
}

export interface StreamLimits {
  /** A comment line goes out after this much silence. */
  heartbeatMs: number;
  /** How often the key of an open stream is looked at again. */
  recheckMs: number;
  /** Open streams of one key. */
  perKey: number;
}

/** What every route works with. */
export interface Surface {
  engine: EngineApi;
  log: Log;
  clock: Clock;
  limits: BodyLimits;
  streams: StreamLimits;
  /** How many streams each actor has open. */
  openStreams: Map<string, number>;
  version: string;
  /** The path of this API's own `path`, the mount's prefix included. */
  link(path: string): string;
}

export interface Asked<Query, Body> {
  c: Ctx;
  caller: KeyHolder;
  token: string;
  id: string;
  name: string;
  /** The number of a call, as the address has it. */
  n: string;
  query: Query;
  body: Body;
}

export interface Answer {
  description: string;
  schema?: z.ZodType;
  /** `application/json` by default where there is a schema. */
  media?: string;
  headers?: string[];
}

export interface EndpointDoc {
  summary: string;
  query?: z.ZodObject;
  body?: z.ZodType;
  /** Where the body is no JSON: its media types. */
  rawBody?: string[];
  /** Request headers that mean something here, with what they mean. */
  requestHeaders?: Record<string, string>;
  answers: Record<number, Answer>;
  problems: ProblemCode[];
}

export interface Endpoint {
  method: 'get' | 'post' | 'put' | 'delete';
  /** Hono's form: `/ai-jobs/:id`. */
  path: string;
  /** What a key has to be good for; null where no key is needed. */
  scope: Scope | null;
  doc: EndpointDoc;
  run(c: Ctx, params: Params, surface: Surface): Outcome;
}

/** The names in a route's path, with what the address has in their places. */
export type Params = Readonly<Record<string, string>>;

type Address = Pick<Endpoint, 'method' | 'path'>;
/** A promise only where there is something to wait for: each is a turn of the loop's queue, and thousands are open at the same time. */
export type Outcome = Promise<Reply | Problem> | Reply | Problem;

/** A route that anybody may ask. */
export function openEndpoint(
  definition: Address & { doc: EndpointDoc; handle: (c: Ctx, surface: Surface) => Outcome },
): Endpoint {
  const { method, path, doc, handle } = definition;
  return { method, path, scope: null, doc, run: (c, _, surface) => handle(c, surface) };
}

/** A route for holders of a key: path, query and body are checked before `handle` sees them. */
export function endpoint<Query extends z.ZodObject, Body extends z.ZodType>(
  definition: Address & {
    scope: Scope;
    doc: EndpointDoc & { query?: Query; body?: Body };
    handle: (asked: Asked<z.output<Query>, z.output<Body>>, surface: Surface) => Outcome;
  },
): Endpoint {
  const { method, path, scope, doc, handle } = definition;
  const querySchema = doc.query ?? NO_QUERY;
  const emptyQuery = check(querySchema, {});

  function run(c: Ctx, params: Params, surface: Surface): Outcome {
    if (c.caller === null) throw new Error('a route that needs a key was run without one');
    if (!permits(c.caller.scopes, scope)) return forbidden(c, surface, scope);
    const { id = '', name = '', n = '' } = params;
    if (!isId(id) || !isName(name)) return problem('not_found', 'There is nothing at this address.');
    const query = c.search === '' ? emptyQuery : checkQuery(querySchema, c.search);
    if (!query.ok) return query;
    const { caller, token } = c;
    const asked: Asked<z.output<Query>, z.output<Body>> = {
      c,
      caller,
      token,
      id,
      name,
      n,
      query: query.value as z.output<Query>,
      body: undefined as z.output<Body>,
    };
    return doc.body === undefined ? handle(asked, surface) : withBody(doc.body, asked, surface);
  }

  function withBody(schema: Body, asked: Asked<z.output<Query>, z.output<Body>>, surface: Surface): Outcome {
    const handleBody = (read: Parsed<unknown>) => {
      const body = read.ok ? check(schema, read.value) : read;
      if (!body.ok) return body;
      asked.body = body.value;
      return handle(asked, surface);
    };
    const read = readJsonBody(asked.c, surface);
    return 'then' in read ? read.then(handleBody) : handleBody(read);
  }
  return { method, path, scope, doc, run };
}

/** Before anything is read: it tells nothing of what there is, and changes nothing. */
function forbidden(c: Ctx, surface: Surface, scope: Scope): Problem {
  audit(c, surface, { scope }, 'refused: the key lacks a scope');
  return problem('forbidden', `This needs a key with the scope ${scope}.`);
}

/** A line about who did, or was refused, what an operator wants to find again: the key's id, never the key. */
export function audit(c: Ctx, { log }: Surface, fields: object, message: string): void {
  const { requestId, route, caller } = c;
  log.info({ audit: true, request_id: requestId, route, key: caller?.actor ?? null, ...fields }, message);
}

const NO_QUERY = z.strictObject({});
const LABEL = 'label.';

function isId(id: string): boolean {
  return /^[A-Za-z0-9_-]{0,64}$/.test(id);
}

function isName(name: string): boolean {
  return /^(?!\.)[A-Za-z0-9._-]{0,100}$/.test(name);
}

function checkQuery<Query extends z.ZodObject>(schema: Query, search: string): Parsed<z.output<Query>> {
  const given = queries(search);
  const twice = given.filter(([key, values]) => isLabelFilter(schema, key) && values.length > 1);
  if (twice.length > 0) {
    return invalidRequest(twice.map(([key]) => ({ path: pointer('', key), message: 'is given twice' })));
  }
  const entries = given.filter(([key]) => !isLabelFilter(schema, key));
  return check(
    schema,
    Object.fromEntries(entries.map(([key, values]) => [key, values.length === 1 ? values[0] : values])),
  );
}

function queries(search: string): [string, string[]][] {
  const params = new URLSearchParams(search);
  return [...new Set(params.keys())].map((key) => [key, params.getAll(key)]);
}

/** Lists take `label.<name>` on top of what their schema says. */
function isLabelFilter(schema: z.ZodObject, key: string): boolean {
  return 'after' in schema.shape && key.startsWith(LABEL) && key.length > LABEL.length;
}

/** The `label.<name>` filters of a list, each of which was given once. */
export function labelFilters({ search }: Ctx): Record<string, string> {
  const labels = [...new URLSearchParams(search)].filter(
    ([key]) => key.startsWith(LABEL) && key.length > LABEL.length,
  );
  return Object.fromEntries(labels.map(([key, value]) => [key.slice(LABEL.length), value]));
}

/** @param headers of this answer alone: it gets the others put in, which is several times faster than a copy */
export function json(value: unknown, status = 200, headers: Record<string, string> = {}): Reply {
  headers['content-type'] = 'application/json';
  headers['cache-control'] ??= 'no-store';
  return { status, headers, body: JSON.stringify(value) };
}
