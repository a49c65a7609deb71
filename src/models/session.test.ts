/** The models' room by itself: real SDK functions and a model in memory, before a desk that writes down what it is told. */
import type { LanguageModelV3StreamPart } from '@ai-sdk/provider';
import { APICallError, generateText, streamText, tool } from 'ai';
import type { ToolSet } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { AttemptEndedError } from '../engine/ending.ts';
import type { CallEnd, CallOpening } from '../domain/model-call.ts';
import type { CallDesk, CallPermit, CallSize, LanguageModel, StoredResponse } from '../ports/models.ts';
import { fakeModel } from '../testkit/fake-model.ts';
import { modelsOver } from './session.ts';

type Answer = Awaited<ReturnType<LanguageModel['doGenerate']>>;
type Part = LanguageModelV3StreamPart;

const NONE = { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0, text: 1, reasoning: 0 };
const USAGE: Answer['usage'] = { inputTokens: NONE, outputTokens: NONE };
const STOP: Part = { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage: USAGE };
const LENGTH: Part = { type: 'finish', finishReason: { unified: 'length', raw: 'length' }, usage: USAGE };
const START: Part[] = [
  { type: 'stream-start', warnings: [] },
  { type: 'text-start', id: '0' },
];
const delta = (text: string): Part => ({ type: 'text-delta', id: '0', delta: text });
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** A model that gives these parts; a function among them is waited for. */
function streaming(...parts: (Part | (() => Promise<void>))[]): LanguageModel {
  const rest = [...parts];
  return {
    ...plainModel(),
    doStream: async () => ({
      stream: new ReadableStream<Part>(
        {
          async pull(controller) {
            const next = rest.shift();
            if (next === undefined) return controller.close();
            if (typeof next !== 'function') return controller.enqueue(next);
            await next();
            return this.pull?.(controller);
          },
        },
        { highWaterMark: 0 },
      ),
    }),
  };
}

function plainModel(): LanguageModel {
  return { ...fakeModel() };
}

function answering(more: Partial<Answer>): Answer {
  const finishReason = { unified: 'stop' as const, raw: 'stop' };
  return { content: [{ type: 'text', text: 'x' }], finishReason, usage: USAGE, warnings: [], ...more };
}

interface Told {
  openings: CallOpening[];
  sizes: CallSize[];
  ends: { end: CallEnd; response: StoredResponse | null }[];
  partials: string[];
}

function deskOf(permits: CallPermit[] = [], whenEnded: () => Promise<void> = () => Promise.resolve()) {
  const told: Told = { openings: [], sizes: [], ends: [], partials: [] };
  const rest = [...permits];
  const desk: CallDesk = {
    async begin(opening, size) {
      told.openings.push(opening);
      told.sizes.push(size);
      return rest.shift() ?? { type: 'call', n: told.openings.length, known: { brokenJson: false } };
    },
    async end(_, end, response) {
      await whenEnded();
      told.ends.push({ end, response: structuredClone(response) });
    },
    partial: (text) => void told.partials.push(text),
  };
  return { desk, told };
}

function sessionOf(own: LanguageModel | null, desk: CallDesk, signal = new AbortController().signal) {
  return modelsOver(own)(desk, () => signal);
}

async function partsOf(model: LanguageModel, params: object = {}): Promise<Part[]> {
  const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'x' }] }];
  const { stream } = await model.doStream({ prompt, ...params });
  const parts: Part[] = [];
  for await (const part of stream) parts.push(part);
  return parts;
}

describe('a call', () => {
  it('gives its answer to the function once its end is durable, and not before', async () => {
    let settle = () => {};
    const { desk, told } = deskOf([], () => new Promise((resolve) => (settle = resolve)));
    let isGiven = false;
    const call = generateText({ model: sessionOf(fakeModel(), desk).model(), prompt: 'x' }).then(
      () => (isGiven = true),
    );
    for (let turns = 0; turns < 20; turns += 1) await turn();
    expect([isGiven, told.openings.length]).toEqual([false, 1]);
    settle();
    await call;
    expect(told.ends).toHaveLength(1);
  });

  it('is opened with hashes, and nothing of its prompt; equal requests have equal ones', async () => {
    const { desk, told } = deskOf();
    const model = sessionOf(fakeModel(), desk).model();
    const look = tool({ inputSchema: z.object({}), description: 'a secret' });
    const tools = { look } as unknown as ToolSet; // the SDK's types do without exact optional properties
    await generateText({ model, prompt: 'a secret', temperature: 0.5, tools });
    await generateText({
      model,
      prompt: 'a secret',
      temperature: 0.5,
      tools,
      headers: { authorization: 'secret' },
    });
    await generateText({ model, prompt: 'a secret', temperature: 0.6, tools });
    await generateText({ model, prompt: 'another', temperature: 0.5, tools });
    const [one, same, warmer, other] = told.openings;
    expect(same).toEqual(one);
    expect(one).toMatchObject({ provider: 'fake', parameters: { temperature: 0.5, tools: ['look'] } });
    expect(one?.sdk).toMatch(/^ai@6\.\d/);
    expect(warmer?.promptSha256).toBe(one?.promptSha256);
    expect(new Set(told.openings.map(({ requestSha256 }) => requestSha256)).size).toBe(3);
    expect(other?.promptSha256).not.toBe(one?.promptSha256);
    expect(JSON.stringify(told.openings)).not.toContain('secret');
  });

  it('says how large it is, in bytes, and whether a file is in it', async () => {
    const { desk, told } = deskOf();
    const model = sessionOf(fakeModel(), desk).model();
    await generateText({ model, prompt: 'ü'.repeat(1000), maxOutputTokens: 50 });
    const file = { type: 'file' as const, data: new Uint8Array(3), mediaType: 'application/pdf' };
    await generateText({ model, messages: [{ role: 'user', content: [file] }] });
    expect(told.sizes[0]).toMatchObject({ maxOutputTokens: 50, hasFiles: false });
    expect(told.sizes[0]?.promptBytes).toBeGreaterThanOrEqual(2000);
    expect(told.sizes[1]).toMatchObject({ maxOutputTokens: null, hasFiles: true });
  });

  it.each([
    ['claude-sonnet-4-5@20250929', 'claude-sonnet-4-5@20250929'],
    ['org/model:free', 'org/model:free'],
    ['a sentence, of somebody', null],
    ['m'.repeat(201), null],
  ])('keeps a name of the model that answered, and nothing else: %s', async (modelId, servedModel) => {
    const { desk, told } = deskOf();
    const own: LanguageModel = {
      ...plainModel(),
      doGenerate: () => Promise.resolve(answering({ response: { modelId } })),
    };
    await generateText({ model: sessionOf(own, desk).model(), prompt: 'x' });
    expect(told.ends[0]?.end.servedModel).toBe(servedModel);
    expect(told.ends[0]?.end.usage?.unpriced).toBe(servedModel === null ? true : undefined);
  });

  it('in which the provider ran a tool says that its tokens are not all', async () => {
    const { desk, told } = deskOf();
    const call = { toolCallId: 'c', toolName: 's', input: '{}', providerExecuted: true, dynamic: true };
    const content: Answer['content'] = [
      { type: 'tool-call', ...call },
      { type: 'text', text: 'x' },
    ];
    const own: LanguageModel = {
      ...plainModel(),
      doGenerate: () => Promise.resolve(answering({ content })),
    };
    await generateText({ model: sessionOf(own, desk).model(), prompt: 'x' });
    expect(told.ends[0]?.end.usage?.unpriced).toBe(true);
  });

  it('that is refused is never made, and the SDK does not try it again', async () => {
    const judgement = { code: 'spending_limit' as const, rule: 'money/no_price' };
    const { desk, told } = deskOf([{ type: 'refused', judgement }]);
    const own = fakeModel();
    const asked = generateText({ model: sessionOf(own, desk).model(), prompt: 'x' });
    await expect(asked).rejects.toMatchObject(judgement);
    expect([own.requests.length, told.openings.length, told.ends.length]).toEqual([0, 1, 0]);
  });

  it('that fails quotes nothing of what the SDK says', async () => {
    const { desk, told } = deskOf();
    const own: LanguageModel = {
      ...plainModel(),
      doGenerate: () =>
        Promise.reject(
          new APICallError({
            message: 'key sk-secret is wrong for: a secret prompt',
            url: 'https://host/?key=sk-secret',
            requestBodyValues: { prompt: 'a secret prompt' },
            statusCode: 429,
            responseHeaders: { 'set-cookie': 'secret', 'retry-after': '7', 'x-request-id': 'req_1' },
            responseBody: '{"error":{"message":"secret","code":"rate_limit_exceeded"}}',
            isRetryable: true,
          }),
        ),
    };
    const asked = generateText({ model: sessionOf(own, desk).model(), prompt: 'x' });
    const error = await asked.then(
      () => new Error('it was answered'),
      (thrown: unknown) => thrown as Error,
    );
    expect(error).toMatchObject({ rule: 'models-v1/rate_limited', retryAfterMs: 7_000 });
    expect(`${error.message}${error.stack}${JSON.stringify(error)}${String(error.cause)}`).not.toContain(
      'secret',
    );
    expect(JSON.stringify(told.ends)).not.toContain('secret');
    expect(told.ends).toMatchObject([{ end: { httpStatus: 429, requestId: 'req_1' }, response: null }]);
  });

  it('that the attempt ends before is not made', async () => {
    const { desk, told } = deskOf();
    const signal = AbortSignal.abort(new AttemptEndedError('timeout'));
    const asked = generateText({ model: sessionOf(fakeModel(), desk, signal).model(), prompt: 'x' });
    await expect(asked).rejects.toBeInstanceOf(AttemptEndedError);
    expect(told.openings).toEqual([]);
  });

  it('takes no name of a model, and none of an older SDK', () => {
    const { model } = sessionOf(null, deskOf().desk);
    expect(() => model()).toThrow(/calls `model\(\)`, and none was given: pass one to openClaimcheck/);
    expect(() => model('openai/gpt-5' as never)).toThrow(/is a name/);
    expect(() => model({ specificationVersion: 'v2' } as never)).toThrow(/has specification version v2/);
  });
});

describe('a stream', () => {
  it('gives its end to the function once that is durable, and the text before it at once', async () => {
    let settle = () => {};
    const { desk, told } = deskOf([], () => new Promise((resolve) => (settle = resolve)));
    const model = sessionOf(streaming(...START, delta('a'), delta('b'), STOP), desk).model();
    const { stream } = await model.doStream({ prompt: [] });
    const seen: string[] = [];
    const read = (async () => {
      for await (const part of stream) seen.push(part.type);
    })();
    while (told.partials.length < 2) await turn();
    for (let turns = 0; turns < 10; turns += 1) await turn();
    expect(seen).toEqual(['stream-start', 'text-start', 'text-delta', 'text-delta']);
    settle();
    await read;
    expect(seen.at(-1)).toBe('finish');
    expect(told.partials).toEqual(['a', 'b']);
  });

  it('keeps the chunks of the provider, and hands them on only where the function asks for them', async () => {
    const raw: Part = { type: 'raw', rawValue: { chunk: 1 } };
    for (const includeRawChunks of [false, true]) {
      const { desk, told } = deskOf();
      const model = sessionOf(streaming(raw, ...START, delta('a'), STOP), desk).model();
      const parts = await partsOf(model, { includeRawChunks });
      expect(parts.some(({ type }) => type === 'raw')).toBe(includeRawChunks);
      expect(told.ends[0]?.response?.raw).toEqual([{ chunk: 1 }]);
    }
  });

  it('keeps none of the chunks where they are too many to be kept', async () => {
    const raw: Part = { type: 'raw', rawValue: 'x'.repeat(1_000_000) };
    const { desk, told } = deskOf();
    const model = sessionOf(
      streaming(...Array.from({ length: 9 }, () => raw), ...START, delta('a'), STOP),
      desk,
    ).model();
    expect((await partsOf(model)).at(-1)?.type).toBe('finish');
    expect(told.ends[0]?.response).toMatchObject({ raw: null, result: expect.anything() as unknown });
  });

  const broken = () => Promise.reject(Object.assign(new TypeError('terminated'), { code: 'UND_ERR_SOCKET' }));
  it.each<[string, (Part | (() => Promise<void>))[], string | null]>([
    ['ends early', [...START, delta('a')], 'models-v1/ended_early'],
    ['breaks', [...START, delta('a'), broken], 'models-v1/broken_stream'],
    [
      'says that it failed',
      [...START, { type: 'error', error: { type: 'overloaded_error' } }],
      'models-v1/overloaded',
    ],
    ['is cut off at its length', [...START, delta('{}'), LENGTH], 'models-v1/finish_length'],
    ['is whole', [...START, delta('a'), STOP], null],
  ])('that %s is told so to the session, and shows no end but a good one', async (_, parts, rule) => {
    const { desk, told } = deskOf();
    const session = sessionOf(streaming(...parts), desk);
    const seen = (await partsOf(session.model())).map(({ type }) => type);
    expect(session.failure()?.rule ?? null).toBe(rule);
    expect(seen.at(-1)).toBe(rule === null ? 'finish' : 'error');
    expect(told.ends.map(({ end }) => end.rule)).toEqual([rule]);
  });

  it('that the function lets go of is over, and no failure', async () => {
    const { desk, told } = deskOf();
    const session = sessionOf(
      streaming(...START, delta('a'), () => new Promise(() => {})),
      desk,
    );
    const { textStream } = streamText({ model: session.model(), prompt: 'x' });
    const { stream } = await session
      .model(streaming(...START, delta('a'), delta('b')))
      .doStream({ prompt: [] });
    const reader = stream.getReader();
    await reader.read();
    await reader.cancel();
    await textStream.cancel();
    expect(session.failure()).toBeNull();
    expect(told.ends[0]?.end).toMatchObject({ rule: 'models-v1/aborted', usage: null, finishReason: null });
  });

  it('of a model that does not heed the signal is ended by it all the same', async () => {
    const { desk, told } = deskOf();
    const controller = new AbortController();
    const model = sessionOf(
      streaming(...START, () => new Promise(() => {})),
      desk,
      controller.signal,
    ).model();
    const parts = partsOf(model);
    for (let turns = 0; turns < 5; turns += 1) await turn();
    controller.abort(new AttemptEndedError('timeout'));
    expect((await parts).at(-1)).toMatchObject({ type: 'error', error: { ending: 'timeout' } });
    expect(told.ends[0]?.end).toMatchObject({ code: 'timeout', rule: 'models-v1/signal_timeout' });
  });
});

describe('an answer that is stored', () => {
  const FULL: Answer = {
    content: [
      { type: 'reasoning', text: 'hm' },
      { type: 'text', text: 'a picture' },
      { type: 'file', mediaType: 'image/png', data: new Uint8Array([1, 2, 255]) },
      { type: 'tool-call', toolCallId: 't', toolName: 'look', input: '{"at":1}' },
    ],
    finishReason: { unified: 'tool-calls', raw: 'tool_calls' },
    usage: USAGE,
    warnings: [],
    response: {
      id: 'r',
      modelId: 'm-1',
      timestamp: new Date(5),
      headers: { secret: 'x' },
      body: { raw: true },
    },
  };

  it('is given again as it came, whole or as a stream', async () => {
    const { desk, told } = deskOf();
    const own: LanguageModel = { ...plainModel(), doGenerate: () => Promise.resolve(FULL) };
    await sessionOf(own, desk).model().doGenerate({ prompt: [] });
    const stored = JSON.parse(JSON.stringify(told.ends[0]?.response)) as StoredResponse;
    expect(stored.raw).toEqual({ raw: true });
    const reuse: CallPermit = { type: 'reuse', n: 2, response: stored };

    const again = deskOf([reuse, reuse]);
    const session = sessionOf(fakeModel(), again.desk);
    const { id, modelId, timestamp } = FULL.response ?? {};
    expect(await session.model().doGenerate({ prompt: [] })).toEqual({
      ...FULL,
      response: { id, modelId, timestamp },
    });
    const parts = await partsOf(session.model());
    expect(parts.map(({ type }) => type)).toEqual([
      'stream-start',
      'response-metadata',
      'reasoning-start',
      'reasoning-delta',
      'reasoning-end',
      'text-start',
      'text-delta',
      'text-end',
      'file',
      'tool-call',
      'finish',
    ]);
    expect(again.told).toMatchObject({ ends: [], partials: ['a picture'] });
  });

  it('of a stream can be given whole', async () => {
    const { desk, told } = deskOf();
    await partsOf(sessionOf(streaming(...START, delta('one '), delta('two'), STOP), desk).model());
    const response = told.ends[0]?.response as StoredResponse;
    const again = deskOf([{ type: 'reuse', n: 2, response }]);
    const { text, finishReason } = await generateText({
      model: sessionOf(fakeModel(), again.desk).model(),
      prompt: 'x',
    });
    expect([text, finishReason]).toEqual(['one two', 'stop']);
  });
});

describe('a repair', () => {
  it('gives each call what it got before, errors too, and the last answer mended', async () => {
    const own = fakeModel({ mode: 'success', text: 'mended' }, [
      { mode: 'success', text: 'one' },
      { mode: 'always_fail' },
      { mode: 'success', text: 'two' },
    ]);
    const { desk, told } = deskOf();
    const session = sessionOf(own, desk);
    const ask = async () => {
      const got: string[] = [];
      for (const prompt of ['a', 'b', 'c']) {
        const asked = generateText({ model: session.model(), prompt });
        got.push(await asked.then(({ text }) => text).catch(() => 'failed'));
      }
      return got;
    };
    expect(await ask()).toEqual(['one', 'failed', 'two']);
    expect(await session.repair([{ path: '/total', message: 'expected number' }])).toBe(true);
    expect(await ask()).toEqual(['one', 'failed', 'mended']);
    expect(told.openings.map(({ repair }) => repair)).toEqual([false, false, false, true]);
    const question = own.requests.at(-1)?.prompt.at(-1);
    expect(JSON.stringify(question)).toContain('/total: expected number');
  });

  it('asks nobody where there is no answer', async () => {
    const { desk, told } = deskOf();
    expect(await sessionOf(fakeModel(), desk).repair([])).toBe(false);
    expect(told.openings).toEqual([]);
  });
});
