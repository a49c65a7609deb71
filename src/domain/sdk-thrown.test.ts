/** What a function throws of the AI SDK's errors: with models that it did not take from its context, and with what it makes of answers. */
import { APICallError, JSONParseError, TypeValidationError } from '@ai-sdk/provider';
import {
  InvalidToolInputError,
  NoObjectGeneratedError,
  NoOutputGeneratedError,
  RetryError,
  ToolCallRepairError,
} from 'ai';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { InvalidInputError, RefusedError, RetryableError, classify, readThrown } from './thrown.ts';

const SECRET = 'sk-proj-TOPSECRET';
const PROMPT = 'the patient John Doe';

const SCHEMA = z.object({ lines: z.array(z.object({ 'a/b': z.number() })), total: z.number() });

function zodError(value: unknown): unknown {
  return SCHEMA.safeParse(value).error;
}

function noObject(fields: {
  text?: string;
  cause?: Error;
  finishReason?: 'stop' | 'length' | 'content-filter';
}) {
  const response = { id: 'r', timestamp: new Date(0), modelId: 'm' };
  const usage = {} as never;
  return new NoObjectGeneratedError({ finishReason: 'stop', ...fields, response, usage });
}

function callError(status: number, headers: Record<string, string> = {}, cause?: unknown): APICallError {
  return new APICallError({
    message: `\n    at ${SECRET} for ${PROMPT}`,
    url: `https://api.example?key=${SECRET}`,
    requestBodyValues: { prompt: PROMPT },
    statusCode: status,
    responseHeaders: headers,
    responseBody: PROMPT,
    cause,
  });
}

describe('output that is not what was asked for', () => {
  const text = '{"lines":[{"a/b":"7"}]}';
  const value: unknown = JSON.parse(text);
  const issues = [
    { path: '/lines/0/a~1b', message: 'Invalid input: expected number, received string' },
    { path: '/total', message: 'Invalid input: expected number, received undefined' },
  ];

  test('leaves its text and the issues of its validator', () => {
    const cause = new TypeValidationError({ value, cause: zodError(value) });
    const found = classify(noObject({ text, cause }));
    expect(found).toMatchObject({ code: 'malformed_output', rule: 'models-v1/malformed', raw: text, issues });
  });

  test('leaves the value, where there is no text', () => {
    const bare = new TypeValidationError({ value, cause: zodError(value) });
    expect(classify(bare)).toMatchObject({ code: 'malformed_output', raw: value, issues });
    const wrapped = new Error('the invoice is odd', { cause: bare });
    expect(classify(wrapped)).toMatchObject({ code: 'malformed_output', raw: value, issues });
  });

  test('is told by a bare list of issues as by an error that has them', () => {
    const standard = [{ message: 'no', path: [{ key: 'lines' }, 0] }, { message: 'odd' }];
    expect(classify(new TypeValidationError({ value, cause: standard })).issues).toEqual([
      { path: '/lines/0', message: 'no' },
      { path: '', message: 'odd' },
    ]);
  });

  test('that is no JSON says so, and nothing of what it is', () => {
    const cause = new JSONParseError({ text: '{"lines', cause: new SyntaxError(PROMPT) });
    for (const error of [noObject({ text: '{"lines', cause }), cause]) {
      const found = classify(error);
      expect(found).toMatchObject({ code: 'malformed_output', raw: '{"lines' });
      expect(found.issues).toEqual([{ path: '', message: 'is not JSON' }]);
    }
  });

  test('may be the input of a tool', () => {
    const original = new InvalidToolInputError({
      toolName: 'x',
      toolInput: text,
      cause: new TypeValidationError({ value, cause: zodError(value) }),
    });
    expect(classify(original)).toMatchObject({ code: 'malformed_output', raw: text, issues });
    const repair = new ToolCallRepairError({ cause: original, originalError: original });
    expect(classify(repair)).toMatchObject({ code: 'malformed_output', raw: text, issues });
  });

  test('may not be there at all', () => {
    expect(classify(new NoOutputGeneratedError())).toMatchObject({ code: 'malformed_output' });
  });

  test('is incomplete where the model was cut, and refused where it was filtered, whatever it is', () => {
    const cause = new TypeValidationError({ value, cause: zodError(value) });
    expect(classify(noObject({ text, cause, finishReason: 'length' }))).toMatchObject({
      code: 'incomplete_output',
      rule: 'models-v1/finish_length',
      raw: text,
    });
    expect(classify(noObject({ text: 'no', finishReason: 'content-filter' }))).toMatchObject({
      code: 'refused',
    });
  });
});

describe('a call of a model that is not of the context', () => {
  test('is judged by the same table, with its wait', () => {
    expect(classify(callError(429, { 'retry-after': '7' }))).toMatchObject({
      code: 'upstream_unavailable',
      rule: 'models-v1/rate_limited',
      retryAfterMs: 7000,
    });
    const headers = { 'retry-after': 'Mon, 30 Nov 2026 12:00:30 GMT', date: 'Mon, 30 Nov 2026 12:00:00 GMT' };
    expect(classify(callError(429, headers)).retryAfterMs).toBe(30_000);
    expect(classify(callError(401)).code).toBe('invalid_request');
  });

  test('is judged by the last try', () => {
    const errors = [callError(401), callError(503)];
    const retry = new RetryError({ message: 'x', reason: 'maxRetriesExceeded', errors });
    expect(classify(retry)).toMatchObject({ code: 'upstream_unavailable', rule: 'models-v1/overloaded' });
  });

  test('that was reset passes by itself, as ever', () => {
    const reset = Object.assign(new Error('x'), { code: 'ECONNRESET' });
    expect(classify(callError(200, {}, reset))).toMatchObject({ rule: 'models-v1/broken_stream' });
  });

  test('is what it was though the function wraps it', () => {
    const error = new Error('no summary', { cause: callError(429, { 'retry-after': '7' }) });
    expect(classify(error)).toMatchObject({ code: 'upstream_unavailable', retryAfterMs: 7000 });
  });
});

describe('an error of ours', () => {
  const ours = new RetryableError('later', { retryAfterMs: 5, rule: 'models-v1/overloaded' });
  const said = { code: 'upstream_unavailable', rule: 'models-v1/overloaded', retryAfterMs: 5 };

  test.each([
    ['the SDK', new RetryError({ message: 'x', reason: 'errorNotRetryable', errors: [ours] })],
    ['a stream of the SDK’s', new NoOutputGeneratedError({ cause: ours })],
    ['the function', new Error('no summary', { cause: ours })],
  ])('is what it says though %s wraps it', (_, error) => expect(classify(error)).toMatchObject(said));

  test('says more than what it wraps', () => {
    expect(classify(new RefusedError('no', { cause: callError(429) }))).toMatchObject({ code: 'refused' });
    const shown = new InvalidInputError('Send another.', { cause: callError(429) });
    expect(classify(shown)).toMatchObject({ code: 'invalid_input', message: 'Send another.' });
  });

  test('has its rule read back from another process', () => {
    expect(readThrown(structuredClone(classify(ours)))).toMatchObject(said);
  });
});

describe('the text that is kept of an error of the SDK', () => {
  const parse = new JSONParseError({ text: SECRET, cause: new SyntaxError(`Unexpected token ${SECRET}`) });
  const system = Object.assign(new Error(`connect ${SECRET}`), { code: 'ECONNREFUSED' });

  test.each([
    ['itself', callError(401)],
    ['its causes', callError(200, {}, parse)],
    ['the system’s', callError(200, {}, system)],
    ['its wrapper', new RetryError({ message: SECRET, reason: 'abort', errors: [callError(500)] })],
    ['a function’s', new Error('no summary', { cause: callError(401) })],
    [
      'the model’s',
      noObject({ text: PROMPT, cause: new TypeValidationError({ value: PROMPT, cause: PROMPT }) }),
    ],
  ])('quotes nobody: %s', (_, error) => {
    const { text } = classify(error);
    for (const secret of [SECRET, 'TOPSECRET', PROMPT, 'John']) expect(text).not.toContain(secret);
    expect(text).toMatch(/AI_\w+Error/);
  });

  test('says what it is, and where it was thrown', () => {
    const { text } = classify(callError(503, {}, system));
    expect(text).toMatch(/^AI_APICallError, HTTP 503\n +at [^]*\ncaused by: Error, ECONNREFUSED\n +at /);
    expect(text).toContain('sdk-thrown.test.ts');
  });

  test('is the function’s own down to there', () => {
    expect(classify(new Error('no summary', { cause: callError(503) })).text).toMatch(/^Error: no summary\n/);
  });
});
