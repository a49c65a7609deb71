import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Hono } from 'hono';
import { createApp } from '../../src/http/app.ts';
import { PROBLEMS } from '../../src/http/problems.ts';
import { routes } from '../../src/http/routes.ts';
import { CALLER, KEY, openApi, problemOf, withKey } from './harness.ts';
import type { Api } from './harness.ts';

let api: Api;
beforeAll(async () => {
  api = await openApi();
});
afterAll(() => api.close());

const TABLE = routes();
const KEYED = TABLE.filter(({ scope }) => scope !== null);
const address = (path: string) => path.replace(':id', 'job_1').replace(':name', 'a.txt');

function send(path: string, init: RequestInit = {}): Promise<Response> {
  return api.fetch(new Request(`http://claimcheck.test${path}`, init));
}

describe('without a valid key', () => {
  async function badKeys(): Promise<Record<string, Record<string, string>>> {
    const { key, view } = await api.parts.engine.createKey(CALLER, 'to be revoked');
    await api.parts.engine.revokeKey(CALLER, view.id);
    const typo = `${key.slice(0, -1)}${key.endsWith('0') ? '1' : '0'}`;
    return {
      none: {},
      empty: { authorization: 'Bearer ' },
      garbled: { authorization: 'Bearer ck_garbled' },
      'another scheme': { authorization: `Basic ${btoa(`user:${KEY}`)}` },
      'a typing error': { authorization: `Bearer ${typo}` },
      'not quite the bootstrap key': { authorization: `Bearer ${KEY}x` },
      'two keys': { authorization: `Bearer ${KEY} ${KEY}` },
      revoked: { authorization: `Bearer ${key}` },
    };
  }

  it('every route, every method and every unknown address answer one same 401', async () => {
    const asked: [string, string][] = [
      ...KEYED.map(({ method, path }): [string, string] => [method.toUpperCase(), address(path)]),
      ...TABLE.flatMap(({ path }) =>
        ['PUT', 'PATCH', 'DELETE', 'OPTIONS'].map((method): [string, string] => [method, address(path)]),
      ),
      ['GET', '/'],
      ['GET', '/no/such/thing'],
      ['POST', '/healthz'],
      ['GET', '/ai-jobs/..%2f..%2fkeys'],
    ];
    const answers = new Set<string>();
    for (const headers of Object.values(await badKeys())) {
      for (const [method, path] of asked) {
        const body = method === 'POST' ? { body: '{"workflow":"echo"}' } : {};
        const answer = await send(path, { method, headers, ...body });
        answers.add(`${answer.status} ${answer.headers.get('www-authenticate')} ${await answer.text()}`);
      }
    }
    expect(asked.length).toBeGreaterThan(50);
    expect([...answers]).toEqual([
      `401 Bearer realm="claimcheck" ${JSON.stringify({
        type: 'urn:claimcheck:problem:unauthorized',
        title: 'A valid API key is needed',
        status: 401,
        code: 'unauthorized',
        detail: 'Send an API key: Authorization: Bearer ck_...',
        errors: [],
      })}`,
    ]);
  });

  it.each(['/healthz', '/readyz', '/openapi.json'])('%s answers all the same', async (path) => {
    expect((await send(path)).status).toBe(200);
    expect((await send(path, { method: 'HEAD' })).status).toBe(200);
  });

  it('nothing was stored by all those requests', async () => {
    const page = (await (await api.ask('/ai-jobs')).json()) as { jobs: unknown[] };
    expect(page.jobs).toEqual([]);
  });
});

describe('with a key', () => {
  it('an unknown address is not found', async () => {
    expect(await problemOf(await api.ask('/no/such/thing'))).toMatchObject({
      status: 404,
      code: 'not_found',
    });
    expect((await api.ask('/ai-jobs/')).status).toBe(404);
  });

  it('the scheme may be written in any case', async () => {
    expect((await send('/workflows', { headers: { authorization: `bEARER  ${KEY}` } })).status).toBe(200);
  });

  it('another method is told which ones there are', async () => {
    const put = await api.ask('/ai-jobs', { method: 'PUT' });
    expect(await problemOf(put)).toMatchObject({ status: 405, code: 'method_not_allowed' });
    expect(put.headers.get('allow')).toBe('POST, GET, HEAD');
    expect((await api.ask('/keys/abc')).headers.get('allow')).toBe('DELETE');
    expect((await api.ask('/healthz', { method: 'POST' })).status).toBe(405);
  });

  it.each([
    '..%2f..%2fetc',
    '%2e%2e',
    'a%00b',
    'a%0d%0ab',
    '..%5cx',
    'é',
    `job_${'x'.repeat(100)}`,
    "1'%20or%201=1",
  ])('the id %s is a thing that does not exist', async (id) => {
    for (const end of ['', '/record', '/events', '/artifact', `/artifacts/${id}`, '/input']) {
      const answer = await api.ask(`/ai-jobs/${id}${end}`);
      expect(answer.status).toBe(404);
    }
    expect((await api.ask(`/ai-jobs/${id}/replay`, { json: { reason: 'x' } })).status).toBe(404);
    expect((await api.ask(`/keys/${id}`, { method: 'DELETE' })).status).toBe(404);
  });

  it.each(KEYED.map(({ method, path, doc }) => [method.toUpperCase(), path, doc.body]))(
    '%s %s refuses a query parameter that it does not know',
    async (method, path, body) => {
      const json = body === undefined ? {} : { json: {} };
      const answer = await api.ask(`${address(path)}?unknown=1`, { ...json, method });
      const problem = await problemOf(answer);
      expect(problem).toMatchObject({ status: 400, code: 'invalid_request' });
      expect(problem.errors).toContainEqual({ path: '/unknown', message: 'unknown field' });
    },
  );

  it('every answer says nosniff, is framed by nobody and has an id to ask about', async () => {
    for (const path of ['/healthz', '/ai-jobs', '/nothing', '/openapi.json']) {
      const { headers } = await api.ask(path);
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('content-security-policy')).toContain("default-src 'none'");
      expect(headers.get('x-request-id')).toMatch(/^req_/);
    }
  });
});

describe('keys over the API', () => {
  it('are made, shown once, listed, used, revoked', async () => {
    const made = await api.ask('/keys', { json: { name: 'ci' } });
    expect(made.status).toBe(201);
    expect(made.headers.get('cache-control')).toBe('no-store');
    const { key, id } = (await made.json()) as { key: string; id: string };
    expect((await send('/workflows', withKey({}, key))).status).toBe(200);
    const list = await (await api.ask('/keys')).text();
    expect(list).toContain(`"id":"${id}","name":"ci","scopes":["admin"]`);
    expect(list).not.toContain(key.slice(14));
    expect((await api.ask(`/keys/${id}`, { method: 'DELETE' })).status).toBe(204);
    expect((await send('/workflows', withKey({}, key))).status).toBe(401);
    expect((await api.ask(`/keys/${id}`, { method: 'DELETE' })).status).toBe(404);
    expect(JSON.stringify(api.log)).not.toContain(key);
  });

  it('are good for everything, or for what was asked for; who made and revoked them is in the log', async () => {
    const made = await api.ask('/keys', { json: { name: 'reader', scopes: ['jobs', 'evidence'] } });
    const { id, scopes } = (await made.json()) as { id: string; scopes: string[] };
    expect(scopes).toEqual(['jobs', 'evidence']);
    await api.ask(`/keys/${id}`, { method: 'DELETE' });
    const audited = api.log.filter(({ fields }) => fields['audit'] === true && fields['key_id'] === id);
    expect(audited.map(({ fields, message }) => [message, fields['key']])).toEqual([
      ['a key was made', 'key:bootstrap'],
      ['a key was revoked', 'key:bootstrap'],
    ]);
    for (const wrong of [[], ['everything'], 'jobs']) {
      const refused = await api.ask('/keys', { json: { name: 'x', scopes: wrong } });
      expect((await problemOf(refused)).errors[0]?.path).toMatch(/^\/scopes/);
    }
  });

  it.each(['jobs', 'evidence', 'spending', 'admin'] as const)(
    'one with the scope %s is refused with 403 wherever another is needed, before anything is read',
    async (scope) => {
      const { key, view } = await api.parts.engine.createKey(CALLER, scope, [scope]);
      const before = await (await api.ask('/keys')).text();
      for (const endpoint of KEYED) {
        const init = withKey({ method: endpoint.method.toUpperCase() }, key);
        const answer = await send(`${address(endpoint.path)}?unknown=1`, init);
        const isPermitted = scope === 'admin' || endpoint.scope === scope;
        expect([endpoint.path, answer.status]).toEqual([endpoint.path, isPermitted ? 400 : 403]);
        if (!isPermitted) expect(await problemOf(answer)).toMatchObject({ code: 'forbidden', errors: [] });
      }
      expect(await (await api.ask('/keys')).text()).toBe(before);
      const refusals = api.log.filter(({ fields }) => fields['key'] === `key:${view.id}` && fields['audit']);
      const others = KEYED.filter((endpoint) => endpoint.scope !== scope);
      expect(refusals).toHaveLength(scope === 'admin' ? 0 : others.length);
    },
  );

  it('need a name that can be shown', async () => {
    const answer = await api.ask('/keys', { json: { name: 'a\u001b[31m' } });
    expect(await problemOf(answer)).toMatchObject({ status: 400, errors: [{ path: '/name' }] });
  });
});

describe('the document', () => {
  type Json = Record<string, unknown>;
  const load = async () => (await (await api.ask('/openapi.json')).json()) as Json;
  const references = (value: unknown): string[] =>
    typeof value !== 'object' || value === null
      ? []
      : Object.entries(value).flatMap(([key, item]) => (key === '$ref' ? [String(item)] : references(item)));
  const at = (document: Json, path: string[]) =>
    path.reduce<unknown>((value, key) => (value as Json | undefined)?.[key], document);

  it('is OpenAPI 3.1 and lists every route that is served, and no other', async () => {
    const document = await load();
    expect(document['openapi']).toMatch(/^3\.1\.\d$/);
    const listed = Object.entries(document['paths'] as Json).flatMap(([path, item]) =>
      Object.keys(item as Json).map((method) => `${method} ${path}`),
    );
    const served = createApp({ engine: api.parts.engine, log: api.parts.engine as never })
      .routes.filter(({ method }) => method !== 'ALL')
      .map(({ method, path }) => `${method.toLowerCase()} ${path.replace(/:(\w+)/g, '{$1}')}`);
    expect(listed.toSorted()).toEqual(served.toSorted());
    expect(listed.length).toBeGreaterThan(15);
  });

  it('refers only to what it holds, and uses all that it holds', async () => {
    const document = await load();
    const used = new Set(references(document));
    for (const reference of used)
      expect(at(document, reference.slice(2).split('/')), reference).toBeDefined();
    const schemas = Object.keys(at(document, ['components', 'schemas']) as Json);
    expect(schemas).toContain('JobRequest');
    for (const name of schemas) expect(used).toContain(`#/components/schemas/${name}`);
    expect(JSON.stringify(document)).not.toMatch(/\$defs|\$schema/);
  });

  it('gives each operation an id of its own, its path parameters, its answers and its problems', async () => {
    const document = await load();
    const ids = new Set<unknown>();
    for (const { method, path, scope, doc } of TABLE) {
      const operation = at(document, ['paths', path.replace(/:(\w+)/g, '{$1}'), method]) as Json;
      ids.add(operation['operationId']);
      const responses = Object.keys(operation['responses'] as Json);
      const problems = doc.problems.map((code) => String(PROBLEMS[code].status));
      expect(responses).toEqual(
        expect.arrayContaining([...problems, ...(scope === null ? [] : ['401', '403']), '500', '503']),
      );
      const parameters = ((operation['parameters'] ?? []) as Json[]).filter((one) => one['in'] === 'path');
      expect(parameters.map((one) => `:${String(one['name'])}`)).toEqual(path.match(/:\w+/g) ?? []);
      expect(operation['security']).toEqual(scope === null ? [] : [{ bearer: [scope] }]);
    }
    expect(ids.size).toBe(TABLE.length);
    expect(document['security']).toEqual([{ bearer: [] }]);
    expect(at(document, ['components', 'securitySchemes', 'bearer', 'scheme'])).toBe('bearer');
  });

  it('describes a job request with the bounds that are checked', async () => {
    const request = at(await load(), ['components', 'schemas', 'JobRequest']) as Json;
    expect(request['additionalProperties']).toBe(false);
    expect(request['required']).toEqual(['workflow']);
    expect(at(request, ['properties', 'priority'])).toMatchObject({
      type: 'integer',
      minimum: -100,
      maximum: 100,
    });
  });
});

describe('mounted under a prefix', () => {
  const job = JSON.stringify({ workflow: 'echo', input: 1 });
  const enqueue = (path: string): [string, RequestInit] => [
    path,
    withKey({ method: 'POST', body: job, headers: { 'content-type': 'application/json' } }),
  ];

  async function followsItsLink(
    answer: Response,
    host: (path: string, init: RequestInit) => Promise<Response> | Response,
  ) {
    expect(answer.status).toBe(202);
    const { job_id, status_url } = (await answer.json()) as { job_id: string; status_url: string };
    expect(status_url).toBe(`/claims/ai-jobs/${job_id}`);
    expect(answer.headers.get('location')).toBe(status_url);
    expect(await (await host(status_url, withKey({}))).json()).toMatchObject({ job_id, status: 'queued' });
  }

  it('by a host that passes the whole address, links carry the prefix and work', async () => {
    const app = createApp({ engine: api.parts.engine, log: quiet, basePath: '/claims/' });
    const host = (path: string, init: RequestInit) => app.fetch(new Request(`http://host.test${path}`, init));
    await followsItsLink(await host(...enqueue('/claims/ai-jobs')), host);
    expect((await host('/claimsai-jobs', withKey({}))).status).toBe(404);
    expect(await (await host('/claims/openapi.json', {})).json()).toMatchObject({
      servers: [{ url: '/claims' }],
    });
  });

  it('by a host that takes the prefix off (Hono mount), too', async () => {
    const app = createApp({ engine: api.parts.engine, log: quiet, basePath: 'claims' });
    const outer = new Hono();
    outer.all('/claims/*', (c) =>
      app.fetch(new Request(new URL(c.req.url.replace('/claims', '')), c.req.raw)),
    );
    const host = (path: string, init: RequestInit) => outer.request(path, init);
    await followsItsLink(await host(...enqueue('/claims/ai-jobs')), host);
  });

  it('as a route of another Hono app, too', async () => {
    const outer = new Hono().route(
      '/claims',
      createApp({ engine: api.parts.engine, log: quiet, basePath: '/claims' }),
    );
    const host = (path: string, init: RequestInit) => outer.request(path, init);
    await followsItsLink(await host(...enqueue('/claims/ai-jobs')), host);
    expect((await host('/claims/healthz', {})).status).toBe(200);
    expect((await host('/claims/nothing', {})).status).toBe(401);
  });
});

const quiet = { debug() {}, info() {}, warn() {}, error() {}, child: () => quiet };
