import { afterEach, describe, expect, it } from 'vitest';
import type { EngineApi } from '../../src/engine/api.ts';
import { StorageFullError, StoreUnavailableError } from '../../src/ports/job-store.ts';
import { KEY, openApi, problemOf } from './harness.ts';
import type { Api } from './harness.ts';

let api: Api | undefined;
afterEach(async () => api?.close());

async function failing(thrown: Error): Promise<Api> {
  const fail = async () => {
    throw thrown;
  };
  const wrap = (engine: EngineApi) => ({ ...engine, enqueue: fail, upload: fail, status: fail, ready: fail });
  api = await openApi({ wrap });
  return api;
}

const ask = {
  enqueue: (from: Api) => from.ask('/ai-jobs', { json: { workflow: 'echo', input: 'a private thing' } }),
  status: (from: Api) => from.ask('/ai-jobs/job_1'),
  upload: (from: Api) => from.ask('/uploads', { method: 'POST', body: 'x' }),
  ready: (from: Api) => from.ask('/readyz'),
};

describe('a store', () => {
  it.each(Object.entries(ask))('that cannot be reached: %s answers 503 with Retry-After', async (_, send) => {
    const answer = await send(await failing(new StoreUnavailableError('busy')));
    expect(await problemOf(answer)).toMatchObject({ status: 503, code: 'unavailable', errors: [] });
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
  });

  it.each(Object.entries(ask))('that is full: %s answers 507 with Retry-After', async (_, send) => {
    const answer = await send(await failing(new StorageFullError('full')));
    expect(await problemOf(answer)).toMatchObject({ status: 507, code: 'storage_full' });
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
  });

  it('that is away while a key is looked up is 503, not 401', async () => {
    api = await openApi({
      wrap: (engine) => ({
        ...engine,
        authenticate: () => Promise.reject(new StoreUnavailableError('busy')),
      }),
    });
    expect((await api.ask('/ai-jobs')).status).toBe(503);
    expect((await api.ask('/healthz')).status).toBe(200);
  });
});

describe('a defect', () => {
  it('is a 500 without a word of it; the log has the place, under the id that the caller was given', async () => {
    const from = await failing(new TypeError('secret: a private thing'));
    const answer = await ask.enqueue(from);
    const problem = await problemOf(answer);
    expect(problem).toMatchObject({ status: 500, code: 'internal', errors: [] });
    const requestId = answer.headers.get('x-request-id') ?? '';
    expect(problem.detail).toContain(requestId);
    expect(problem.detail).not.toMatch(/secret|TypeError/);
    const line = from.log.find(({ level }) => level === 'error');
    expect(line?.fields).toMatchObject({ request_id: requestId, route: '/ai-jobs', error: 'TypeError' });
    expect(String(line?.fields['stack'])).toContain('failures.test.ts');
    expect(JSON.stringify(from.log)).not.toContain('private');
  });
});

describe('the access log', () => {
  it('has one line a request, with the route and never what the caller wrote', async () => {
    api = await openApi();
    const id = await api.enqueue({ workflow: 'echo', input: 'prompt-text' });
    await api.ask('/ai-jobs?label.customer=alice@example.com');
    await api.ask(`/ai-jobs/${id}?wait=0`, { headers: { 'x-note': 'a\u001b[31m' } });
    await api.ask('/no-such/private-path');
    await api.fetch(
      new Request('http://claimcheck.test/ai-jobs', { headers: { authorization: 'Bearer stolen-token' } }),
    );
    expect(
      api.log.map(
        ({ fields }) =>
          `${String(fields['method'])} ${String(fields['route'])} ${String(fields['status'])} ${String(fields['key'])}`,
      ),
    ).toEqual([
      'POST /ai-jobs 202 key:bootstrap',
      'GET /ai-jobs 200 key:bootstrap',
      'GET /ai-jobs/:id 200 key:bootstrap',
      'GET none 404 key:bootstrap',
      'GET none 401 null',
    ]);
    expect(JSON.stringify(api.log)).not.toMatch(/prompt-text|alice|private|stolen|\u001b/);
    expect(JSON.stringify(api.log)).not.toContain(KEY);
  });
});

describe('a key that is revoked', () => {
  it('while a request is held gets 401 in place of the status', async () => {
    let calls = 0;
    api = await openApi({
      wrap: (engine) => ({
        ...engine,
        authenticate: async (token) => ((calls += 1) === 3 ? null : engine.authenticate(token)),
      }),
    });
    const id = await api.enqueue({ workflow: 'endless' });
    expect((await api.ask(`/ai-jobs/${id}?wait=0.05`)).status).toBe(401);
  });
});
