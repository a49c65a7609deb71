/** What a call through `model()` means, costs and leaves, from the real SDK down to the sockets of a real provider. */
import { setTimeout } from 'node:timers/promises';
import { generateText, Output, streamText } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineWorkflow } from '../../src/index.ts';
import type { RunContext } from '../../src/index.ts';
import type { FakeProvider } from '../../src/testing.ts';
import { modelAt, openScene } from './scene.ts';

type Context = RunContext<unknown>;
type Act = (context: Context, provider: FakeProvider) => Promise<unknown>;

/** A workflow named `ask` that does this. */
const asks =
  (act: Act, more: object = {}) =>
  (provider: FakeProvider) => [
    defineWorkflow({
      name: 'ask',
      version: '1',
      input: z.unknown(),
      output: z.unknown(),
      limits: { maxAttempts: 1 },
      run: (context) => act(context, provider),
      ...more,
    }),
  ];

const text: Act = async ({ model }, { url }) =>
  (await generateText({ model: model(modelAt(url)), prompt: 'Say hello.' })).text;

const streamed: Act = async ({ model }, { url }) => {
  let all = '';
  const { textStream } = streamText({ model: model(modelAt(url)), prompt: 'Say hello.', onError: () => {} });
  for await (const delta of textStream) all += delta;
  return all;
};

describe('a call to a model', () => {
  it('is in the record with what it was, what it cost and its raw response', async () => {
    const scene = await openScene(
      asks(async ({ model }, { url }) => {
        const { output } = await generateText({
          model: model(modelAt(url)),
          output: Output.object({ schema: z.object({ a: z.number() }) }),
          prompt: 'Say hello.',
          temperature: 0,
          seed: 7,
        });
        return output;
      }),
      { script: [{ reply: 'ok', text: '{"a":1}', usage: { input: 11, output: 3 } }] },
    );
    scene.worker();
    const job = await scene.ended(await scene.enqueue('ask'));
    expect(job.status).toBe('completed');
    expect(job.calls).toMatchObject([
      {
        n: 1,
        attempt: 1,
        place: 1,
        provider: 'openai',
        account: 'default',
        requestedModel: 'm-1',
        parameters: { temperature: 0, seed: 7, responseFormat: 'json' },
        sdk: expect.stringMatching(/^ai@6\./) as string,
        streamed: false,
        repair: false,
        billing: 'settled',
        cost: 11 * 1_000 + 3 * 10_000,
        reusedFrom: null,
        end: { servedModel: 'm-1', finishReason: 'stop', code: null, rule: null, httpStatus: 200 },
      },
    ]);
    expect(job.calls[0]?.schemaSha256).toMatch(/^[0-9a-f]{64}$/);
    expect(job.spending).toMatchObject({ spent: 41_000, reserved: 0 });
    const stored = await scene.response(job.calls[0]?.response?.uri ?? '');
    expect(stored.raw).toMatchObject({ choices: [{ message: { content: '{"a":1}' } }] });
    expect(JSON.stringify(stored)).not.toMatch(/secret|authorization|Say hello/);
  });

  it('streamed, is just so, with the chunks as they came', async () => {
    const scene = await openScene(asks(streamed), {
      script: [{ reply: 'ok', text: 'one two three', usage: { input: 5, output: 3 } }],
    });
    scene.worker();
    const job = await scene.ended(await scene.enqueue('ask'));
    expect(job.status).toBe('completed');
    expect(job.calls).toMatchObject([
      {
        streamed: true,
        sdk: expect.stringMatching(/^ai@6\.\d/) as string,
        billing: 'settled',
        cost: 35_000,
        end: { servedModel: 'm-1', finishReason: 'stop' },
      },
    ]);
    const { raw, result } = await scene.response(job.calls[0]?.response?.uri ?? '');
    expect((raw as unknown[]).length).toBeGreaterThan(3);
    expect(result).toMatchObject({ content: [{ type: 'text', text: 'one two three' }] });
  });

  it('is made as often as the function makes it, whatever retries the SDK would add', async () => {
    const scene = await openScene(asks(text), { script: [{ reply: 'server_error' }] });
    scene.worker();
    const job = await scene.ended(await scene.enqueue('ask', null, { maxAttempts: 2 }));
    expect(job.errors.map(({ code, rule }) => [code, rule])).toEqual([
      ['upstream_unavailable', 'models-v1/server_error'],
      ['upstream_unavailable', 'models-v1/server_error'],
    ]);
    expect(scene.provider.calls).toHaveLength(2);
    expect(job.calls.map(({ billing, cost }) => [billing, cost])).toEqual([
      ['none', 0],
      ['none', 0],
    ]);
    expect(job.spending).toMatchObject({ spent: 0, reserved: 0 });
  });

  it('that a gateway gave up waiting for may have been billed: what was held for it stays held', async () => {
    const scene = await openScene(asks(text), { script: [{ reply: 'bad_gateway_html' }] });
    scene.worker();
    const job = await scene.ended(await scene.enqueue('ask'));
    expect(job.calls).toMatchObject([{ billing: 'unknown', cost: null, end: { httpStatus: 502 } }]);
    expect(job.spending).toMatchObject({ spent: 0, reserved: job.calls[0]?.reserved });
  });

  it('has its socket closed at the timeout; what it cost is unknown, and stays held', async () => {
    const scene = await openScene(asks(text), { script: [{ reply: 'silence' }] });
    scene.worker();
    const jobId = await scene.enqueue('ask', null, { timeoutMs: 150 });
    const { index } = await scene.provider.nextCall();
    expect((await scene.provider.callEnded(index)).closedBy).toBe('client');
    const job = await scene.ended(jobId);
    expect(job.errors.map(({ code }) => code)).toEqual(['timeout']);
    expect(job.calls).toMatchObject([
      { billing: 'unknown', cost: null, end: { code: 'timeout', rule: 'models-v1/signal_timeout' } },
    ]);
    expect(job.spending.reserved).toBe(job.calls[0]?.reserved);
    expect(job.spending.reserved).toBeGreaterThan(0);
  });

  it.each([
    ['refusal', 'refused', 'models-v1/refusal'],
    ['content_filter', 'refused', 'models-v1/content_filter'],
    ['length_with_json', 'incomplete_output', 'models-v1/finish_length'],
    ['insufficient_quota', 'spending_limit', 'models-v1/quota'],
    ['unauthorized', 'invalid_request', 'models-v1/unauthorized'],
    ['context_too_long', 'invalid_request', 'models-v1/context_too_long'],
    ['connection_reset', 'upstream_unavailable', 'models-v1/network'],
    ['overloaded', 'upstream_unavailable', 'models-v1/overloaded'],
  ] as const)('that gets %s ends its attempt as %s, streamed or not', async (reply, code, rule) => {
    for (const act of [text, streamed]) {
      const scene = await openScene(asks(act), { script: [{ reply }] });
      scene.worker();
      const job = await scene.ended(await scene.enqueue('ask'));
      expect(job.errors.map((error) => [error.code, error.rule])).toEqual([[code, rule]]);
      expect(scene.provider.calls).toHaveLength(1);
      expect(JSON.stringify(job)).not.toMatch(/very-secret/);
    }
  });

  it('that a function goes on without is no failure of its attempt', async () => {
    const scene = await openScene(
      asks(async (context, provider) => text(context, provider).catch(() => text(context, provider))),
      { script: [{ reply: 'server_error' }, { reply: 'ok', text: 'hello' }] },
    );
    scene.worker();
    const job = await scene.ended(await scene.enqueue('ask'));
    expect(job.status).toBe('completed');
    expect(job.calls.map(({ end }) => end?.code)).toEqual(['upstream_unavailable', null]);
  });

  it.each(['stream_breaks', 'stream_ends_early', 'failed_in_200'] as const)(
    'whose stream fails (%s) fails its attempt, though the SDK returns what there is',
    async (reply) => {
      let returned: unknown = null;
      const scene = await openScene(
        asks(async (context, provider) => (returned = await streamed(context, provider))),
        { script: [reply === 'failed_in_200' ? { reply, afterText: true } : { reply }] },
      );
      scene.worker();
      const job = await scene.ended(await scene.enqueue('ask'));
      expect(returned).toEqual(expect.any(String));
      expect(job.errors.map(({ code }) => code)).toEqual(['upstream_unavailable']);
      expect(job.calls).toMatchObject([{ billing: 'unknown', end: { code: 'upstream_unavailable' } }]);
    },
  );

  it('that may be billed for more than its prompt is not made, unless the workflow says what it may cost', async () => {
    const act: Act = async ({ model }, { url }) => {
      const providerOptions = { openai: { maxCompletionTokens: 9 } };
      return (await generateText({ model: model(modelAt(url)), prompt: 'x', providerOptions })).text;
    };
    const refused = await openScene(asks(act));
    refused.worker();
    const job = await refused.ended(await refused.enqueue('ask'));
    expect(job.errors).toMatchObject([{ code: 'spending_limit', rule: 'money/unbounded' }]);
    expect(job.errors[0]?.message).toContain('spending.perCallUsd');
    expect(refused.provider.calls).toHaveLength(0);
    const declared = await openScene(asks(act, { spending: { perCallUsd: 0.05 } }));
    declared.worker();
    expect((await declared.ended(await declared.enqueue('ask'))).status).toBe('completed');
  });

  it('that has no price is not made, and the record says what to do', async () => {
    const scene = await openScene(
      asks(
        async ({ model }, { url }) =>
          (await generateText({ model: model(modelAt(url, 'm-2')), prompt: 'x' })).text,
      ),
    );
    scene.worker();
    const job = await scene.ended(await scene.enqueue('ask'));
    expect(job.errors).toMatchObject([
      {
        code: 'spending_limit',
        rule: 'money/no_price',
        message: expect.stringContaining('openai/m-2') as string,
      },
    ]);
    expect(scene.provider.calls).toEqual([]);
    expect(job.calls).toEqual([]);
  });

  it('that can cost nothing costs nothing, priced or not', async () => {
    const scene = await openScene(
      asks(
        async ({ model }, { url }) =>
          (await generateText({ model: model(modelAt(url, 'm-2')), prompt: 'x' })).text,
        { spending: { perCallUsd: 0 } },
      ),
    );
    scene.worker();
    const job = await scene.ended(await scene.enqueue('ask'));
    expect(job.status).toBe('completed');
    expect(job.calls).toMatchObject([{ billing: 'settled', cost: 0, reserved: 0 }]);
  });

  it('that could pass a limit is not made', async () => {
    const scene = await openScene(asks(text, { spending: { perDayUsd: 0.000_001 } }));
    scene.worker();
    const job = await scene.ended(await scene.enqueue('ask'));
    expect(job.errors).toMatchObject([
      {
        code: 'spending_limit',
        rule: 'money/limit_workflow',
        message: expect.stringContaining('$0.000001') as string,
      },
    ]);
    expect(scene.provider.calls).toEqual([]);
  });

  it('of fifty jobs at once is made by ten, where the limit pays for ten', async () => {
    const spending = { perCallUsd: 0.01, perDayUsd: 0.1 };
    const script = [{ reply: 'ok', text: 'hello', hold: true }] as const;
    const scene = await openScene(asks(text, { spending }), {
      script: [...script],
      settings: { leaseMs: 10_000 },
    });
    const ids = await Promise.all(Array.from({ length: 50 }, () => scene.enqueue('ask')));
    scene.worker();
    scene.worker();
    const whatEnded = async () => {
      const jobs = await Promise.all(ids.map((id) => scene.job(id)));
      return jobs.filter(({ status }) => status === 'dead_letter');
    };
    await expect.poll(async () => (await whatEnded()).length, { timeout: 10_000 }).toBe(40);
    expect(new Set((await whatEnded()).map(({ errors }) => errors[0]?.rule))).toEqual(
      new Set(['money/limit_workflow']),
    );
    // the last may still be on its way there
    await expect.poll(() => scene.provider.calls.length).toBe(10);
    scene.provider.release();
    const jobs = await Promise.all(ids.map((id) => scene.ended(id)));
    expect(scene.provider.calls).toHaveLength(10);
    expect(jobs.filter(({ status }) => status === 'completed')).toHaveLength(10);
  });

  it('beside one that failed is waited for, and not paid for again by the next attempt', async () => {
    const both: Act = (context, provider) => Promise.all([text(context, provider), text(context, provider)]);
    const limits = { maxAttempts: 2 };
    const scene = await openScene(asks(both, { limits }), {
      script: [
        { reply: 'ok', text: 'hello', hold: true },
        { reply: 'server_error' },
        { reply: 'ok', text: 'again' },
      ],
    });
    scene.worker();
    const jobId = await scene.enqueue('ask');
    await scene.provider.nextCall();
    await scene.provider.callEnded((await scene.provider.nextCall()).index);
    await expect.poll(async () => (await scene.job(jobId)).calls.some(({ end }) => end !== null)).toBe(true);
    await setTimeout(200); // time for an attempt that does not wait to be begun again
    scene.provider.release();
    const job = await scene.ended(jobId);
    expect(job.status).toBe('completed');
    const billed = job.calls.filter(({ billing }) => billing === 'settled');
    expect([billed.length, job.calls.length]).toEqual([2, 4]);
    expect(scene.provider.calls).toHaveLength(3);
  });

  it('that its function leaves behind is broken off, and its socket closes', async () => {
    const leaves: Act = async ({ model }, { url }) => {
      await model(modelAt(url)).doStream({
        prompt: [{ role: 'user', content: [{ type: 'text', text: 'x' }] }],
      });
      return 'done';
    };
    const scene = await openScene(asks(leaves), { script: [{ reply: 'ok', text: 'hello', hold: 'middle' }] });
    scene.worker();
    const jobId = await scene.enqueue('ask');
    const { index } = await scene.provider.nextCall();
    expect((await scene.provider.callEnded(index)).closedBy).toBe('client');
    const job = await scene.ended(jobId);
    expect(job.status).toBe('completed');
    expect(job.calls).toMatchObject([{ billing: 'unknown' }]);
  });

  it('without a model says so', async () => {
    const scene = await openScene(
      asks(async ({ model }) => (await generateText({ model: model(), prompt: 'x' })).text),
    );
    scene.worker();
    const job = await scene.ended(await scene.enqueue('ask'));
    expect(job.errors.map(({ code }) => code)).toEqual(['workflow_error']);
  });
});
