import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isErrorCode } from './failures.ts';
import {
  boundedIssues,
  classify,
  IncompleteOutputError,
  InvalidInputError,
  InvalidRequestError,
  MalformedOutputError,
  OutputTooLargeError,
  readThrown,
  RefusedError,
  RetryableError,
  SpendingLimitError,
} from './thrown.ts';
import { bounded } from './untrusted.ts';

const BRAND = Symbol.for('claimcheck.error');

describe('what a workflow throws to say how it failed', () => {
  test.each([
    [new RetryableError('x'), 'upstream_unavailable'],
    [new MalformedOutputError('x'), 'malformed_output'],
    [new IncompleteOutputError('x'), 'incomplete_output'],
    [new RefusedError('x'), 'refused'],
    [new InvalidRequestError('x'), 'invalid_request'],
    [new SpendingLimitError('x'), 'spending_limit'],
    [new InvalidInputError('x'), 'invalid_input'],
    [new OutputTooLargeError('x'), 'output_too_large'],
  ])('%s is %s', (error, code) => {
    expect(classify(error)).toMatchObject({ code, text: expect.stringContaining('x') });
  });

  test('carries what goes with it: the wait, the issues, the raw output', () => {
    expect(classify(new RetryableError('x', { retryAfterMs: 5 })).retryAfterMs).toBe(5);
    const issues = [{ path: '/a', message: 'expected string' }];
    expect(classify(new MalformedOutputError('x', { raw: '{', issues }))).toMatchObject({ raw: '{', issues });
    expect(classify(new IncompleteOutputError('x', { raw: '{"a' })).raw).toBe('{"a');
    expect(classify(new RefusedError('x', { rule: 'models-v1/refusal' })).rule).toBe('models-v1/refusal');
  });

  test('is transient where a fetch ran into an AbortSignal.timeout', () => {
    expect(classify(new DOMException('timed out', 'TimeoutError')).code).toBe('upstream_unavailable');
    expect(classify(new Error('fetch', { cause: new DOMException('x', 'TimeoutError') })).code).toBe(
      'upstream_unavailable',
    );
    expect(classify(new DOMException('aborted', 'AbortError')).code).toBe('workflow_error');
  });

  test.each(['Sentences, with words', '', 'x'.repeat(101), 7, null])('has no rule %s', (rule) => {
    expect(classify({ [BRAND]: true, code: 'refused', rule })).not.toHaveProperty('rule');
  });

  test('only says an invalid input in its own words', () => {
    expect(classify(new InvalidInputError('The PDF is encrypted.')).message).toBe('The PDF is encrypted.');
    expect(classify(new RefusedError('secret of a provider')).message).toBeUndefined();
  });

  test('is known from another copy of the package', () => {
    class ForeignRefusedError extends Error {
      readonly code = 'refused';
      readonly [BRAND] = true;
    }
    expect(classify(new ForeignRefusedError('x')).code).toBe('refused');
  });

  test.each([Number.NaN, -1, 0, '5', null])('waits for no Retry-After of %s', (retryAfterMs) => {
    expect(
      classify({ [BRAND]: true, code: 'upstream_unavailable', retryAfterMs }).retryAfterMs,
    ).toBeUndefined();
  });

  test.each([
    'worker_lost',
    'cancelled',
    'deadline_exceeded',
    'timeout',
    'nonsense',
    'toString',
    7,
    undefined,
  ])('is a defect where it claims the code %s, which only the queue gives or nobody', (code) => {
    expect(classify({ [BRAND]: true, code }).code).toBe('workflow_error');
  });
});

describe('what else is thrown', () => {
  test.each(['ECONNRESET', 'ETIMEDOUT', 'EAI_AGAIN', 'UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_SOCKET'])(
    '%s passes by itself, at the top, as a cause or in an aggregate',
    (code) => {
      const system = Object.assign(new Error('x'), { code });
      const wrapped = new TypeError('fetch failed', { cause: system });
      for (const error of [
        system,
        wrapped,
        new AggregateError([new Error('y'), system]),
        new Error('z', { cause: wrapped }),
      ]) {
        expect(classify(error).code).toBe('upstream_unavailable');
      }
    },
  );

  test('a real connection that nobody accepts passes by itself', async () => {
    const error: unknown = await fetch('http://127.0.0.1:1').catch((reason: unknown) => reason);
    // Port 1 is on fetch's own list of bad ports in some versions; a refused connection is what is meant.
    const refused = String((error as Error).cause).includes('bad port');
    expect(classify(error).code).toBe(refused ? 'workflow_error' : 'upstream_unavailable');
  });

  test('is told with its causes, each once, five levels deep at most', () => {
    const socket = Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' });
    const { text } = classify(new TypeError('fetch failed', { cause: socket }));
    expect(text).toMatch(/^TypeError: fetch failed\n[^]*\ncaused by: Error: other side closed\n/);
    expect(text.split('caused by: ')).toHaveLength(2);
    const circle = new Error('round');
    circle.cause = circle;
    expect(classify(circle).text).not.toContain('caused by');
    let deep = new Error('level 0');
    for (let level = 1; level < 9; level += 1) deep = new Error(`level ${level}`, { cause: deep });
    expect(classify(deep).text.split('caused by: ')).toHaveLength(5);
    expect(classify(new Error('x', { cause: 'plain text' })).text).toMatch(/\ncaused by: plain text$/);
  });

  test.each([
    new Error('x'),
    new TypeError('undefined is not a function'),
    'text',
    5,
    null,
    undefined,
    Symbol('s'),
    5n,
    {},
  ])('%s is a defect of the workflow', (thrown) => {
    const found = classify(thrown);
    expect(found.code).toBe('workflow_error');
    expect(found.text).not.toBe('');
  });
});

describe('whatever was thrown', () => {
  const throwing = () => {
    throw new Error('trap');
  };
  const circle = new Error('circle');
  circle.cause = new AggregateError([circle, circle], 'more', { cause: circle });
  const { proxy: revoked, revoke } = Proxy.revocable({}, {});
  revoke();
  const { proxy: revokedList, revoke: revokeList } = Proxy.revocable([], {});
  revokeList();

  test.each([
    ['a revoked proxy', revoked],
    [
      'a proxy whose every trap throws',
      new Proxy({}, { get: throwing, has: throwing, getPrototypeOf: throwing }),
    ],
    ['a proxy that says yes to all', new Proxy({}, { get: () => true })],
    ['a proxy that makes up causes for ever', endless()],
    [
      'getters that throw',
      Object.defineProperties(
        {},
        { stack: { get: throwing }, cause: { get: throwing }, code: { get: throwing } },
      ),
    ],
    ['a toString that throws', { toString: throwing }],
    ['circular causes', circle],
    [
      'a branded error whose message cannot be shown',
      { [BRAND]: true, code: 'invalid_input', message: { toString: throwing } },
    ],
    [
      'a branded error whose issues are hostile',
      { [BRAND]: true, code: 'malformed_output', issues: [revoked, { path: { toString: throwing } }, null] },
    ],
    [
      'a branded error whose issues are a revoked list',
      { [BRAND]: true, code: 'malformed_output', issues: revokedList },
    ],
    ['an aggregate of a revoked list', { errors: revokedList }],
    ['a huge message', new Error('x'.repeat(10_000_000))],
    ['U+0000 and lone surrogates', new Error('\u0000 \ud800 \udc00')],
  ])('%s becomes a bounded failure that can be stored', (_, thrown) => {
    const found = classify(thrown);
    expect(isErrorCode(found.code)).toBe(true);
    for (const text of [
      found.text,
      found.message ?? 'none',
      ...(found.issues ?? []).flatMap((issue) => [issue.path, issue.message]),
    ]) {
      expect(text.length).toBeLessThanOrEqual(20_000);
      expect(text.isWellFormed()).toBe(true);
      expect(text).not.toContain('\u0000');
    }
  });

  test('is classified in the blink of an eye, however it refers to itself', () => {
    const knot: Error & { errors?: unknown[] } = new Error('knot');
    knot.errors = Array.from({ length: 10 }, () => new Error('strand', { cause: knot }));
    const before = performance.now();
    classify(knot);
    classify(endless());
    expect(performance.now() - before).toBeLessThan(500);
  });

  test('never makes classify throw', () => {
    fc.assert(
      fc.property(
        fc.anything({ withNullPrototype: true, withObjectString: true }),
        fc.boolean(),
        fc.anything(),
        (value, branded, more) => {
          const thrown =
            branded && typeof value === 'object' && value !== null
              ? { ...value, [BRAND]: true, code: 'malformed_output', issues: more }
              : value;
          expect(isErrorCode(classify(thrown).code)).toBe(true);
        },
      ),
      { numRuns: 500 },
    );
  });

  function endless(): unknown {
    return new Proxy(
      {},
      {
        get: (_, key) =>
          key === 'errors' ? Array.from({ length: 10 }, endless) : key === 'cause' ? endless() : undefined,
      },
    );
  }
});

describe('what another process says was thrown', () => {
  test('is read back as it was told', () => {
    const told = classify(
      new MalformedOutputError('x', { raw: { a: 1 }, issues: [{ path: '/a', message: 'no' }] }),
    );
    expect(readThrown(structuredClone(told))).toEqual(told);
    expect(readThrown({ code: 'malformed_output', text: '' }).text).toBe('');
  });

  test.each(['timeout', 'worker_lost', 'deadline_exceeded', 'cancelled', 'nonsense', 7])(
    'is an error of the function where it names %s',
    (code) => expect(readThrown({ code, text: 'x' })).toEqual({ code: 'workflow_error', text: 'x' }),
  );

  test('may be anything', () => {
    fc.assert(fc.property(fc.anything(), (said) => isErrorCode(readThrown(said).code)));
    const { text, message } = readThrown({
      code: 'invalid_input',
      text: 'x'.repeat(1e5),
      message: 'y'.repeat(1e4),
    });
    expect([text.length, message?.length]).toEqual([20_000, 500]);
  });
});

test('bounded cuts at its limit, leaves text well formed and keeps only tab and line feed of the control characters', () => {
  expect(bounded('abcdef', 4)).toBe('abc…');
  expect(bounded('abcd', 4)).toBe('abcd');
  expect(bounded('a😀b', 3).isWellFormed()).toBe(true);
  expect(bounded('\t\n\r\u001b[31m\u009b\u007f', 99)).toBe('\t\n\ufffd\ufffd[31m\ufffd\ufffd');
});

test('boundedIssues keeps at most fifty issues of bounded text', () => {
  const issues = boundedIssues(Array.from({ length: 60 }, () => ({ path: 'p'.repeat(600), message: 7 })));
  expect(issues).toHaveLength(50);
  expect(issues[0]).toEqual({ path: `${'p'.repeat(499)}…`, message: '7' });
});
