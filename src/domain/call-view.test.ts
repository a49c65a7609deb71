/** Calls and money in the record, key by key, and in its answers. */
import { describe, expect, test } from 'vitest';
import { accepted, command } from '../testkit/machine.ts';
import { answersOf } from './answers.ts';
import { callJson } from './call-view.ts';
import type { Command } from './decide.ts';
import type { ModelCall } from './model-call.ts';
import { LIMIT_RULES, NO_PRICE } from './money-rules.ts';
import type { Job } from './record.ts';
import { recordJson } from './view.ts';

const CENT = 10_000_000;

function call(change: Partial<ModelCall> = {}): ModelCall {
  return {
    n: 1,
    attempt: 1,
    token: 1,
    place: 1,
    provider: 'openai',
    account: 'default',
    requestedModel: 'gpt-5',
    promptSha256: 'a'.repeat(64),
    schemaSha256: null,
    requestSha256: 'b'.repeat(64),
    parameters: { temperature: 0, stopSequences: 2, tools: ['find'] },
    sdk: 'ai@6.0.325',
    streamed: false,
    repair: false,
    startedAt: 10,
    reserved: 5 * CENT,
    end: {
      servedModel: 'gpt-5-2026-01-01',
      finishReason: 'stop',
      requestId: 'req_1',
      usage: { input: 10, cachedInput: 0, cacheWrite: null, output: 20, reasoning: 5 },
      latencyMs: 120,
      code: null,
      rule: null,
      httpStatus: 200,
      endedAt: 130,
    },
    billing: 'settled',
    cost: 2 * CENT,
    response: { uri: 'evidence/job_1/1/call-1.json', sha256: 'c'.repeat(64), bytes: 9 },
    reusedFrom: null,
    settledBy: null,
    ...change,
  };
}

const doubtful = (n: number) => call({ n, end: null, billing: 'unknown', cost: null, response: null });

function job(change: Partial<Job>, ...orders: [at: number, order: Command][]): Job {
  const machine = accepted({}, 0);
  if (Array.isArray(machine)) throw new Error('not accepted');
  for (const [at, order] of [[10, { type: 'claim', worker: 'w1' }] as [number, Command], ...orders]) {
    command(machine, order, at);
  }
  return { ...machine.job, ...change };
}

function stopped(rule: string, change: Partial<Job> = {}): Job {
  const failure = { code: 'spending_limit' as const, elapsedMs: 3, rule };
  return job(change, [13, { type: 'fail', jitter: 0, failure }]);
}

describe('a call in the record', () => {
  test('has these keys and values', () => {
    expect(callJson(call())).toEqual({
      n: 1,
      attempt: 1,
      provider: 'openai',
      account: 'default',
      requested_model: 'gpt-5',
      served_model: 'gpt-5-2026-01-01',
      served_another: true,
      prompt_sha256: 'a'.repeat(64),
      schema_sha256: null,
      request_sha256: 'b'.repeat(64),
      parameters: { temperature: 0, stopSequences: 2, tools: ['find'] },
      sdk: 'ai@6.0.325',
      streamed: false,
      repair: false,
      started_at: '1970-01-01T00:00:00.010Z',
      latency_ms: 120,
      finish_reason: 'stop',
      request_id: 'req_1',
      http_status: 200,
      usage: { input: 10, cached_input: 0, cache_write: null, output: 20, reasoning: 5 },
      reserved_usd: 0.05,
      cost_usd: 0.02,
      billing: 'settled',
      code: null,
      rule: null,
      response: { uri: 'evidence/job_1/1/call-1.json', sha256: 'c'.repeat(64), bytes: 9 },
      reused_from: null,
      settled_by: null,
    });
  });

  test('says where its buckets do not tell all that counts', () => {
    const end = call().end!;
    const usage = { ...end.usage!, unpriced: true as const };
    expect(callJson(call({ end: { ...end, usage } })).usage).toMatchObject({ input: 10, unpriced: true });
  });

  test('that never ended has the same keys, and null for what nobody knows', () => {
    const shown = callJson(doubtful(1));
    expect(Object.keys(shown)).toEqual(Object.keys(callJson(call())));
    expect(shown).toMatchObject({ served_model: null, served_another: false, usage: null, latency_ms: null });
    expect(shown).toMatchObject({ cost_usd: null, billing: 'unknown', reserved_usd: 0.05 });
  });

  test('names who settled it', () => {
    const settledBy = { actor: 'key:1', reason: 'the invoice says so', at: 500 };
    expect(callJson(call({ settledBy })).settled_by).toEqual({
      actor: 'key:1',
      reason: 'the invoice says so',
      at: '1970-01-01T00:00:00.500Z',
    });
  });
});

describe('the keys of money', () => {
  test('are not there where there are no calls and no limit', () => {
    const record = recordJson(job({}));
    expect(record).not.toHaveProperty('calls');
    expect(record).not.toHaveProperty('spending');
    expect(record.limits).not.toHaveProperty('spending_usd');
  });

  test('are there with calls, and with a limit alone', () => {
    const spending = { limit: null, spent: 2 * CENT, reserved: 5 * CENT };
    const made = recordJson(job({ calls: [call(), doubtful(2)], spending }));
    expect(made.calls?.map(({ n }) => n)).toEqual([1, 2]);
    expect(made.spending).toEqual({ limit_usd: null, spent_usd: 0.02, reserved_usd: 0.05 });
    const limited = recordJson(job({ spending: { limit: 25 * CENT, spent: 0, reserved: 0 } }));
    expect(limited).not.toHaveProperty('calls');
    expect(limited.spending).toEqual({ limit_usd: 0.25, spent_usd: 0, reserved_usd: 0 });
    expect(limited.limits.spending_usd).toBe(0.25);
  });
});

describe('the answers', () => {
  test('say what was spent, what is held in doubt, and to settle it', () => {
    const calls = [call(), call({ n: 2, reusedFrom: 1, cost: 0, billing: 'none' }), doubtful(3), doubtful(4)];
    const spending = { limit: 25 * CENT, spent: 2 * CENT, reserved: 10 * CENT };
    const { tried, decision } = answersOf(job({ calls, spending }));
    expect(tried).toBe(
      '1 attempt: attempt 1 is under way. Its 4 calls to models (1 answered by stored responses) cost $0.02, ' +
        'of at most $0.25. What the calls 3, 4 cost is not known: $0.10 are held for it.',
    );
    expect(decision).toBe(
      'None: the queue goes on by itself. Find out what the calls 3, 4 cost and settle it: until then $0.10 count as spent.',
    );
  });

  test('count what is under way as held, not as a doubt', () => {
    const open = call({ end: null, billing: null, cost: null, response: null });
    const { tried, decision } = answersOf(job({ calls: [open] }));
    expect(tried).toBe(
      '1 attempt: attempt 1 is under way. Its call to models cost $0.00, and $0.05 are held for 1 under way.',
    );
    expect(decision).toBe('None: the queue goes on by itself.');
  });

  test('name the limit that stopped a job, and the way on', () => {
    const spending = { limit: 25 * CENT, spent: 24 * CENT, reserved: 0 };
    expect(answersOf(stopped(LIMIT_RULES.job, { spending })).decision).toBe(
      "The job's own limit, $0.25, has no room for the next call: $0.24 are spent and $0.00 held. Raise the limit, or mend what else stopped it, and replay it; or give it up? " +
        '(decision dec_1_1)',
    );
    const said = (rule: string) => answersOf(stopped(rule)).decision;
    expect(said(LIMIT_RULES.workflow)).toMatch(
      /^What demo may cost in a day has no room for the next call\. Raise the limit/,
    );
    expect(said(LIMIT_RULES.day)).toMatch(
      /^What all workflows together may cost in a day has no room for the next call\. Raise/,
    );
    expect(said(NO_PRICE)).toMatch(/^There is no price for the model: put one into the price file/);
    expect(said('models-v1/quota')).toMatch(
      /^It was the provider's account that was out, not a limit here\./,
    );
    expect(said('something else')).toMatch(/^Raise the limit, or mend/);
  });
});
