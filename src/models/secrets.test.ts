/** What of an error of the SDK may leave it: names, numbers and the ids of requests, and nothing that anybody said. */
import { APICallError, JSONParseError, NoSuchModelError } from '@ai-sdk/provider';
import { RetryError } from 'ai';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Seen } from '../domain/model-outcome.ts';
import { factsOfError, rateLimitsOf, requestIdOf, seenOfStreamError, seenOfThrown } from './seen.ts';

const NOW = Date.parse('2026-11-30T12:00:00Z');
const QUIET = new AbortController().signal;

const SECRET = 'sk-proj-Abc123TOPSECRET';
const PROMPT = 'the patient John Doe';

function seen(error: unknown): Seen {
  return seenOfThrown(error, QUIET, NOW);
}

interface CallFields {
  status?: number;
  headers?: Record<string, string>;
  body?: unknown;
  data?: unknown;
  cause?: unknown;
}

function callError({ status, headers, body, data, cause }: CallFields): APICallError {
  return new APICallError({
    message: `Incorrect key ${SECRET} for ${PROMPT}`,
    url: `https://api.example/v1?key=${SECRET}`,
    requestBodyValues: { prompt: PROMPT },
    responseHeaders: { 'set-cookie': `session=${SECRET}`, authorization: `Bearer ${SECRET}`, ...headers },
    ...(status === undefined ? {} : { statusCode: status }),
    ...(body === undefined ? {} : { responseBody: body as string }),
    data,
    cause,
  });
}

describe('headers', () => {
  test('give the id of the request, where it looks like one', () => {
    expect(requestIdOf({ 'x-request-id': 'req_123', authorization: SECRET })).toBe('req_123');
    expect(requestIdOf({ 'request-id': 'req_011CS' })).toBe('req_011CS');
    expect(requestIdOf({ 'x-request-id': 'a sentence, of somebody' })).toBeNull();
    expect(requestIdOf(undefined)).toBeNull();
    const ids = [
      '5f3c9a1e-7d42-4c11-9b1a-0123456789ab',
      '8f1e2d3c4b5a6789-FRA',
      '0123456789abcdef0123456789abcdef',
    ];
    for (const id of ids) expect(requestIdOf({ 'x-request-id': id })).toBe(id);
    const keys = [
      'sk-proj-abc',
      'sk_live_abc',
      'ck_abc_def',
      'xai-abc',
      'AIzaSyAbc',
      'Bearer:abc',
      'gsk_abc',
    ];
    for (const key of keys) expect(requestIdOf({ 'x-request-id': key })).toBeNull();
  });

  test('give the limits, as numbers, durations and instants, and nothing else', () => {
    expect(
      rateLimitsOf({
        'x-ratelimit-remaining-requests': '59',
        'x-ratelimit-reset-tokens': '6m0s',
        'anthropic-ratelimit-requests-reset': '2026-11-30T12:00:00Z',
        'x-ratelimit-limit-requests': SECRET,
        'set-cookie': '1',
      }),
    ).toEqual({
      'x-ratelimit-remaining-requests': '59',
      'x-ratelimit-reset-tokens': '6m0s',
      'anthropic-ratelimit-requests-reset': '2026-11-30T12:00:00Z',
    });
    expect(rateLimitsOf(null)).toEqual({});
  });
});

describe('no secret of an error', () => {
  /** A provider that quotes all it was given, everywhere. */
  const quoting = {
    message: `${PROMPT} ${SECRET}`,
    type: SECRET,
    code: SECRET,
    param: PROMPT,
    status: PROMPT,
  };
  const fields: CallFields[] = [
    { status: 401, data: { error: quoting } },
    { status: 400, body: JSON.stringify({ type: 'error', error: quoting }) },
    { status: 400, body: { status: 'failed', error: quoting } },
    { status: 200, body: JSON.stringify({ error: quoting }) },
    { status: 200, body: `{"${SECRET}`, cause: new JSONParseError({ text: SECRET, cause: PROMPT }) },
    { status: 429, headers: { 'retry-after': SECRET, 'x-request-id': PROMPT } },
    { cause: Object.assign(new Error(SECRET), { code: SECRET }) },
  ];
  const errors: unknown[] = [
    ...fields.map(callError),
    new RetryError({ message: SECRET, reason: 'maxRetriesExceeded', errors: fields.map(callError) }),
    new NoSuchModelError({ modelId: SECRET, modelType: 'languageModel' }),
    Object.assign(new Error(SECRET), { name: SECRET, code: SECRET }),
    quoting,
  ];

  test.each(errors.map((error, index) => [index, error] as const))('%d is told', (_, error) => {
    const told = [seen(error), seenOfStreamError(error, NOW), factsOfError(error), rateLimitsOf(error)];
    const text = JSON.stringify(told);
    for (const secret of [SECRET, PROMPT, 'John', 'TOPSECRET', 'session=', 'Bearer'])
      expect(text).not.toContain(secret);
  });

  test('is told by what a stranger makes up', () => {
    const marked = fc.record({
      [Symbol.for('vercel.ai.error')]: fc.constant(true),
      [Symbol.for('vercel.ai.error.AI_APICallError')]: fc.constant(true),
      statusCode: fc.anything(),
      responseHeaders: fc.anything(),
      responseBody: fc.anything(),
      data: fc.anything(),
      cause: fc.anything(),
    });
    fc.assert(
      fc.property(fc.oneof(marked, fc.anything()), (error) => {
        expect(typeof seen(error).type).toBe('string');
        expect(typeof seenOfStreamError(error, NOW).type).toBe('string');
        factsOfError(error);
      }),
    );
  });
});
