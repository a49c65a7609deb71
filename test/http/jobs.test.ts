import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as answers from '../../src/http/answers.ts';
import { openApi, problemOf } from './harness.ts';
import type { Api } from './harness.ts';

let api: Api;
beforeAll(async () => {
  api = await openApi();
});
afterAll(() => api.close());

type Json = Record<string, unknown>;
const post = (body: unknown, headers: Record<string, string> = {}) =>
  api.ask('/ai-jobs', { json: body, headers });
const count = async (label: string) =>
  ((await (await api.ask(`/ai-jobs?label.t=${label}`)).json()) as { jobs: unknown[] }).jobs.length;

describe('POST /ai-jobs', () => {
  it('answers with exactly the three keys and a Location', async () => {
    const answer = await post({ workflow: 'echo', input: { a: [1, null, 'x'] } });
    expect(answer.status).toBe(202);
    const body = (await answer.json()) as Json;
    const id = String(body['job_id']);
    expect(body).toStrictEqual({ job_id: id, status: 'queued', status_url: `/ai-jobs/${id}` });
    expect(id).toMatch(/^job_/);
    expect(answer.headers.get('location')).toBe(`/ai-jobs/${id}`);
  });

  it('takes everything that the contract lists, and the record has it', async () => {
    const id = await api
      .enqueue({
        workflow: 'echo',
        input: { mode: 'x' },
        limits: { timeout_ms: 10, max_attempts: 2, deadline_at: '2999-01-01T02:00:00.5+02:00' },
        run_at: '2998-12-31T00:00:00Z',
        priority: -100,
        labels: { order: '17' },
      })
      .catch((error: Error) => error.message);
    // further ahead than the operator allows: the instant was read with its zone, and the path is named
    expect(id).toContain('/limits/deadline_at');
    const soon = new Date(Date.now() + 3_600_000).toISOString();
    const runAt = new Date(Date.now() + 60_000).toISOString().replace('Z', '+00:00');
    const job = await api.enqueue({
      workflow: 'echo',
      input: { mode: 'x' },
      limits: { timeout_ms: 10, max_attempts: 2, deadline_at: soon },
      run_at: runAt,
      priority: -100,
      labels: { order: '17' },
    });
    const record = (await (await api.ask(`/ai-jobs/${job}/record`)).json()) as Json;
    expect(record).toMatchObject({
      workflow: 'echo',
      input: { mode: 'x' },
      input_ref: null,
      limits: { timeout_ms: 10, max_attempts: 2 },
      run_at: runAt.replace('+00:00', 'Z'),
      priority: -100,
      labels: { order: '17' },
    });
    expect(
      Math.abs(Date.parse((record['limits'] as { deadline_at: string }).deadline_at) - Date.parse(soon)),
    ).toBeLessThan(5);
  });

  it.each<[object | string | null, string]>([
    [{}, '/workflow'],
    [{ workflow: 17 }, '/workflow'],
    [{ workflow: 'a\u0000b' }, '/workflow'],
    [{ workflow: 'echo', tenant: 'b' }, '/tenant'],
    [{ workflow: 'echo', status: 'completed' }, '/status'],
    [{ workflow: 'echo', attempt: 9 }, '/attempt'],
    [{ workflow: 'echo', token: 1 }, '/token'],
    [{ workflow: 'echo', 'a/b~c': 1 }, '/a~1b~0c'],
    [{ workflow: 'echo', limits: { timeout: 1 } }, '/limits/timeout'],
    [{ workflow: 'echo', limits: { timeout_ms: 1.5 } }, '/limits/timeout_ms'],
    [{ workflow: 'echo', limits: { timeout_ms: 0 } }, '/limits/timeout_ms'],
    [{ workflow: 'echo', limits: { max_attempts: '3' } }, '/limits/max_attempts'],
    [{ workflow: 'echo', limits: { max_attempts: 101 } }, '/limits/max_attempts'],
    [{ workflow: 'echo', limits: { deadline_ms: -1 } }, '/limits/deadline_ms'],
    [{ workflow: 'echo', limits: { deadline_at: '2030-01-01T00:00:00' } }, '/limits/deadline_at'],
    [{ workflow: 'echo', limits: { deadline_at: '2020-01-01T00:00:00Z' } }, '/limits/deadline_at'],
    [{ workflow: 'echo', limits: [] }, '/limits'],
    [{ workflow: 'echo', run_at: 'tomorrow' }, '/run_at'],
    [{ workflow: 'echo', run_at: '2030-02-30T00:00:00Z' }, '/run_at'],
    [{ workflow: 'echo', run_at: 1_700_000_000 }, '/run_at'],
    [{ workflow: 'echo', priority: 101 }, '/priority'],
    [{ workflow: 'echo', priority: 0.5 }, '/priority'],
    [{ workflow: 'echo', labels: { order: 17 } }, '/labels/order'],
    [{ workflow: 'echo', labels: { order: 'a\nb' } }, '/labels/order'],
    [{ workflow: 'echo', labels: { 'a b': 'x' } }, '/labels/a b'],
    [{ workflow: 'echo', labels: null }, '/labels'],
    [{ workflow: 'echo', input_ref: '' }, '/input_ref'],
    [{ workflow: 'picky', input: { mode: 'c' } }, '/input/mode'],
    [{ workflow: 'picky', input: { mode: 'a', x: 1 } }, '/input'],
    [[], ''],
    [null, ''],
    ['text', ''],
  ])('refuses %j and names %s', async (body, path) => {
    const problem = await problemOf(await post(body));
    expect(problem).toMatchObject({ status: 400, code: 'invalid_request' });
    expect(problem.errors[0]?.path).toBe(path);
  });

  it('takes the version that is asked for, and says which there are where it is none', async () => {
    const accepted = await post({ workflow: 'echo', version: '1' });
    const { job_id: id } = answers.Ticket.parse(await accepted.json());
    expect(answers.Record.parse(await (await api.ask(`/ai-jobs/${id}/record`)).json())).toMatchObject({
      workflow_version: '1',
    });
    expect(await problemOf(await post({ workflow: 'echo', version: '7' }))).toMatchObject({
      status: 400,
      code: 'unknown_workflow',
      detail: 'No workflow echo version 7 is registered; its known versions are 1.',
      errors: [{ path: '/version' }],
    });
    expect((await problemOf(await post({ workflow: 'echo', version: 1 }))).errors[0]?.path).toBe('/version');
  });

  it('names the deadline that a start would come after', async () => {
    const problem = await problemOf(
      await post({
        workflow: 'echo',
        run_at: '2100-01-01T00:00:00Z',
        limits: { deadline_at: new Date(Date.now() + 60_000).toISOString().replace(/\d{3}Z$/, '000Z') },
      }),
    );
    expect(problem.errors).toEqual([
      {
        path: '/run_at',
        message: expect.stringMatching(/^is not before the job's deadline, \d{4}-.*\.000Z$/),
      },
    ]);
  });

  it('says which workflow or file there is not', async () => {
    expect(await problemOf(await post({ workflow: 'nope' }))).toMatchObject({
      status: 400,
      code: 'unknown_workflow',
      errors: [{ path: '/workflow' }],
    });
    for (const ref of [
      'uploads/none.pdf',
      '../../etc/passwd',
      '/etc/passwd',
      '%2e%2e%2fx',
      'uploads/..\\x',
    ]) {
      const answer = await post({ workflow: 'echo', input_ref: ref });
      expect(await problemOf(answer)).toMatchObject({
        status: 400,
        code: 'unknown_input_ref',
        errors: [{ path: '/input_ref' }],
      });
    }
    expect((await problemOf(await post({ workflow: 'echo', input_ref: 'a\u0000b' }))).errors[0]?.path).toBe(
      '/input_ref',
    );
  });

  it('refuses an inline input over 256 KB with 413', async () => {
    expect((await post({ workflow: 'echo', input: 'x'.repeat(256 * 1024 - 2) })).status).toBe(202);
    const problem = await problemOf(await post({ workflow: 'echo', input: 'x'.repeat(256 * 1024 - 1) }));
    expect(problem).toMatchObject({ status: 413, code: 'too_large', errors: [{ path: '/input' }] });
  });

  it('gives U+0000 and lone surrogates in an input back as they came', async () => {
    const input = { 'k\u0000': 'a\u0000b', lone: '\ud800', both: '\udfff\ud800' };
    const id = await api.enqueue({ workflow: 'echo', input });
    expect(await (await api.ask(`/ai-jobs/${id}/record`)).json()).toMatchObject({ input });
  });
});

describe('an Idempotency-Key', () => {
  const body = { workflow: 'echo', input: { a: 1, b: 2 }, labels: { t: 'idem' } };

  it('gives the same 202 for an equal JSON value, however it is written, and makes one job', async () => {
    const first = await (await post(body, { 'idempotency-key': 'k1' })).text();
    const other = await post(
      { labels: { t: 'idem' }, input: { b: 2.0, a: 1 }, workflow: 'echo' },
      { 'idempotency-key': 'k1' },
    );
    expect(other.status).toBe(202);
    expect(await other.text()).toBe(first);
    expect(await count('idem')).toBe(1);
  });

  it('makes one job of fifty requests at once', async () => {
    const same = { ...body, labels: { t: 'storm' } };
    const tickets = await Promise.all(
      Array.from({ length: 50 }, async () => (await post(same, { 'idempotency-key': 'storm' })).text()),
    );
    expect(new Set(tickets).size).toBe(1);
    expect(await count('storm')).toBe(1);
  });

  it('of another request is refused with 422, and nothing is made', async () => {
    await post({ ...body, labels: { t: 'reuse' } }, { 'idempotency-key': 'k2' });
    const problem = await problemOf(
      await post({ ...body, input: 9, labels: { t: 'reuse' } }, { 'idempotency-key': 'k2' }),
    );
    expect(problem).toMatchObject({ status: 422, code: 'idempotency_key_reused' });
    expect(await count('reuse')).toBe(1);
  });

  it.each(['', 'a b', 'x'.repeat(256), 'é', 'a, b'])('%j is refused', async (key) => {
    const problem = await problemOf(
      await post({ ...body, labels: { t: 'badkey' } }, { 'idempotency-key': key }),
    );
    expect(problem).toMatchObject({ status: 400, code: 'invalid_request' });
    expect(await count('badkey')).toBe(0);
  });

  it('of 255 characters is taken', async () => {
    expect((await post(body, { 'idempotency-key': '!~'.padEnd(255, 'x') })).status).toBe(202);
  });
});

describe('POST /ai-jobs/batch', () => {
  const batch = (jobs: unknown, headers: Record<string, string> = {}) =>
    api.ask('/ai-jobs/batch', { json: { jobs }, headers });

  it('gives a ticket for each, in order', async () => {
    const answer = await batch([1, 2, 3].map((input) => ({ workflow: 'echo', input })));
    expect(answer.status).toBe(202);
    const { jobs } = answers.Tickets.parse(await answer.json());
    for (const [index, { job_id, status_url }] of jobs.entries()) {
      expect(await (await api.ask(`${status_url}/record`)).json()).toMatchObject({
        job_id,
        input: index + 1,
      });
    }
  });

  it('takes all or none, and names the one that is wrong', async () => {
    const labels = { t: 'allornone' };
    const wrong = await problemOf(
      await batch([
        { workflow: 'echo', labels },
        { workflow: 'echo', labels, x: 1 },
      ]),
    );
    expect(wrong).toMatchObject({ status: 400, errors: [{ path: '/jobs/1/x' }] });
    const unknown = await problemOf(
      await batch([
        { workflow: 'echo', labels },
        { workflow: 'nope', labels },
      ]),
    );
    expect(unknown).toMatchObject({
      status: 400,
      code: 'unknown_workflow',
      errors: [{ path: '/jobs/1/workflow' }],
    });
    expect(await count('allornone')).toBe(0);
  });

  it('takes 1,000 and not 1,001, and not none', async () => {
    const jobs = Array.from({ length: 1000 }, () => ({ workflow: 'echo', input: 1 }));
    expect(answers.Tickets.parse(await (await batch(jobs)).json()).jobs).toHaveLength(1000);
    expect((await problemOf(await batch([...jobs, jobs[0]]))).errors[0]?.path).toBe('/jobs');
    expect((await problemOf(await batch([]))).errors[0]?.path).toBe('/jobs');
  });

  it('under one Idempotency-Key answers the same again', async () => {
    const jobs = [
      { workflow: 'echo', labels: { t: 'batchkey' } },
      { workflow: 'echo', labels: { t: 'batchkey' } },
    ];
    const first = await (await batch(jobs, { 'idempotency-key': 'batch-1' })).text();
    expect(await (await batch(jobs, { 'idempotency-key': 'batch-1' })).text()).toBe(first);
    expect(await count('batchkey')).toBe(2);
    expect((await batch(jobs.slice(1), { 'idempotency-key': 'batch-1' })).status).toBe(422);
  });
});

describe('cancel and replay', () => {
  const act = (id: string, verb: string, body: unknown) => api.ask(`/ai-jobs/${id}/${verb}`, { json: body });

  it('a cancel ends the job at once, once, and the history names who and why', async () => {
    const id = await api.enqueue({ workflow: 'endless' });
    const answer = await act(id, 'cancel', { reason: 'wrong order' });
    expect(answer.status).toBe(200);
    expect(answers.Status.parse(await answer.json())).toMatchObject({
      status: 'dead_letter',
      error: { code: 'cancelled' },
    });
    expect(await problemOf(await act(id, 'cancel', { reason: 'again' }))).toMatchObject({
      status: 409,
      code: 'already_ended',
    });
    const { events } = answers.Events.parse(await (await api.ask(`/ai-jobs/${id}/events`)).json());
    expect(events.at(-1)).toMatchObject({
      type: 'dead_letter',
      code: 'cancelled',
      actor: 'key:bootstrap',
      reason: 'wrong order',
    });
  });

  it('a replay queues the same job again; of ten at once one wins, the others hear that the decision is taken', async () => {
    const id = await api.enqueue({ workflow: 'endless' });
    expect(await problemOf(await act(id, 'replay', { reason: 'too early' }))).toMatchObject({
      status: 409,
      code: 'not_dead_letter',
    });
    await act(id, 'cancel', { reason: 'first' });
    const { decision } = answers.Record.parse(await (await api.ask(`/ai-jobs/${id}/record`)).json());
    const decision_id = decision?.decision_id ?? '';
    const replays = await Promise.all(
      Array.from({ length: 10 }, () =>
        act(id, 'replay', { reason: 'mended', decision_id, limits: { max_attempts: 5 } }),
      ),
    );
    const won = replays.filter(({ status }) => status === 202);
    expect(won).toHaveLength(1);
    expect(await won[0]?.json()).toStrictEqual({
      job_id: id,
      status: 'queued',
      status_url: `/ai-jobs/${id}`,
    });
    expect(won[0]?.headers.get('location')).toBe(`/ai-jobs/${id}`);
    for (const lost of replays.filter((answer) => answer !== won[0])) {
      expect(await problemOf(lost)).toMatchObject({ status: 409, code: 'decision_taken' });
    }
    expect(await (await api.ask(`/ai-jobs/${id}/record`)).json()).toMatchObject({
      status: 'queued',
      limits: { max_attempts: 5 },
    });
  });

  it.each<[unknown, string]>([
    [{}, '/reason'],
    [{ reason: '' }, '/reason'],
    [{ reason: '   ' }, '/reason'],
    [{ reason: 'a\u0007b' }, '/reason'],
    [{ reason: 'a\ud800' }, '/reason'],
    [{ reason: 'x'.repeat(2001) }, '/reason'],
    [{ reason: 'x', status: 'completed' }, '/status'],
  ])('%j is refused by both, and changes nothing', async (body, path) => {
    const id = await api.enqueue({ workflow: 'endless' });
    for (const verb of ['cancel', 'replay']) {
      expect(await problemOf(await act(id, verb, body))).toMatchObject({ status: 400, errors: [{ path }] });
    }
    expect(await (await api.ask(`/ai-jobs/${id}`)).json()).toMatchObject({ status: 'queued' });
  });

  it('a decision of another form, or of nobody, is refused', async () => {
    const id = await api.enqueue({ workflow: 'endless' });
    await act(id, 'cancel', { reason: 'first' });
    expect(await problemOf(await act(id, 'replay', { reason: 'x', decision_id: 'a\u0000' }))).toMatchObject({
      status: 400,
      errors: [{ path: '/decision_id' }],
    });
    expect(await problemOf(await act(id, 'replay', { reason: 'x', decision_id: 'dec_none' }))).toMatchObject({
      status: 409,
    });
    expect(
      await problemOf(await act(id, 'replay', { reason: 'x', limits: { timeout_ms: 10 ** 9 } })),
    ).toMatchObject({ status: 400, errors: [{ path: '/limits/timeout_ms' }] });
  });
});
