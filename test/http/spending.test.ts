/** Money over HTTP: what requests may spend, what was spent, limits, calls in doubt, raw responses. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { LIMIT_RULES } from '../../src/domain/money-rules.ts';
import type { WorkflowDefinition } from '../../src/engine/workflow.ts';
import { Call, Record, Spending } from '../../src/http/answers.ts';
import { CENT, claimNext } from '../support/calls.ts';
import { CALLER, openApi, problemOf, withKey } from './harness.ts';
import type { Api } from './harness.ts';

const paid: WorkflowDefinition = {
  name: 'paid',
  version: '1',
  input: z.unknown(),
  output: z.unknown(),
  spending: { perJobUsd: 0.25, perDayUsd: 100 },
  run: () => null,
};

let api: Api;
beforeAll(async () => {
  const settings = { jobSpendingCap: 2_000 * CENT, dayLimit: 50_000 * CENT };
  api = await openApi({ workflows: [paid], settings });
});
afterAll(() => api.close());
afterEach(async () => {
  const { jobs } = (await (await api.ask('/ai-jobs?status=queued')).json()) as { jobs: { job_id: string }[] };
  for (const { job_id: id } of jobs) await api.ask(`/ai-jobs/${id}/cancel`, { json: { reason: 'over' } });
});

type Json = { [key: string]: unknown };

async function recordOf(id: string): Promise<Json> {
  return (await (await api.ask(`/ai-jobs/${id}/record`)).json()) as Json;
}

/** A dead letter that a limit stopped: a call that was paid, one in doubt. */
async function stopped(limits: object = {}): Promise<{ id: string; uri: string }> {
  const id = await api.enqueue({ workflow: 'paid', limits });
  const attempt = await claimNext(api.parts);
  const uri = await attempt.answer((await attempt.begin(5 * CENT))!, 2 * CENT);
  await attempt.begin(10 * CENT);
  await attempt.fail({ code: 'spending_limit', rule: LIMIT_RULES.job });
  return { id, uri };
}

describe('a limit of a request', () => {
  it('is in the record, in place of the one of the workflow', async () => {
    const limits = { spending_usd: 1.5, max_attempts: 1 };
    const record = await recordOf(await api.enqueue({ workflow: 'paid', limits }));
    expect(record['limits']).toMatchObject({ spending_usd: 1.5, max_attempts: 1 });
    expect(record['spending']).toEqual({ limit_usd: 1.5, spent_usd: 0, reserved_usd: 0 });
    const plain = await recordOf(await api.enqueue({ workflow: 'paid' }));
    expect(plain['limits']).toMatchObject({ spending_usd: 0.25 });
    expect(await recordOf(await api.enqueue({ workflow: 'echo' }))).not.toHaveProperty('spending');
  });

  it.each([
    [-0.01, 'must be a number of dollars from 0 to 1000000, with at most 9 decimals'],
    [0.000_000_000_1, 'must be a number of dollars from 0 to 1000000, with at most 9 decimals'],
    [20.01, 'must be a number of dollars from 0 to 20, and is 20.01'],
    ['1', 'Invalid input: expected number, received string'],
    [null, 'Invalid input: expected number, received null'],
  ])('of %j is refused with its place, on every way in, and nothing is made', async (usd, message) => {
    const before = await (await api.ask('/ai-jobs')).text();
    const job = { workflow: 'paid', limits: { spending_usd: usd } };
    const one = await problemOf(await api.ask('/ai-jobs', { json: job }));
    expect(one).toMatchObject({ status: 400, errors: [{ path: '/limits/spending_usd', message }] });
    const many = await problemOf(
      await api.ask('/ai-jobs/batch', { json: { jobs: [{ workflow: 'paid' }, job] } }),
    );
    expect(many.errors).toEqual([{ path: '/jobs/1/limits/spending_usd', message }]);
    expect(await (await api.ask('/ai-jobs')).text()).toBe(before);
  });

  it('is part of what an Idempotency-Key stands for', async () => {
    const headers = { 'idempotency-key': 'money' };
    const ask = (usd: number) =>
      api.ask('/ai-jobs', { headers, json: { workflow: 'paid', limits: { spending_usd: usd } } });
    expect((await ask(1)).status).toBe(202);
    expect((await ask(1)).status).toBe(202);
    expect(await problemOf(await ask(2))).toMatchObject({ code: 'idempotency_key_reused' });
  });
});

describe('a job with calls', () => {
  it('shows each with its money, as documented, and says in sentences what became of it', async () => {
    const { id, uri } = await stopped();
    const record = await recordOf(id);
    expect(Record.parse(record)).toEqual(record);
    expect(record['spending']).toEqual({ limit_usd: 0.25, spent_usd: 0.02, reserved_usd: 0.1 });
    expect(record['calls']).toMatchObject([
      { n: 1, billing: 'settled', cost_usd: 0.02, served_another: true, response: { uri } },
      { n: 2, billing: 'unknown', cost_usd: null, usage: null, response: null, reserved_usd: 0.1 },
    ]);
    const { tried, decision } = record['answers'] as { tried: string; decision: string };
    expect(tried).toContain(
      'Its 2 calls to models cost $0.02, of at most $0.25. What call 2 cost is not known',
    );
    expect(decision).toMatch(
      /^The job's own limit, \$0\.25, has no room for the next call: \$0\.02 are spent and \$0\.10 held\. Raise/,
    );
  });

  it('is replayed with a higher limit, which its history has', async () => {
    const { id } = await stopped();
    const replay = (body: object) =>
      api.ask(`/ai-jobs/${id}/replay`, { json: { reason: 'worth it', ...body } });
    const over = await problemOf(await replay({ limits: { spending_usd: 20.5 } }));
    expect(over).toMatchObject({ status: 400, errors: [{ path: '/limits/spending_usd' }] });
    expect((await problemOf(await replay({ from_evidence: 'yes' }))).errors).toMatchObject([
      { path: '/from_evidence' },
    ]);
    expect((await recordOf(id))['status']).toBe('dead_letter');
    expect((await replay({ limits: { spending_usd: 1 }, from_evidence: true })).status).toBe(202);
    const record = await recordOf(id);
    expect(record['limits']).toMatchObject({ spending_usd: 1 });
    expect((record['events'] as Json[]).at(-1)).toMatchObject({
      type: 'queued',
      reason: 'worth it',
      detail: { spending_usd: 1, from_evidence: true },
    });
    await (await claimNext(api.parts)).complete();
  });
});

describe('a call in doubt', () => {
  const settle = (id: string, n: number | string, body: object, key?: string) =>
    api.fetch(
      new Request(`http://claimcheck.test/ai-jobs/${id}/calls/${n}/settle`, withKey({ json: body }, key)),
    );

  it('is settled once by who found out, and what was held is let go', async () => {
    const { id } = await stopped();
    const said = { cost_usd: 0.03, reason: 'the provider’s invoice' };
    const settled = await settle(id, 2, said);
    expect(settled.status).toBe(200);
    const call = (await settled.json()) as Json;
    expect(Call.parse(call)).toEqual(call);
    expect(call).toMatchObject({ n: 2, billing: 'settled', cost_usd: 0.03 });
    expect(call['settled_by']).toMatchObject({ actor: 'key:bootstrap', reason: 'the provider’s invoice' });
    expect((await recordOf(id))['spending']).toMatchObject({ spent_usd: 0.05, reserved_usd: 0 });
    expect(await problemOf(await settle(id, 2, said))).toMatchObject({
      status: 409,
      code: 'call_not_unknown',
    });
    expect(await problemOf(await settle(id, 1, said))).toMatchObject({
      status: 409,
      code: 'call_not_unknown',
    });
    expect((await recordOf(id))['spending']).toMatchObject({ spent_usd: 0.05, reserved_usd: 0 });
    const line = api.log.find(({ message }) => message === 'the cost of a call was settled');
    expect(line?.fields).toMatchObject({ audit: true, key: 'key:bootstrap', job_id: id, call: 2 });
  });

  it('that is none, of no job or of another tenant is not found, and what is wrong is named', async () => {
    const { id } = await stopped();
    const said = { cost_usd: 0.03, reason: 'x' };
    for (const n of [3, 0, '01', 'x', '1e1', 9_999_999_999])
      expect((await settle(id, n, said)).status).toBe(404);
    expect((await settle('job_nope', 1, said)).status).toBe(404);
    const foreign = await api.parts.engine.settleCall({ ...CALLER, tenant: 'other' }, id, 2, {
      cost: 1,
      reason: 'x',
    });
    expect(foreign).toMatchObject({ ok: false, code: 'not_found' });
    const wrong: [object, string][] = [
      [{ reason: 'x' }, '/cost_usd'],
      [{ cost_usd: -1, reason: 'x' }, '/cost_usd'],
      [{ cost_usd: 1 }, '/reason'],
      [{ cost_usd: 1, reason: ' ' }, '/reason'],
      [{ ...said, tenant: 'other' }, '/tenant'],
    ];
    for (const [body, path] of wrong) {
      expect(await problemOf(await settle(id, 2, body))).toMatchObject({ status: 400, errors: [{ path }] });
    }
    expect((await recordOf(id))['spending']).toMatchObject({ reserved_usd: 0.1 });
  });

  it('is not settled by a key that is not good for money', async () => {
    const { id } = await stopped();
    const { key } = await api.parts.engine.createKey(CALLER, 'worker', ['jobs', 'evidence']);
    expect((await settle(id, 2, { cost_usd: 0, reason: 'x' }, key)).status).toBe(403);
    expect((await recordOf(id))['spending']).toMatchObject({ reserved_usd: 0.1 });
  });
});

describe('a raw response', () => {
  it('comes by its uri to keys that are good for evidence, and only of its job', async () => {
    const { id, uri } = await stopped();
    const other = await stopped();
    const get = (jobId: string, key?: string) =>
      api.fetch(
        new Request(
          `http://claimcheck.test/ai-jobs/${jobId}/evidence?uri=${encodeURIComponent(uri)}`,
          withKey({}, key),
        ),
      );
    const answer = await get(id);
    expect(answer.headers.get('content-disposition')).toMatch(/^attachment; filename="call-1\.json"/);
    expect(await answer.json()).toMatchObject({ raw: 'an answer' });
    expect((await get(other.id)).status).toBe(404);
    const keyFor = async (scope: 'jobs' | 'evidence') =>
      (await api.parts.engine.createKey(CALLER, scope, [scope])).key;
    const refused = await get(id, await keyFor('jobs'));
    expect(await problemOf(refused)).toMatchObject({ status: 403, code: 'forbidden' });
    expect((await get(id, await keyFor('evidence'))).status).toBe(200);
    const foreign = await api.parts.engine.openEvidence({ ...CALLER, tenant: 'other' }, id, uri);
    expect(foreign).toMatchObject({ ok: false, code: 'not_found' });
  });
});

describe('without a cap, a key that has no say over money', () => {
  it('may lower the limit that a job has anyway, and not raise it, by a request or by a replay', async () => {
    const open = await openApi({ workflows: [paid] });
    const keyFor = async (scope: 'jobs' | 'spending') =>
      (await open.parts.engine.createKey(CALLER, scope, ['jobs', scope])).key;
    const [plain, trusted] = [await keyFor('jobs'), await keyFor('spending')];
    const post = (path: string, body: object, key: string) =>
      open.fetch(new Request(`http://claimcheck.test${path}`, withKey({ json: body }, key)));
    const handIn = (usd: number, key: string) =>
      post('/ai-jobs', { workflow: 'paid', limits: { spending_usd: usd } }, key);
    expect((await handIn(0.2, plain)).status).toBe(202);
    expect(await problemOf(await handIn(0.3, plain))).toMatchObject({
      status: 403,
      code: 'forbidden',
      errors: [{ path: '/limits/spending_usd' }],
    });
    expect((await handIn(0.3, trusted)).status).toBe(202);

    const attempt = await claimNext(open.parts);
    await attempt.fail({ code: 'spending_limit', rule: LIMIT_RULES.job });
    const replay = (usd: number, key: string) =>
      post(`/ai-jobs/${attempt.job.jobId}/replay`, { reason: 'x', limits: { spending_usd: usd } }, key);
    expect(await problemOf(await replay(5, plain))).toMatchObject({ status: 403, code: 'forbidden' });
    expect((await replay(5, trusted)).status).toBe(202);
    await open.close();
  });
});

describe('/spending', () => {
  const accounts = async () => {
    const body = (await (await api.ask('/spending')).json()) as { accounts: Json[] };
    expect(Spending.parse(body)).toEqual(body);
    return body.accounts;
  };
  const put = (json: object) => api.ask('/spending/limits', { method: 'PUT', json });

  it('has today’s accounts with the limits of settings, workflows and persons', async () => {
    const today = new Date().toISOString().slice(0, 10);
    const [day, ...workflows] = await accounts();
    expect(day).toMatchObject({
      scope: 'day',
      name: today,
      limit_usd: 500,
      limit_from: 'settings',
      set_by: null,
    });
    expect(workflows).toMatchObject([
      { scope: 'workflow', name: 'paid', limit_usd: 100, limit_from: 'workflow' },
    ]);
    const set = await put({ scope: 'workflow', name: 'paid', usd: 0.5, reason: 'too much' });
    expect(set.status).toBe(200);
    expect(await set.json()).toMatchObject({ name: 'paid', limit_usd: 0.5, limit_from: 'person' });
    const lifted = await put({ scope: 'day', usd: null, reason: 'no matter' });
    expect(await lifted.json()).toMatchObject({ limit_usd: null, limit_from: 'person' });
    expect(await accounts()).toMatchObject([
      { scope: 'day', limit_usd: null, set_by: { actor: 'key:bootstrap', reason: 'no matter' } },
      { scope: 'workflow', limit_usd: 0.5, set_by: { reason: 'too much' } },
    ]);
    const line = api.log.find(({ message }) => message === 'a spending limit was set');
    expect(line?.fields).toMatchObject({ audit: true, key: 'key:bootstrap', workflow: 'paid', usd: 0.5 });
  });

  it('a limit that is set holds for the next call', async () => {
    await put({ scope: 'workflow', name: 'paid', usd: 0, reason: 'stop' });
    await api.enqueue({ workflow: 'paid' });
    const attempt = await claimNext(api.parts);
    expect(await attempt.begin(1)).toBeNull();
    await put({ scope: 'workflow', name: 'paid', usd: 1_000, reason: 'go on' });
    expect(await attempt.begin(1)).toBe(1);
    await attempt.complete();
  });

  it('refuses a limit of nothing, naming the place', async () => {
    const before = JSON.stringify(await accounts());
    const wrong: [object, string][] = [
      [{ scope: 'workflow', name: 'piad', usd: 1, reason: 'x' }, '/name'],
      [{ scope: 'workflow', usd: 1, reason: 'x' }, '/name'],
      [{ scope: 'day', name: 'paid', usd: 1, reason: 'x' }, '/name'],
      [{ scope: 'job', name: 'job_1', usd: 1, reason: 'x' }, '/scope'],
      [{ scope: 'day', usd: -1, reason: 'x' }, '/usd'],
      [{ scope: 'day', reason: 'x' }, '/usd'],
      [{ scope: 'day', usd: 1 }, '/reason'],
    ];
    for (const [body, path] of wrong) {
      expect(await problemOf(await put(body))).toMatchObject({ status: 400, errors: [{ path }] });
    }
    expect(JSON.stringify(await accounts())).toBe(before);
  });
});
