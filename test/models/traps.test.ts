/**
 * Every known trap of calls to models, through the real SDK against a real server, in one piece and as a stream: which rule of the
 * table it meets, and so which code its attempt would have. A trap that two APIs tell in two ways has a rule for each.
 */
import { Output, generateText, streamText, tool } from 'ai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { RULES, judge, ruleName } from '../../src/domain/model-outcome.ts';
import type { Judgement, RuleId, Seen } from '../../src/domain/model-outcome.ts';
import { classify } from '../../src/domain/thrown.ts';
import { AttemptEndedError } from '../../src/engine/ending.ts';
import { usageOf } from '../../src/models/usage.ts';
import type { ProviderReply } from '../../src/testkit/provider/replies.ts';
import { startFakeProvider } from '../../src/testkit/provider/server.ts';
import type { FakeProvider } from '../../src/testkit/provider/server.ts';
import { APIS, modelsAt, seeing } from './seeing.ts';
import type { Api } from './seeing.ts';

const FIRST = { brokenJson: false };
const SECRETS = ['A secret prompt', 'sk-secret', 'session=', 'gpt-5-mini'];

/** Of each API in its order; one rule where all have the same. `ok`: the call succeeded. */
type Rule = RuleId | 'ok';
type Rules = Rule | Partial<Record<Api, Rule>>;

interface Trap {
  reply: ProviderReply;
  whole: Rules;
  /** As `whole`, unless given. */
  streamed?: Rules;
}

const json = { answer: 42 };
const messagesSay = (one: Rule, another: Rule) => ({
  responses: one,
  chat: one,
  compatible: one,
  messages: another,
});

const TRAPS: Readonly<Record<string, Trap>> = {
  'too many requests': { reply: { reply: 'rate_limited', retryAfter: 7 }, whole: 'rate_limited' },
  'an account that is out, with a 429': {
    reply: { reply: 'insufficient_quota' },
    whole: 'quota',
    streamed: 'quota',
  },
  'an account that is out, with a 400': { reply: { reply: 'credit_too_low' }, whole: 'quota' },
  'an account that is out, with a 402': { reply: { reply: 'payment_required' }, whole: 'quota' },
  'a 200 that says server_error': {
    reply: { reply: 'failed_in_200' },
    whole: messagesSay('server_error', 'overloaded'),
  },
  'a 200 that says server_error, in the form that the SDK knows': {
    reply: { reply: 'failed_in_200', errorType: 'server_error' },
    whole: messagesSay('server_error', 'overloaded'),
  },
  'a 200 that says rate_limit_exceeded': {
    reply: { reply: 'failed_in_200', code: 'rate_limit_exceeded' },
    whole: 'rate_limited',
  },
  'a 200 that says that the prompt is invalid': {
    reply: { reply: 'failed_in_200', code: 'invalid_prompt' },
    whole: 'invalid_words',
    // the SDK makes up a 400 for what a stream says before its first word
    streamed: {
      responses: 'bad_request',
      chat: 'bad_request',
      messages: 'invalid_words',
      compatible: 'invalid_words',
    },
  },
  'a stream that says failed in its middle': {
    reply: { reply: 'failed_in_200', afterText: true, text: 'some words' },
    whole: messagesSay('server_error', 'overloaded'),
  },
  'an answer that is cut, and parses': { reply: { reply: 'length_with_json', json }, whole: 'finish_length' },
  'a refusal': { reply: { reply: 'refusal' }, whole: 'refusal' },
  'a filter': {
    reply: { reply: 'content_filter', json },
    whole: messagesSay('content_filter', 'content_policy'),
  },
  'a connection that breaks in the middle': {
    reply: { reply: 'stream_breaks', json },
    whole: 'broken_stream',
  },
  'a stream that ends as if all were well': {
    reply: { reply: 'stream_ends_early', json },
    whole: 'broken_json',
    streamed: 'ended_early',
  },
  'too much to do': { reply: { reply: 'overloaded' }, whole: 'overloaded' },
  'a 500 that quotes the prompt': { reply: { reply: 'server_error' }, whole: 'server_error' },
  'a 502 of a proxy': { reply: { reply: 'bad_gateway_html' }, whole: 'server_error' },
  'a reset': { reply: { reply: 'connection_reset' }, whole: 'network' },
  'a 200 whose JSON is broken': { reply: { reply: 'broken_json', json }, whole: 'broken_json' },
  'a 200 of nothing': { reply: { reply: 'empty_body' }, whole: 'broken_json', streamed: 'ended_early' },
  'a prompt that is too long': { reply: { reply: 'context_too_long' }, whole: 'context_too_long' },
  'a wrong key': { reply: { reply: 'unauthorized' }, whole: 'unauthorized' },
  'a country that is not served': { reply: { reply: 'forbidden' }, whole: 'forbidden' },
  'no such model': { reply: { reply: 'model_not_found' }, whole: 'not_found' },
  'a parameter that is not known': { reply: { reply: 'bad_request' }, whole: 'bad_request' },
  'another model than was asked for': { reply: { reply: 'wrong_model', json }, whole: 'ok' },
  'no usage': { reply: { reply: 'no_usage', json }, whole: messagesSay('ok', 'broken_json') },
  'an answer in prose': { reply: { reply: 'malformed_output', as: 'prose' }, whole: 'ok' },
  'a tool call that is no JSON': { reply: { reply: 'malformed_tool_call' }, whole: 'ok' },
};

let provider: FakeProvider;
let models: ReturnType<typeof modelsAt>;

beforeAll(async () => {
  provider = await startFakeProvider();
  models = modelsAt(provider.url);
});
afterAll(() => provider.close());

const quiet = new AbortController().signal;

interface Came {
  seen: Seen;
  /** What the function would have thrown; undefined where it would have thrown nothing. */
  thrown: unknown;
}

const tools = {
  weather: tool({ inputSchema: z.object({ city: z.string() }), execute: ({ city }) => `Sun in ${city}` }),
};

async function whole(api: Api, signal = quiet, own?: AbortSignal): Promise<Came> {
  let seen: Seen | null = null;
  const model = seeing(models[api], signal, (told) => (seen = told));
  const abortSignal = own ?? signal;
  const thrown = await generateText({
    model,
    prompt: 'A secret prompt',
    maxRetries: 0,
    abortSignal,
    tools,
  }).then(
    () => undefined,
    (error: unknown) => error,
  );
  if (seen === null) throw new Error('the call came to nothing');
  return { seen, thrown };
}

async function streamed(api: Api, signal = quiet, own?: AbortSignal): Promise<Came> {
  const seen: Seen[] = [];
  const model = seeing(models[api], signal, (told) => seen.push(told));
  const abortSignal = own ?? signal;
  const errors: unknown[] = [];
  const onError = ({ error }: { error: unknown }) => void errors.push(error);
  await streamText({
    model,
    prompt: 'A secret prompt',
    maxRetries: 0,
    abortSignal,
    tools,
    onError,
  }).consumeStream();
  if (seen[0] === undefined) throw new Error('the call came to nothing');
  return { seen: seen[0], thrown: errors[0] };
}

const WAYS = { whole, streamed };

function ruleOf(rules: Rules, api: Api): Rule {
  const rule = typeof rules === 'string' ? rules : rules[api];
  if (rule === undefined) throw new Error(`nothing is said of ${api}`);
  return rule;
}

function meaningOf(rule: Rule): Judgement | null {
  const code = RULES.find(({ id }) => id === rule)?.code;
  return code === undefined ? null : { code, rule: ruleName(rule as RuleId) };
}

describe.each(Object.entries(TRAPS))('%s', (_, trap) => {
  const cases = APIS.flatMap((api) => [
    { api, way: 'whole' as const, rule: ruleOf(trap.whole, api) },
    { api, way: 'streamed' as const, rule: ruleOf(trap.streamed ?? trap.whole, api) },
  ]);

  test.each(cases)('of $api, $way, is $rule', async ({ api, way, rule }) => {
    provider.script({ ...trap.reply, ...cookie(trap.reply) });
    const { seen, thrown } = await WAYS[way](api);
    const judgement = judge(seen, FIRST);
    if (judgement !== null) delete judgement.retryAfterMs;
    expect(judgement, JSON.stringify(seen)).toEqual(meaningOf(rule));
    for (const secret of SECRETS) expect(JSON.stringify(seen)).not.toContain(secret);
    if (way === 'whole' && thrown !== undefined) isSaidOfABareModel(thrown, rule);
  });
});

/** The SDK hands the answer's headers on. */
function cookie(reply: ProviderReply): object {
  return reply.reply === 'connection_reset' ? {} : { headers: { 'set-cookie': 'session=1' } };
}

/** A function that did not take its model from the context throws the SDK's own error, and it means the same. */
function isSaidOfABareModel(thrown: unknown, rule: Rule): void {
  const found = classify(thrown);
  expect(found).toMatchObject(meaningOf(rule) ?? {});
  for (const secret of SECRETS) expect(JSON.stringify(found)).not.toContain(secret);
}

describe('a wait', () => {
  test.each<[string, ProviderReply, number, number]>([
    ['in seconds', { reply: 'rate_limited', retryAfter: 7 }, 7000, 7000],
    ['of days', { reply: 'rate_limited', retryAfter: { days: 10 } }, 864_000_000, 864_000_000],
    ['until a date', { reply: 'rate_limited', retryAfter: new Date(Date.now() + 90_000) }, 60_000, 91_000],
    [
      'in milliseconds',
      { reply: 'rate_limited', retryAfter: 7, headers: { 'retry-after-ms': '250' } },
      250,
      250,
    ],
    ['of the overloaded', { reply: 'overloaded', retryAfter: 7 }, 7000, 7000],
  ])('%s is kept', async (_, reply, least, most) => {
    for (const api of APIS) {
      provider.script(reply);
      const { seen, thrown } = await whole(api);
      for (const ms of [judge(seen, FIRST)?.retryAfterMs, classify(thrown).retryAfterMs]) {
        expect(ms).toBeGreaterThanOrEqual(least);
        expect(ms).toBeLessThanOrEqual(most);
      }
    }
  });

  test('that cannot be read is none', async () => {
    provider.script({ reply: 'rate_limited', retryAfter: 'in a while' });
    expect(judge((await whole('chat')).seen, FIRST)).not.toHaveProperty('retryAfterMs');
  });
});

describe('a call that is given up while it', () => {
  const REPLIES: readonly (readonly [string, ProviderReply])[] = [
    ['is silent', { reply: 'silence' }],
    ['is silent after its headers', { reply: 'headers_then_silence' }],
    ['comes byte by byte', { reply: 'one_byte_a_second', text: 'slow' }],
  ];
  const cases = REPLIES.flatMap(([name, reply]) => APIS.map((api) => ({ name, reply, api })));

  async function givenUp(
    api: Api,
    way: keyof typeof WAYS,
    reply: ProviderReply,
    reason: unknown,
  ): Promise<Seen> {
    provider.script(reply);
    const controller = new AbortController();
    const ended = provider.nextCall().then(async ({ index }) => {
      controller.abort(reason);
      return provider.callEnded(index);
    });
    const ours = reason instanceof AttemptEndedError;
    const { seen } = await WAYS[way](api, ours ? controller.signal : quiet, controller.signal);
    expect((await ended).closedBy).toBe('client');
    return seen;
  }

  test.each(cases)('$name was ended by its attempt, of $api', async ({ api, reply }) => {
    for (const way of ['whole', 'streamed'] as const) {
      const seen = await givenUp(api, way, reply, new AttemptEndedError('timeout'));
      expect(judge(seen, FIRST)).toEqual({ code: 'timeout', rule: 'models-v1/signal_timeout' });
    }
  });

  test.each(cases)('$name was given up by the function, of $api', async ({ api, reply }) => {
    const late = await givenUp(api, 'whole', reply, new DOMException('x', 'TimeoutError'));
    expect(judge(late, FIRST)?.rule).toBe('models-v1/timeout');
    const enough = await givenUp(api, 'whole', reply, new DOMException('x', 'AbortError'));
    expect(judge(enough, FIRST)).toEqual({ code: 'workflow_error', rule: 'models-v1/aborted' });
  });
});

test('nobody who listens is a network error', async () => {
  const closed = await startFakeProvider();
  await closed.close();
  const model = seeing(modelsAt(closed.url).messages, quiet, (seen) => {
    expect(judge(seen, FIRST)?.rule).toBe('models-v1/network');
  });
  await expect(generateText({ model, prompt: 'x', maxRetries: 0 })).rejects.toThrow();
  expect.assertions(2);
});

test('a 200 that cannot be read passes once in the life of a job', async () => {
  provider.script({ reply: 'broken_json' });
  const { seen } = await whole('responses');
  expect(judge(seen, FIRST)?.code).toBe('upstream_unavailable');
  expect(judge(seen, { brokenJson: true })).toEqual({
    code: 'malformed_output',
    rule: 'models-v1/broken_json_again',
  });
});

describe('a refusal that a tool call hides', () => {
  const calls = [{ id: 'c1', type: 'function', function: { name: 'weather', arguments: '{"city":"Bonn"}' } }];

  test('is found in the body', async () => {
    const message = { role: 'assistant', content: null, refusal: 'I will not.', tool_calls: calls };
    const body = { id: 'x', object: 'chat.completion', created: 1, model: 'm' };
    provider.script({
      reply: 'raw',
      body: { ...body, choices: [{ index: 0, message, finish_reason: 'tool_calls' }] },
    });
    expect(judge((await whole('chat')).seen, FIRST)?.rule).toBe('models-v1/refusal');
  });

  test('is found in the stream', async () => {
    const deltas = [{ refusal: 'I will not.' }, { tool_calls: [{ index: 0, ...calls[0] }] }];
    const chunks = deltas.map((delta) => ({ choices: [{ index: 0, delta, finish_reason: null }] }));
    const last = { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] };
    const frames = [...chunks, last].map((chunk) => `data: ${JSON.stringify({ id: 'x', ...chunk })}\n\n`);
    provider.script({ reply: 'raw', body: frames.join('') });
    expect(judge((await streamed('chat')).seen, FIRST)?.rule).toBe('models-v1/refusal');
  });
});

describe('an object that does not match its schema', () => {
  const output = Output.object({ schema: z.object({ answer: z.number() }) });
  const ask = (api: Api) => ({ model: models[api], prompt: 'A secret prompt', maxRetries: 0, output });

  test.each(APIS)('of %s is malformed, with its text and the issues of the schema', async (api) => {
    provider.script({ reply: 'ok', json: { answer: 'forty-two' } });
    const error: unknown = await generateText(ask(api)).catch((reason: unknown) => reason);
    expect(classify(error)).toMatchObject({
      code: 'malformed_output',
      rule: 'models-v1/malformed',
      raw: '{"answer":"forty-two"}',
      issues: [{ path: '/answer', message: 'Invalid input: expected number, received string' }],
    });
  });

  test.each(APIS)('of %s and is no JSON is malformed, with its text', async (api) => {
    provider.script({ reply: 'malformed_output', as: 'prose' });
    const error: unknown = await generateText(ask(api)).catch((reason: unknown) => reason);
    expect(classify(error)).toMatchObject({
      code: 'malformed_output',
      raw: 'The answer is forty-two, I should think.',
      issues: [{ path: '', message: 'is not JSON' }],
    });
  });

  test.each(APIS)('of %s and was cut is incomplete', async (api) => {
    provider.script({ reply: 'length_with_json', text: '{"ans' });
    const error: unknown = await generateText(ask(api)).catch((reason: unknown) => reason);
    expect(classify(error)).toMatchObject({ code: 'incomplete_output', raw: '{"ans' });
  });

  test.each(APIS)('of %s and was refused is refused', async (api) => {
    provider.script({ reply: 'refusal' });
    const error: unknown = await generateText(ask(api)).catch((reason: unknown) => reason);
    expect(classify(error)).toMatchObject({ code: 'refused' });
  });
});

describe('usage', () => {
  const said = { input: 11, cachedInput: 22, cacheWrite: 33, output: 44, reasoning: 55 };

  test.each<[Api, Partial<ReturnType<typeof usageOf>>]>([
    ['responses', said],
    ['chat', said],
    ['messages', said],
    // the SDK has no bucket for it here, so it lies in the input
    ['compatible', { ...said, input: 44, cacheWrite: null }],
  ])('of %s is in buckets that share none', async (api, expected) => {
    provider.script({ reply: 'ok', text: 'x', usage: said });
    const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'x' }] }];
    const { usage } = await models[api].doGenerate({ prompt });
    expect(usageOf(usage)).toEqual(expected);
  });

  test.each(['responses', 'chat', 'compatible'] as const)('that %s does not tell is null', async (api) => {
    provider.script({ reply: 'no_usage', text: 'x' });
    const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'x' }] }];
    const { usage } = await models[api].doGenerate({ prompt });
    expect(Object.values(usageOf(usage))).toEqual([null, null, null, null, null]);
  });
});
