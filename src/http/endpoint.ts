/** How one route of the API is written down: its address, what it takes and gives (for the document), what it does. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Context } from 'hono';
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

/** What `listen` gives along with a request. An app that mounts the handler need give none of it. */
export interface Bindings {
  outgoing?: ServerResponse;
  /** The body as it comes from the socket, several times faster to read than the one of the `Request`. */
  body?: IncomingMessage;
  /** Fires when the server is told to stop: whoever holds a request open lets go. */
  closing?: AbortSignal;
  /** Tells a client that waits for it (Expect: 100-continue) to send its body. */
  sendContinue?: () => void;
}

/** How the address `*` of a request arrives: that of no resource, but of the server. */
export const WHOLE_SERVER = '/*';

export interface AppEnv {
  Bindings: Bindings;
  Variables: { requestId: string; route: string; caller: KeyHolder; token: string };
}

export type Ctx = Context<AppEnv>;

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
  run(c: Ctx, surface: Surface): Promise<Response | Problem>;
}

type Address = Pick<Endpoint, 'method' | 'path'>;
type Outcome = Promise<Response | Problem> | Response | Problem;

/** A route that anybody may ask. */
export function openEndpoint(
  definition: Address & { doc: EndpointDoc; handle: (c: Ctx, surface: Surface) => Outcome },
): Endpoint {
  const { method, path, doc, handle } = definition;
  return { method, path, scope: null, doc, run: async (c, surface) => handle(c, surface) };
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
  async function run(c: Ctx, surface: Surface): Promise<Response | Problem> {
    if (!permits(c.var.caller.scopes, scope)) return forbidden(c, surface, scope);
    const { id = '', name = '' } = c.req.param() as { id?: string; name?: string };
    if (!isId(id) || !isName(name)) return problem('not_found', 'There is nothing at this address.');
    const query = checkQuery(doc.query ?? NO_QUERY, c);
    if (!query.ok) return query;
    const body = doc.body === undefined ? NOTHING : await checkBody(doc.body, c, surface);
    if (!body.ok) return body;
    const { caller, token } = c.var;
    const asked = { c, caller, token, id, name, query: query.value, body: body.value };
    return handle(asked as Asked<z.output<Query>, z.output<Body>>, surface);
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
  const { requestId, route, caller } = c.var;
  log.info({ audit: true, request_id: requestId, route, key: caller.actor, ...fields }, message);
}

const NOTHING: Parsed<undefined> = { ok: true, value: undefined };
const NO_QUERY = z.strictObject({});
const LABEL = 'label.';

function isId(id: string): boolean {
  return /^[A-Za-z0-9_-]{0,64}$/.test(id);
}

function isName(name: string): boolean {
  return /^(?!\.)[A-Za-z0-9._-]{0,100}$/.test(name);
}

function checkQuery<Query extends z.ZodObject>(schema: Query, c: Ctx): Parsed<z.output<Query>> {
  const given = Object.entries(c.req.queries());
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

/** Lists take `label.<name>` on top of what their schema says. */
function isLabelFilter(schema: z.ZodObject, key: string): boolean {
  return 'after' in schema.shape && key.startsWith(LABEL) && key.length > LABEL.length;
}

/** The `label.<name>` filters of a list, each of which was given once. */
export function labelFilters(c: Ctx): Record<string, string> {
  const labels = Object.entries(c.req.query()).filter(
    ([key]) => key.startsWith(LABEL) && key.length > LABEL.length,
  );
  return Object.fromEntries(labels.map(([key, value]) => [key.slice(LABEL.length), value]));
}

async function checkBody<Body extends z.ZodType>(
  schema: Body,
  c: Ctx,
  surface: Surface,
): Promise<Parsed<z.output<Body>>> {
  const read = await readJsonBody(c, surface);
  return read.ok ? check(schema, read.value) : read;
}

export function json(value: unknown, status = 200, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(value), {
    status,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store', ...headers },
  });
}
