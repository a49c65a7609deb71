import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isErrorCode } from './failures.ts';
import type { ErrorCode } from './failures.ts';
import { RULES, SIGNAL_REASONS, TABLE_VERSION, callsBefore, judge, ruleName } from './model-outcome.ts';
import type { FinishReason, ProviderError, RuleId, Seen } from './model-outcome.ts';

const FIRST = { brokenJson: false };
const AGAIN = { brokenJson: true };

type Case = readonly [Seen, ErrorCode];

function http(status: number, changes: Partial<ProviderError> = {}): Seen {
  return { type: 'http', ...error({ status, ...changes }) };
}

function error(changes: Partial<ProviderError> = {}): ProviderError {
  return { status: null, errorType: null, errorCode: null, said: null, retryAfterMs: null, ...changes };
}

function finish(reason: FinishReason, raw: string | null = null, refused = false): Seen {
  return { type: 'finish', reason, raw, refused };
}

/** What each rule is for; the first case is its plainest. */
const CASES: Readonly<Record<RuleId, readonly Case[]>> = {
  signal_timeout: [[{ type: 'signal', reason: 'timeout' }, 'timeout']],
  signal_deadline: [[{ type: 'signal', reason: 'deadline_exceeded' }, 'deadline_exceeded']],
  signal_revoked: [[{ type: 'signal', reason: 'revoked' }, 'cancelled']],
  signal_lease_lost: [[{ type: 'signal', reason: 'lease_lost' }, 'worker_lost']],
  signal_shutdown: [[{ type: 'signal', reason: 'shutdown' }, 'worker_lost']],
  timeout: [[{ type: 'timeout' }, 'upstream_unavailable']],
  refusal: [
    [finish('content-filter', 'refusal'), 'refused'],
    [finish('content-filter', 'stop'), 'refused'],
    [finish('content-filter'), 'refused'],
    [finish('tool-calls', 'tool_calls', true), 'refused'],
    [finish('stop', 'stop', true), 'refused'],
  ],
  content_filter: [
    [finish('content-filter', 'content_filter'), 'refused'],
    [finish('content-filter', 'SAFETY'), 'refused'],
  ],
  finish_length: [[finish('length', 'max_output_tokens'), 'incomplete_output']],
  finish_malformed: [[finish('error', 'MALFORMED_FUNCTION_CALL'), 'malformed_output']],
  finish_error: [
    [finish('error', 'error'), 'upstream_unavailable'],
    [finish('other', 'insufficient_system_resource'), 'upstream_unavailable'],
  ],
  finish_unknown: [[finish('other', 'max_tool_calls'), 'incomplete_output']],
  malformed: [[{ type: 'malformed' }, 'malformed_output']],
  broken_json_again: [[{ type: 'broken_json' }, 'malformed_output']],
  quota: [
    [http(429, { errorType: 'insufficient_quota', errorCode: 'insufficient_quota' }), 'spending_limit'],
    [http(400, { errorType: 'invalid_request_error', said: 'out_of_money' }), 'spending_limit'],
    [http(402), 'spending_limit'],
    [{ type: 'stream_error', ...error({ errorCode: 'insufficient_quota' }) }, 'spending_limit'],
  ],
  context_too_long: [
    [http(400, { errorCode: 'context_length_exceeded' }), 'invalid_request'],
    [http(400, { errorType: 'invalid_request_error', said: 'too_long' }), 'invalid_request'],
    [http(413, { errorType: 'request_too_large' }), 'invalid_request'],
  ],
  never_fits: [
    [
      http(429, { errorCode: 'rate_limit_exceeded', errorType: 'tokens', said: 'never_fits' }),
      'invalid_request',
    ],
  ],
  content_policy: [
    [http(400, { errorCode: 'content_filter' }), 'refused'],
    [{ type: 'failed_body', ...error({ errorCode: 'image_content_policy_violation' }) }, 'refused'],
  ],
  unauthorized: [[http(401, { errorCode: 'invalid_api_key' }), 'invalid_request']],
  forbidden: [[http(403, { errorType: 'permission_error' }), 'invalid_request']],
  not_found: [[http(404, { errorCode: 'model_not_found' }), 'invalid_request']],
  bad_request: [
    [http(400, { errorType: 'invalid_request_error' }), 'invalid_request'],
    [http(422), 'invalid_request'],
    [http(308), 'invalid_request'],
  ],
  invalid_words: [
    [http(500, { errorType: 'invalid_request_error' }), 'invalid_request'],
    [{ type: 'failed_body', ...error({ errorCode: 'invalid_prompt' }) }, 'invalid_request'],
    [{ type: 'stream_error', ...error({ errorType: 'authentication_error' }) }, 'invalid_request'],
    [{ type: 'stream_error', ...error({ errorType: 'not_found_error' }) }, 'invalid_request'],
  ],
  unusable: [[{ type: 'unusable' }, 'invalid_request']],
  unreachable: [[{ type: 'network', faultCode: 'ENOTFOUND' }, 'invalid_request']],
  rate_limited: [
    [http(429, { errorCode: 'rate_limit_exceeded', errorType: 'requests' }), 'upstream_unavailable'],
    [http(429, { said: 'too_long' }), 'upstream_unavailable'],
    [http(400, { errorCode: 'rate_limit_exceeded' }), 'upstream_unavailable'],
    [{ type: 'failed_body', ...error({ errorCode: 'rate_limit_exceeded' }) }, 'upstream_unavailable'],
  ],
  overloaded: [
    [http(529, { errorType: 'overloaded_error' }), 'upstream_unavailable'],
    [http(503), 'upstream_unavailable'],
  ],
  request_timeout: [[http(408), 'upstream_unavailable']],
  conflict: [[http(409), 'upstream_unavailable']],
  too_early: [[http(425), 'upstream_unavailable']],
  server_error: [
    [http(500), 'upstream_unavailable'],
    [http(504), 'upstream_unavailable'],
    [http(400, { errorCode: 'server_error' }), 'upstream_unavailable'],
    [{ type: 'failed_body', ...error({ errorCode: 'server_error' }) }, 'upstream_unavailable'],
  ],
  failed_body: [[{ type: 'failed_body', ...error() }, 'upstream_unavailable']],
  stream_error: [[{ type: 'stream_error', ...error({ errorType: 'nobody_knows' }) }, 'upstream_unavailable']],
  broken_stream: [[{ type: 'broken_stream' }, 'upstream_unavailable']],
  ended_early: [[{ type: 'ended_early' }, 'upstream_unavailable']],
  broken_json: [[{ type: 'broken_json' }, 'upstream_unavailable']],
  network: [
    [{ type: 'network', faultCode: 'ECONNRESET' }, 'upstream_unavailable'],
    [{ type: 'network', faultCode: null }, 'upstream_unavailable'],
  ],
  aborted: [[{ type: 'aborted' }, 'workflow_error']],
  unknown: [
    [{ type: 'other' }, 'workflow_error'],
    [http(199), 'workflow_error'],
  ],
};

describe('each rule of the table', () => {
  const all = Object.entries(CASES).flatMap(([id, cases]) =>
    cases.map(([seen, code]) => ({ id: id as RuleId, code, seen })),
  );

  test.each(all)('$id gives $code to $seen', ({ id, code, seen }) => {
    const before = id === 'broken_json_again' ? AGAIN : FIRST;
    expect(judge(seen, before)).toMatchObject({ code, rule: ruleName(id) });
  });

  test('has a name of its own, and they stand in the order in which they are to be read', () => {
    expect(RULES.map(({ id }) => id).toSorted()).toEqual(Object.keys(CASES).toSorted());
    const groups = RULES.map(({ group }) => group).filter((group, index, list) => group !== list[index - 1]);
    expect(groups).toEqual(['signal', 'timeout', 'finish', 'malformed', 'permanent', 'transient', 'rest']);
  });

  test('has its line in docs/outcomes.md, with its code, in the order of the table', () => {
    const page = readFileSync(new URL('../../docs/outcomes.md', import.meta.url), 'utf8');
    const rows = Array.from(page.matchAll(/^\| (`[^|]*) \| (`[^|]*) \|/gm));
    const told = rows.flatMap(([, rules, codes]) => {
      const [ids = [], given = []] = [rules, codes].map((cell) => cell?.match(/\w+/g) ?? []);
      return ids.map((id, index) => `${id} ${given[index] ?? given[0]}`);
    });
    expect(told).toEqual(RULES.map(({ id, code }) => `${id} ${code}`));
  });

  test('is named with the version of its table', () => {
    expect(ruleName('quota')).toBe(`models-v${TABLE_VERSION}/quota`);
  });
});

describe('what succeeded', () => {
  test.each([
    finish('stop', 'stop'),
    finish('stop', null),
    finish('tool-calls', 'tool_use'),
    finish('other', null),
    finish('other', 'eos_token'),
    finish('other', 'compaction'),
  ])('is %o', (seen) => expect(judge(seen, FIRST)).toBeNull());
});

describe('the order', () => {
  test('a guard of our own comes first, word for word', () => {
    const judgement = { code: 'spending_limit', rule: 'money/no_price' } as const;
    expect(judge({ type: 'guard', judgement }, FIRST)).toBe(judgement);
  });

  test('an unreadable answer is met once in the life of a job, whichever version of the table said so', () => {
    expect(callsBefore([null, undefined, 'models-v1/rate_limited', 'money/no_price'])).toEqual(FIRST);
    expect(callsBefore([null, ruleName('broken_json')])).toEqual(AGAIN);
    expect(callsBefore(['models-v9/broken_json'])).toEqual(AGAIN);
    expect(callsBefore(['models-v1/broken_json_again'])).toEqual(AGAIN);
  });
});

describe('a wait', () => {
  test('goes with what passes by itself', () => {
    expect(judge(http(429, { retryAfterMs: 864_000_000 }), FIRST)?.retryAfterMs).toBe(864_000_000);
    expect(judge(http(529, { retryAfterMs: 20 }), FIRST)?.retryAfterMs).toBe(20);
  });

  test.each([
    http(400, { retryAfterMs: 20 }),
    http(429, { errorCode: 'insufficient_quota', retryAfterMs: 20 }),
  ])('does not go with %o', (seen) => expect(judge(seen, FIRST)).not.toHaveProperty('retryAfterMs'));

  test('of nothing is none', () => {
    expect(judge(http(429, { retryAfterMs: 0 }), FIRST)).not.toHaveProperty('retryAfterMs');
  });
});

describe('whatever was seen', () => {
  const word = fc.oneof(
    fc.constant(null),
    fc.string({ maxLength: 12 }),
    fc.constantFrom('insufficient_quota', 'server_error', 'toString', '__proto__'),
  );
  const providerError = {
    status: fc.oneof(fc.constant(null), fc.integer({ min: 100, max: 599 })),
    errorType: word,
    errorCode: word,
    said: fc.constantFrom(null, 'out_of_money' as const, 'too_long' as const, 'never_fits' as const),
    retryAfterMs: fc.oneof(fc.constant(null), fc.nat()),
  };
  const types = ['timeout', 'aborted', 'malformed', 'broken_stream', 'ended_early', 'broken_json'] as const;
  const seen: fc.Arbitrary<Seen> = fc.oneof(
    fc.record({ type: fc.constantFrom('http', 'failed_body', 'stream_error'), ...providerError }),
    fc.record({
      type: fc.constant('finish' as const),
      reason: fc.constantFrom('stop', 'length', 'content-filter', 'tool-calls', 'error', 'other'),
      raw: word,
      refused: fc.boolean(),
    }),
    fc.record({ type: fc.constant('signal' as const), reason: fc.constantFrom(...SIGNAL_REASONS) }),
    fc.record({ type: fc.constant('network' as const), faultCode: word }),
    fc.record({ type: fc.constantFrom(...types, 'unusable' as const, 'other' as const) }),
  );

  test('has one meaning: a success told by its end, or a code with its rule', () => {
    fc.assert(
      fc.property(seen, fc.boolean(), (what, brokenJson) => {
        const judgement = judge(what, { brokenJson });
        if (judgement === null) {
          expect(what).toMatchObject({ type: 'finish', refused: false });
          return;
        }
        expect(isErrorCode(judgement.code)).toBe(true);
        expect(judgement.rule).toMatch(/^models-v\d+\/[a-z_]+$/);
        expect(judge(what, { brokenJson })).toEqual(judgement);
      }),
      { numRuns: 2000 },
    );
  });

  test('a refusal is no success, and neither is an answer that was cut', () => {
    fc.assert(
      fc.property(seen, (what) => {
        const bad =
          what.type === 'finish' &&
          (what.refused || ['content-filter', 'length', 'error'].includes(what.reason));
        if (bad) expect(judge(what, FIRST)).not.toBeNull();
      }),
      { numRuns: 1000 },
    );
  });
});
