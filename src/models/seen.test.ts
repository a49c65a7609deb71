import {
  APICallError,
  EmptyResponseBodyError,
  InvalidArgumentError,
  InvalidPromptError,
  InvalidResponseDataError,
  JSONParseError,
  LoadAPIKeyError,
  LoadSettingError,
  NoContentGeneratedError,
  NoSuchModelError,
  TypeValidationError,
  UnsupportedFunctionalityError,
} from '@ai-sdk/provider';
import type { LanguageModelV3GenerateResult } from '@ai-sdk/provider';
import {
  DownloadError,
  InvalidDataContentError,
  InvalidMessageRoleError,
  InvalidToolInputError,
  MessageConversionError,
  NoObjectGeneratedError,
  NoOutputGeneratedError,
  NoSuchProviderError,
  NoSuchToolError,
  RetryError,
  ToolCallRepairError,
  UnsupportedModelVersionError,
} from 'ai';
import { describe, expect, test } from 'vitest';
import { AttemptEndedError } from '../engine/ending.ts';
import type { Seen } from '../domain/model-outcome.ts';
import {
  factsOfError,
  isRefusalChunk,
  seenOfAnswer,
  seenOfStreamEnd,
  seenOfStreamError,
  seenOfThrown,
} from './seen.ts';

const NOW = Date.parse('2026-11-30T12:00:00Z');
const QUIET = new AbortController().signal;

const SECRET = 'sk-proj-Abc123TOPSECRET';
const PROMPT = 'the patient John Doe';

interface CallFields {
  status?: number;
  headers?: Record<string, string>;
  body?: unknown;
  data?: unknown;
  cause?: unknown;
}

/** As the SDK makes it, with everything that must not leave it. */
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

function seen(error: unknown): Seen {
  return seenOfThrown(error, QUIET, NOW);
}

const none = { errorType: null, errorCode: null, said: null, retryAfterMs: null };

describe('a call that the provider rejected', () => {
  test.each([
    [
      'of OpenAI, parsed by the SDK',
      {
        status: 429,
        data: { error: { message: 'x', type: 'insufficient_quota', code: 'insufficient_quota' } },
      },
      { status: 429, errorType: 'insufficient_quota', errorCode: 'insufficient_quota' },
    ],
    [
      'of Anthropic, as text',
      { status: 529, body: '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}' },
      { status: 529, errorType: 'overloaded_error' },
    ],
    [
      'of Anthropic, whose account is empty',
      {
        status: 400,
        data: {
          type: 'error',
          error: {
            type: 'invalid_request_error',
            message: 'Your credit balance is too low to access the API.',
          },
        },
      },
      { status: 400, errorType: 'invalid_request_error', said: 'out_of_money' },
    ],
    [
      'of Anthropic, whose prompt is too long',
      {
        status: 400,
        data: {
          error: { type: 'invalid_request_error', message: 'prompt is too long: 210000 tokens > 200000' },
        },
      },
      { status: 400, errorType: 'invalid_request_error', said: 'too_long' },
    ],
    [
      'of OpenAI, larger than a minute may be',
      {
        status: 429,
        data: { error: { code: 'rate_limit_exceeded', message: 'Request too large for gpt-4o in ...' } },
      },
      { status: 429, errorCode: 'rate_limit_exceeded', said: 'never_fits' },
    ],
    [
      'of Google, with a status in words',
      { status: 503, body: '{"error":{"code":503,"message":"x","status":"UNAVAILABLE"}}' },
      { status: 503, errorType: 'UNAVAILABLE', errorCode: '503' },
    ],
    [
      'of a server that says it in a text',
      { status: 404, body: '{"error":"model not found"}' },
      { status: 404 },
    ],
    ['of a proxy, in HTML', { status: 502, body: '<html>Bad gateway</html>' }, { status: 502 }],
    ['without a body', { status: 500, body: '' }, { status: 500 }],
  ] as const)('%s', (_, fields, expected) => {
    expect(seen(callError(fields))).toEqual({ type: 'http', ...none, ...expected });
  });

  test.each([
    [{ 'retry-after': '20' }, 20_000],
    [{ 'retry-after-ms': '1500', 'retry-after': '2' }, 1500],
    [{ 'retry-after': 'Mon, 30 Nov 2026 12:00:30 GMT' }, 30_000],
    // the provider's clock goes wrong by an hour, and so does its date
    [{ 'retry-after': 'Mon, 30 Nov 2026 13:00:30 GMT', date: 'Mon, 30 Nov 2026 13:00:00 GMT' }, 30_000],
    [{ 'retry-after': '864000' }, 864_000_000],
    [{ 'retry-after': 'soon' }, null],
  ])('and asks for a wait by %o', (headers, retryAfterMs) => {
    expect(seen(callError({ status: 429, headers }))).toMatchObject({ type: 'http', retryAfterMs });
  });

  test('after some tries of the SDK', () => {
    const errors = [callError({ status: 429 }), callError({ status: 503 })];
    const retry = new RetryError({ message: 'x', reason: 'maxRetriesExceeded', errors });
    expect(seen(retry)).toMatchObject({ type: 'http', status: 503 });
    expect(factsOfError(retry)).toEqual({ httpStatus: 503, requestId: null });
  });
});

describe('a 200 that is no answer', () => {
  test('says that it failed, in the form in which the SDK hands it on, with a status that it made up', () => {
    const body = { id: 'resp_1', status: 'failed', error: { code: 'server_error', message: PROMPT } };
    expect(seen(callError({ status: 400, body }))).toEqual({
      type: 'failed_body',
      status: null,
      ...none,
      errorCode: 'server_error',
    });
    expect(factsOfError(callError({ status: 400, body }))).toEqual({ httpStatus: 200, requestId: null });
  });

  test('has an error where an answer should be', () => {
    const cause = new TypeValidationError({ value: {}, cause: [] });
    const body = '{"error":{"code":502,"message":"Provider returned error"}}';
    expect(seen(callError({ status: 200, body, cause }))).toMatchObject({ type: 'failed_body', status: 502 });
  });

  test.each([
    ['is no JSON', new JSONParseError({ text: '{"a', cause: new SyntaxError(PROMPT) }), '{"a'],
    ['is JSON of another kind', new TypeValidationError({ value: { a: 1 }, cause: [] }), '{"a":1}'],
    ['is empty', new EmptyResponseBodyError(), undefined],
  ])('%s', (_, cause, body) => {
    expect(seen(callError({ status: 200, cause, body }))).toEqual({ type: 'broken_json' });
  });

  test('has no choices', () => {
    expect(seen(new InvalidResponseDataError({ data: {} }))).toEqual({ type: 'broken_json' });
  });

  test('breaks off', () => {
    const cause = new TypeError('terminated', {
      cause: Object.assign(new Error('x'), { code: 'UND_ERR_SOCKET' }),
    });
    expect(seen(callError({ status: 200, cause }))).toEqual({ type: 'broken_stream' });
  });

  test.each(['failed', 'cancelled', 'queued', 'in_progress'])(
    'is handed on as an answer though it is %s',
    (status) => {
      expect(seenOfAnswer(answer({ status }))).toMatchObject({ type: 'failed_body' });
    },
  );
});

describe('no answer at all', () => {
  const system = (code: string) => Object.assign(new Error(`connect ${code}`), { code });

  test.each([
    ['a reset', callError({ cause: system('ECONNRESET') }), 'ECONNRESET'],
    ['a name that nobody has', callError({ cause: system('ENOTFOUND') }), 'ENOTFOUND'],
    [
      'addresses that all refuse',
      callError({ cause: new AggregateError([system('ECONNREFUSED')]) }),
      'ECONNREFUSED',
    ],
    [
      'a fetch of its own',
      new TypeError('fetch failed', { cause: system('UND_ERR_HEADERS_TIMEOUT') }),
      'UND_ERR_HEADERS_TIMEOUT',
    ],
    ['nothing that is known', callError({ cause: new Error('bad port') }), null],
    ['a code that is no code', callError({ cause: Object.assign(new Error('x'), { code: SECRET }) }), null],
  ])('%s', (_, error, faultCode) => expect(seen(error)).toEqual({ type: 'network', faultCode }));

  test('since a limit of somebody else passed', () => {
    const timeout = new DOMException('x', 'TimeoutError');
    expect(seen(timeout)).toEqual({ type: 'timeout' });
    expect(seen(callError({ cause: timeout }))).toEqual({ type: 'timeout' });
  });

  test('since the function gave it up', () => {
    expect(seen(new DOMException('x', 'AbortError'))).toEqual({ type: 'aborted' });
  });

  test.each(['timeout', 'deadline_exceeded', 'revoked', 'lease_lost', 'shutdown'] as const)(
    'since the attempt was ended: %s, whatever was thrown',
    (reason) => {
      const { signal } = aborted(new AttemptEndedError(reason));
      for (const error of [signal.reason, callError({ status: 500 }), undefined]) {
        expect(seenOfThrown(error, signal, NOW)).toEqual({ type: 'signal', reason });
      }
    },
  );

  test('and a signal that says nothing of ours is not ours', () => {
    expect(seenOfThrown(callError({ status: 500 }), aborted('x').signal, NOW)).toMatchObject({
      type: 'http',
    });
  });

  function aborted(reason: unknown): AbortController {
    const controller = new AbortController();
    controller.abort(reason);
    return controller;
  }
});

describe('every other error of the SDK', () => {
  const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 } as never;
  const response = { id: 'r', timestamp: new Date(NOW), modelId: 'm' };
  const object = (finishReason: 'stop' | 'length' | 'content-filter') =>
    new NoObjectGeneratedError({ text: '{', response, usage, finishReason });
  const toolError = new NoSuchToolError({ toolName: 'x' });

  test.each<[Error, Seen]>([
    [object('stop'), { type: 'malformed' }],
    [object('length'), { type: 'finish', reason: 'length', raw: null, refused: false }],
    [object('content-filter'), { type: 'finish', reason: 'content-filter', raw: null, refused: false }],
    [new NoOutputGeneratedError(), { type: 'malformed' }],
    [new NoOutputGeneratedError({ cause: callError({}) }), { type: 'network', faultCode: null }],
    [new NoContentGeneratedError(), { type: 'malformed' }],
    [new TypeValidationError({ value: 1, cause: [] }), { type: 'malformed' }],
    [new JSONParseError({ text: '{', cause: null }), { type: 'malformed' }],
    [new InvalidToolInputError({ toolInput: '{', toolName: 'x', cause: null }), { type: 'malformed' }],
    [toolError, { type: 'malformed' }],
    [new ToolCallRepairError({ cause: null, originalError: toolError }), { type: 'malformed' }],
    [new LoadAPIKeyError({ message: SECRET }), { type: 'unusable' }],
    [new LoadSettingError({ message: SECRET }), { type: 'unusable' }],
    [new NoSuchModelError({ modelId: 'x', modelType: 'languageModel' }), { type: 'unusable' }],
    [
      new NoSuchProviderError({
        modelId: 'x',
        modelType: 'languageModel',
        providerId: 'p',
        availableProviders: [],
      }),
      { type: 'unusable' },
    ],
    [new UnsupportedFunctionalityError({ functionality: 'x' }), { type: 'unusable' }],
    [new UnsupportedModelVersionError({ version: 'v9', provider: 'p', modelId: 'm' }), { type: 'unusable' }],
    [new InvalidArgumentError({ argument: 'x', message: PROMPT }), { type: 'unusable' }],
    [new InvalidPromptError({ prompt: PROMPT, message: PROMPT }), { type: 'unusable' }],
    [new InvalidDataContentError({ content: PROMPT }), { type: 'unusable' }],
    [new InvalidMessageRoleError({ role: 'x' }), { type: 'unusable' }],
    [new MessageConversionError({ originalMessage: {} as never, message: PROMPT }), { type: 'unusable' }],
    [new DownloadError({ url: SECRET, statusCode: 404 }), { type: 'http', ...none, status: 404 }],
    [new DownloadError({ url: SECRET, cause: new Error('x') }), { type: 'network', faultCode: null }],
    [new Error('x'), { type: 'other' }],
  ])('%s', (error, expected) => expect(seen(error)).toEqual(expected));
});

describe('an answer', () => {
  test('tells its end, and the provider’s own word for it', () => {
    expect(seenOfAnswer(answer({}))).toEqual({ type: 'finish', reason: 'stop', raw: 'stop', refused: false });
    const odd = { ...answer({}), finishReason: { unified: 'other' as const, raw: `${PROMPT} ${SECRET}` } };
    expect(seenOfAnswer(odd)).toMatchObject({ raw: 'unreadable' });
  });

  test.each([
    ['Responses', { output: [{ type: 'function_call' }, { content: [{ type: 'refusal', refusal: 'no' }] }] }],
    ['Chat Completions', { choices: [{ message: { refusal: 'no', tool_calls: [] } }] }],
  ])('has its refusal found in the body of %s, though a tool call hides it', (_, body) => {
    const called = { ...answer(body), finishReason: { unified: 'tool-calls' as const, raw: undefined } };
    expect(seenOfAnswer(called)).toMatchObject({ refused: true });
  });

  test.each([{ output: 7 }, { choices: [] }, null, 'text', { choices: [{ message: { refusal: '' } }] }])(
    'has none in %o',
    (body) => expect(seenOfAnswer(answer(body))).toMatchObject({ refused: false }),
  );
});

describe('a stream', () => {
  test('that ends without a reason ended early, and so did one whose reason was made up', () => {
    expect(seenOfStreamEnd(null, false)).toEqual({ type: 'ended_early' });
    expect(seenOfStreamEnd({ unified: 'other', raw: undefined }, false)).toEqual({ type: 'ended_early' });
    expect(seenOfStreamEnd({ unified: 'stop', raw: 'stop' }, false)).toMatchObject({ type: 'finish' });
    expect(seenOfStreamEnd({ unified: 'tool-calls', raw: 'tool_calls' }, true)).toMatchObject({
      refused: true,
    });
  });

  test.each<[string, unknown, Partial<Seen>]>([
    [
      'a frame of Chat Completions',
      { message: PROMPT, type: 'server_error', code: null },
      { errorType: 'server_error' },
    ],
    [
      'a frame of Anthropic',
      { type: 'overloaded_error', message: PROMPT },
      { errorType: 'overloaded_error' },
    ],
    [
      'a frame of Responses, flattened, with a status that nobody sent',
      {
        message: PROMPT,
        code: 'rate_limit_exceeded',
        statusCode: 429,
        data: {
          type: 'response.failed',
          response: { error: { code: 'rate_limit_exceeded', message: PROMPT } },
        },
      },
      { status: null, errorCode: 'rate_limit_exceeded' },
    ],
    ['a text', PROMPT, { errorCode: null }],
    ['nothing', null, { errorCode: null }],
  ])('has an error in it: %s', (_, error, expected) => {
    expect(seenOfStreamError(error, NOW)).toMatchObject({ type: 'stream_error', ...expected });
  });

  test('has a chunk in it that cannot be read', () => {
    const cause = new SyntaxError(PROMPT);
    expect(seenOfStreamError(new JSONParseError({ text: PROMPT, cause }), NOW)).toEqual({
      type: 'broken_json',
    });
    expect(seenOfStreamError(new TypeValidationError({ value: PROMPT, cause }), NOW)).toEqual({
      type: 'broken_json',
    });
    expect(seenOfStreamError(new InvalidResponseDataError({ data: {} }), NOW)).toEqual({
      type: 'broken_json',
    });
  });

  test('breaks, or has its end missed by the SDK', () => {
    const reset = Object.assign(new Error('x'), { code: 'ECONNRESET' });
    expect(seenOfStreamError(reset, NOW)).toEqual({ type: 'broken_stream' });
    expect(seenOfStreamError(callError({ status: 200, cause: reset }), NOW)).toEqual({
      type: 'broken_stream',
    });
    expect(seenOfStreamError(new InvalidResponseDataError({ data: undefined }), NOW)).toEqual({
      type: 'ended_early',
    });
  });

  test.each([
    [{ type: 'response.refusal.delta', delta: 'no' }, true],
    [{ type: 'response.output_text.delta', delta: 'yes' }, false],
    [{ choices: [{ delta: { refusal: 'no' } }] }, true],
    [{ choices: [{ delta: { refusal: null, content: 'yes' } }] }, false],
    [undefined, false],
  ])('has %o, and that is part of a refusal: %s', (chunk, is) => expect(isRefusalChunk(chunk)).toBe(is));
});

function answer(body: unknown): LanguageModelV3GenerateResult {
  return {
    content: [],
    finishReason: { unified: 'stop', raw: 'stop' },
    usage: {
      inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 1, text: 1, reasoning: 0 },
    },
    warnings: [],
    response: { body },
  };
}
