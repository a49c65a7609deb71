/** The OpenAPI 3.1 document, made of the route table and of the schemas that check requests. */
import { z } from 'zod';
import { ProblemDetails } from './answers.ts';
import type { Answer, Endpoint, EndpointDoc, Surface } from './endpoint.ts';
import { PROBLEMS } from './problems.ts';
import type { ProblemCode } from './problems.ts';

type Json = Record<string, unknown>;

export function openApiDocument(
  table: Endpoint[],
  { version, link }: Pick<Surface, 'version' | 'link'>,
): Json {
  const schemas = new SchemaTable();
  const paths: Record<string, Json> = {};
  for (const endpoint of table) {
    const path = endpoint.path.replace(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [endpoint.method]: operation(endpoint, schemas) };
  }
  const problem = schemas.reference(ProblemDetails, 'output');
  return {
    openapi: '3.1.1',
    info: {
      title: 'Claimcheck',
      version,
      description:
        'Hand in AI work, get a ticket at once, come back for one durable record with its evidence.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: link('') || '/' }],
    security: [{ bearer: [] }],
    paths,
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'An API key: `ck_<id>_<secret>`.' },
      },
      responses: Object.fromEntries(
        problemStatuses(ALL_CODES).map((status) => problemResponse(status, problem)),
      ),
      schemas: schemas.components,
    },
  };
}

function operation({ method, path, scope, doc }: Endpoint, schemas: SchemaTable): Json {
  const parameters = [...pathParameters(path), ...queryParameters(doc), ...headerParameters(doc)];
  const codes: ProblemCode[] =
    scope === null
      ? [...doc.problems, 'internal', 'unavailable']
      : [...doc.problems, 'invalid_request', 'unauthorized', 'forbidden', 'internal', 'unavailable'];
  return {
    operationId: operationId(method, path),
    summary: doc.summary,
    security: scope === null ? [] : [{ bearer: [scope] }],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...requestBody(doc, schemas),
    responses: {
      ...Object.fromEntries(
        Object.entries(doc.answers).map(([status, answer]) => [status, response(answer, schemas)]),
      ),
      ...Object.fromEntries(
        problemStatuses(codes).map((status) => [status, { $ref: `#/components/responses/Problem${status}` }]),
      ),
    },
  };
}

function operationId(method: string, path: string): string {
  const words = path.split('/').filter((word) => word !== '');
  return [method, ...words]
    .join('_')
    .replace(/[^A-Za-z0-9]+/g, '_')
    .replace(/_$/, '');
}

function pathParameters(path: string): Json[] {
  return Array.from(path.matchAll(/:(\w+)/g), ([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
}

function queryParameters({ query }: EndpointDoc): Json[] {
  if (query === undefined) return [];
  const { properties = {}, required = [] } = jsonSchema(query, 'input', () => null) as {
    properties?: Record<string, Json>;
    required?: string[];
  };
  const named = Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    ...(description === undefined ? {} : { description }),
    schema,
  }));
  return 'after' in properties ? [...named, LABEL_PARAMETER] : named;
}

/** `label.order=17`: an object whose keys are spread over the query. */
const LABEL_PARAMETER: Json = {
  name: 'labels',
  in: 'query',
  description: 'Given as `label.<name>=<value>`, any number of them: jobs that have all of these labels.',
  style: 'form',
  explode: true,
  schema: {
    type: 'object',
    patternProperties: { '^label\\.': { type: 'string' } },
    additionalProperties: false,
  },
};

function headerParameters({ requestHeaders = {} }: EndpointDoc): Json[] {
  return Object.entries(requestHeaders).map(([name, description]) => ({
    name,
    in: 'header',
    required: false,
    description,
    schema: { type: 'string' },
  }));
}

function requestBody({ body, rawBody }: EndpointDoc, schemas: SchemaTable): Json {
  if (body !== undefined) {
    const content = { 'application/json': { schema: schemas.reference(body, 'input') } };
    return { requestBody: { required: true, content } };
  }
  if (rawBody === undefined) return {};
  const form = {
    schema: { type: 'object', properties: { file: {} }, required: ['file'], additionalProperties: false },
  };
  const content: Record<string, Json> = {};
  for (const media of rawBody) content[media] = media === 'multipart/form-data' ? form : {};
  return { requestBody: { required: true, content } };
}

function response({ description, schema, media, headers }: Answer, schemas: SchemaTable): Json {
  const types = (media ?? (schema === undefined ? '' : 'application/json'))
    .split(', ')
    .filter((type) => type !== '');
  const content = types.map((type) => [
    type,
    schema === undefined || type === 'text/event-stream'
      ? {}
      : { schema: schemas.reference(schema, 'output') },
  ]);
  return {
    description,
    ...(headers === undefined ? {} : { headers: Object.fromEntries(headers.map((name) => [name, HEADER])) }),
    ...(content.length === 0 ? {} : { content: Object.fromEntries(content) }),
  };
}

const HEADER = { schema: { type: 'string' } };
const ALL_CODES = Object.keys(PROBLEMS) as ProblemCode[];

function problemStatuses(codes: ProblemCode[]): number[] {
  return Array.from(new Set(codes.map((code) => PROBLEMS[code].status))).toSorted((a, b) => a - b);
}

function problemResponse(status: number, schema: Json): [string, Json] {
  const codes = ALL_CODES.filter((code) => PROBLEMS[code].status === status);
  const waits = codes.some((code) => PROBLEMS[code].retryAfterS !== undefined);
  const headers = {
    ...(waits ? { 'Retry-After': HEADER } : {}),
    ...(status === 401 ? { 'WWW-Authenticate': HEADER } : {}),
  };
  return [
    `Problem${status}`,
    {
      description: codes.map((code) => `\`${code}\`: ${PROBLEMS[code].title}.`).join(' '),
      ...(Object.keys(headers).length === 0 ? {} : { headers }),
      content: { 'application/problem+json': { schema } },
    },
  ];
}

/** Schemas with an `id` are written once, under `components`, and referred to. */
class SchemaTable {
  readonly components: Record<string, Json> = {};

  reference(schema: z.ZodType, io: 'input' | 'output'): Json {
    return jsonSchema(schema, io, (id, definition) => {
      this.components[id] = definition;
    });
  }
}

function jsonSchema(
  schema: z.ZodType,
  io: 'input' | 'output',
  define: (id: string, definition: Json) => void,
): Json {
  const {
    $schema: _,
    $defs = {},
    ...own
  } = relocated(z.toJSONSchema(schema, { io })) as Json & {
    $defs?: Record<string, Json>;
  };
  for (const [id, definition] of Object.entries($defs)) define(id, definition);
  return own;
}

/** The same schema with its references pointing into `components`. */
function relocated(schema: object): unknown {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/'));
}
