import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as answers from '../../src/http/answers.ts';
import { ended, openApi, problemOf } from './harness.ts';
import type { Api } from './harness.ts';

let api: Api;
beforeAll(async () => {
  api = await openApi();
});
afterAll(() => api.close());

describe('GET /ai-jobs/:id', () => {
  it('has the six keys, an ETag, and Retry-After while the job is unfinished', async () => {
    const id = await api.enqueue({ workflow: 'endless' });
    const answer = await api.ask(`/ai-jobs/${id}`);
    const body = answers.Status.parse(await answer.json());
    expect(Object.keys(body)).toEqual(['job_id', 'status', 'attempt', 'artifact', 'error', 'updated_at']);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    const etag = answer.headers.get('etag') ?? '';
    const again = await api.ask(`/ai-jobs/${id}`, { headers: { 'if-none-match': `W/${etag}, "other"` } });
    expect(again.status).toBe(304);
    expect(await again.text()).toBe('');
    expect(again.headers.get('etag')).toBe(etag);
    expect((await api.ask(`/ai-jobs/${id}`, { headers: { 'if-none-match': '*' } })).status).toBe(304);
    await api.ask(`/ai-jobs/${id}/cancel`, { json: { reason: 'enough' } });
    const changed = await api.ask(`/ai-jobs/${id}`, { headers: { 'if-none-match': etag } });
    expect(changed.status).toBe(200);
    expect(changed.headers.get('retry-after')).toBeNull();
  });

  it.each(['61', '-1', 'x', '', '1e1', '0x10', '60.5'])('?wait=%s is refused', async (wait) => {
    const id = await api.enqueue({ workflow: 'endless' });
    const problem = await problemOf(await api.ask(`/ai-jobs/${id}?wait=${wait}`));
    expect(problem).toMatchObject({ status: 400, errors: [{ path: '/wait' }] });
  });

  it('?wait= holds until the job changes, from the state at the request', async () => {
    const id = await api.enqueue({ workflow: 'endless' });
    const held = api.ask(`/ai-jobs/${id}?wait=30`);
    await api.ask(`/ai-jobs/${id}/cancel`, { json: { reason: 'seen' } });
    expect(await (await held).json()).toMatchObject({ status: 'dead_letter', error: { code: 'cancelled' } });
  });

  it('?wait= gives up after its seconds: 304 to who has this state, else 200', async () => {
    const id = await api.enqueue({
      workflow: 'endless',
      run_at: new Date(Date.now() + 600_000).toISOString(),
    });
    const started = performance.now();
    const plain = await api.ask(`/ai-jobs/${id}?wait=0.2`);
    expect(performance.now() - started).toBeGreaterThan(190);
    expect(await plain.json()).toMatchObject({ status: 'queued' });
    const etag = plain.headers.get('etag') ?? '';
    expect((await api.ask(`/ai-jobs/${id}?wait=0.1`, { headers: { 'if-none-match': etag } })).status).toBe(
      304,
    );
  });

  it('?wait= answers at once who has another state, or a job that has ended', async () => {
    const id = await api.enqueue({ workflow: 'endless' });
    const started = performance.now();
    expect((await api.ask(`/ai-jobs/${id}?wait=30`, { headers: { 'if-none-match': '"v0"' } })).status).toBe(
      200,
    );
    await api.ask(`/ai-jobs/${id}/cancel`, { json: { reason: 'over' } });
    const over = await api.ask(`/ai-jobs/${id}?wait=30`);
    expect(over.status).toBe(200);
    const etag = over.headers.get('etag') ?? '';
    expect((await api.ask(`/ai-jobs/${id}?wait=30`, { headers: { 'if-none-match': etag } })).status).toBe(
      304,
    );
    expect(performance.now() - started).toBeLessThan(5000);
  });

  it('answers HEAD with the same headers and no body', async () => {
    const id = await api.enqueue({ workflow: 'endless' });
    const head = await api.ask(`/ai-jobs/${id}`, { method: 'HEAD' });
    expect(head.status).toBe(200);
    expect(head.headers.get('etag')).toBe('"v1"');
    expect(await head.text()).toBe('');
  });
});

describe('the list', () => {
  it('is newest first, filters, and its cursor visits each job once', async () => {
    const ids: string[] = [];
    for (const input of [1, 2, 3, 4, 5])
      ids.push(await api.enqueue({ workflow: 'echo', input, labels: { shelf: 'list', n: String(input) } }));
    await api.ask(`/ai-jobs/${ids[1]}/cancel`, { json: { reason: 'for the list' } });
    const seen: string[] = [];
    let after = '';
    do {
      const page = answers.Page.parse(
        await (await api.ask(`/ai-jobs?label.shelf=list&limit=2${after}`)).json(),
      );
      seen.push(...page.jobs.map((job) => job.job_id));
      after = page.next === null ? '' : `&after=${encodeURIComponent(page.next)}`;
    } while (after !== '');
    expect(seen).toEqual(ids.toReversed());
    const of = async (query: string) =>
      answers.Page.parse(await (await api.ask(`/ai-jobs?${query}`)).json()).jobs.map((job) => job.job_id);
    expect(await of('label.shelf=list&label.n=4')).toEqual([ids[3]]);
    expect(await of('label.shelf=list&status=dead_letter')).toEqual([ids[1]]);
    expect(await of('label.shelf=list&code=cancelled&workflow=echo')).toEqual([ids[1]]);
    expect(await of('label.shelf=list&code=timeout')).toEqual([]);
    expect(await of('label.shelf=list&workflow=endless')).toEqual([]);
  });

  it.each([
    ['status=done', '/status'],
    ['state=queued', '/state'],
    ['code=oops', '/code'],
    ['limit=0', '/limit'],
    ['limit=501', '/limit'],
    ['limit=1.5', '/limit'],
    ['limit=5&limit=6', '/limit'],
    ['after=', '/after'],
    ['after=a%00b', '/after'],
    ['after=a', '/after'],
    ['after=-1', '/after'],
    ['after=job_01M8MQK5YXKK10EDDBPJJXWE7', '/after'],
    ['after=job_01m8mqk5yxkk10eddbpjjxwe7h', '/after'],
    ['label.=x', '/label.'],
    ['label.a=x&label.a=y', '/label.a'],
    ['label.a=x&label.a=x', '/label.a'],
  ])('?%s is refused', async (query, path) => {
    expect(await problemOf(await api.ask(`/ai-jobs?${query}`))).toMatchObject({
      status: 400,
      errors: [{ path }],
    });
  });
});

it('a cursor is a place in the list, whether or not there is a job at it', async () => {
  const id = await api.enqueue({ workflow: 'echo', labels: { shelf: 'cursor' } });
  const of = async (after: string) => {
    const page = await api.ask(`/ai-jobs?label.shelf=cursor&after=${after}`);
    return answers.Page.parse(await page.json()).jobs.map((job) => job.job_id);
  };
  expect(await of(id)).toEqual([]);
  expect(await of('job_00000000000000000000000000')).toEqual([]);
  expect(await of('job_7ZZZZZZZZZZZZZZZZZZZZZZZZZ')).toEqual([id]);
});

describe('with a worker', () => {
  let working: Api;
  beforeAll(async () => {
    working = await openApi();
    working.startWorker();
  });
  afterAll(() => working.close());

  it('the record of what went well and of what went wrong is as documented', async () => {
    const good = await working.enqueue({ workflow: 'echo', input: { save: 'note.txt' } });
    const bad = await working.enqueue({ workflow: 'picky', input: { mode: 'a' } });
    expect(await ended(working, good)).toMatchObject({ status: 'completed', attempt: 1, error: null });
    expect(await ended(working, bad)).toMatchObject({
      status: 'dead_letter',
      error: { code: 'malformed_output', attempt: 1 },
    });
    for (const id of [good, bad]) {
      answers.Record.parse(await (await working.ask(`/ai-jobs/${id}/record`)).json());
      answers.Events.parse(await (await working.ask(`/ai-jobs/${id}/events`)).json());
    }
    const brief = answers.Brief.parse(await (await working.ask(`/ai-jobs/${bad}/record?view=brief`)).json());
    expect(brief).toStrictEqual({
      id: bad,
      status: 'dead_letter',
      attempt: 1,
      errors: ['malformed_output'],
      events: ['queued', 'running', 'dead_letter'],
    });
    expect((await working.ask(`/ai-jobs/${bad}/record?view=short`)).status).toBe(400);
    expect(answers.Page.parse(await (await working.ask('/ai-jobs')).json()).jobs).toHaveLength(2);
  });

  it('what a function throws is in no answer and in no line of the log', async () => {
    const id = await working.enqueue({ workflow: 'echo', input: { fail: true } });
    expect(await ended(working, id)).toMatchObject({
      status: 'dead_letter',
      error: { code: 'workflow_error' },
    });
    const told = await Promise.all(
      ['', '/record', '/events'].map(async (end) => (await working.ask(`/ai-jobs/${id}${end}`)).text()),
    );
    expect(`${told.join()}${JSON.stringify(working.log)}`).not.toContain('secret');
  });

  it('?wait= follows a job from state to state by its ETag', async () => {
    const id = await working.enqueue({ workflow: 'echo', input: 1 });
    const states: string[] = [];
    let etag = '"none"';
    while (states.at(-1) !== 'completed') {
      const answer = await working.ask(`/ai-jobs/${id}?wait=10`, { headers: { 'if-none-match': etag } });
      if (answer.status === 304) continue;
      etag = answer.headers.get('etag') ?? '';
      states.push(((await answer.json()) as { status: string }).status);
    }
    expect(['queued,running,completed', 'queued,completed', 'running,completed', 'completed']).toContain(
      states.join(),
    );
  });

  it('/workflows tells what can be asked for', async () => {
    const { workflows } = answers.Workflows.parse(await (await working.ask('/workflows')).json());
    expect(workflows).toContainEqual({
      name: 'echo',
      version: '1',
      input_file: 'optional',
      input_schema: expect.not.objectContaining({ type: expect.anything() }),
    });
    expect(workflows.find(({ name }) => name === 'picky')?.input_schema).toMatchObject({
      type: 'object',
      properties: { mode: { enum: ['a', 'b'] } },
      required: ['mode'],
      additionalProperties: false,
    });
  });
});
