/** Never twice for the same answer: after a crash, from evidence, and where an answer is mended. */
import { generateText, Output } from 'ai';
import { json } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineWorkflow } from '../../src/index.ts';
import type { RunContext } from '../../src/index.ts';
import type { FakeProvider } from '../../src/testing.ts';
import { gate } from '../support/claimcheck.ts';
import { caller, modelAt, openScene } from './scene.ts';
import type { Scene } from './scene.ts';

const ask = async ({ model }: RunContext<unknown>, { url }: FakeProvider, prompt = 'Say hello.') =>
  (await generateText({ model: model(modelAt(url)), prompt })).text;

async function outputOf(scene: Scene, jobId: string): Promise<unknown> {
  const opened = await scene.parts.engine.openArtifact(caller, jobId, null);
  if (!opened.ok) throw new Error(opened.detail);
  return json(opened.value.stream());
}

describe('an answer that was paid for', () => {
  it('is used again by the attempt after a crash, each of several in its turn', async () => {
    const { opened: stuck, open: isStuck } = gate();
    let runs = 0;
    const scene = await openScene(
      (provider) => [
        defineWorkflow({
          name: 'ask',
          version: '1',
          input: z.unknown(),
          output: z.unknown(),
          async run(context) {
            const first = await ask(context, provider);
            const second = await ask(context, provider);
            if ((runs += 1) > 1) return [first, second, await ask(context, provider)];
            isStuck();
            return new Promise(() => {});
          },
        }),
      ],
      { script: ['one', 'two', 'three'].map((text) => ({ reply: 'ok', text })) },
    );
    const doomed = scene.worker();
    const jobId = await scene.enqueue('ask');
    await stuck;
    doomed.kill();
    scene.worker();
    const job = await scene.ended(jobId);
    expect(await outputOf(scene, jobId)).toEqual(['one', 'two', 'three']);
    expect(scene.provider.calls).toHaveLength(3);
    expect(job.calls.map(({ attempt, reusedFrom, billing }) => [attempt, reusedFrom, billing])).toEqual([
      [1, null, 'settled'],
      [1, null, 'settled'],
      [2, 1, 'none'],
      [2, 2, 'none'],
      [2, null, 'settled'],
    ]);
  });

  it('is not used for another question', async () => {
    const scene = await openScene((provider) => [
      defineWorkflow({
        name: 'ask',
        version: '1',
        input: z.unknown(),
        output: z.unknown(),
        async run(context) {
          const text = await ask(context, provider, `attempt ${context.attempt}`);
          if (context.attempt === 1) throw Object.assign(new Error('reset'), { code: 'ECONNRESET' });
          return text;
        },
      }),
    ]);
    scene.worker();
    const job = await scene.ended(await scene.enqueue('ask'));
    expect(job.status).toBe('completed');
    expect(scene.provider.calls).toHaveLength(2);
  });

  it('is asked for anew where a person replays the job', async () => {
    let fails = true;
    const scene = await openScene((provider) => [
      defineWorkflow({
        name: 'ask',
        version: '1',
        input: z.unknown(),
        output: z.unknown(),
        async run(context) {
          const text = await ask(context, provider);
          if (fails) throw new Error('a defect');
          return text;
        },
      }),
    ]);
    scene.worker();
    const jobId = await scene.enqueue('ask');
    await scene.ended(jobId);
    fails = false;
    await scene.replay(jobId);
    expect((await scene.ended(jobId)).status).toBe('completed');
    expect(scene.provider.calls).toHaveLength(2);
  });

  it('is validated again without a call by a replay from evidence', async () => {
    let parse = (text: string): unknown => JSON.parse(text);
    const scene = await openScene(
      (provider) => [
        defineWorkflow({
          name: 'ask',
          version: '1',
          input: z.unknown(),
          output: z.object({ a: z.number() }),
          run: async (context) => parse(await ask(context, provider)) as { a: number },
        }),
      ],
      { script: [{ reply: 'ok', text: '{"a":"1"}' }] },
    );
    scene.worker();
    const jobId = await scene.enqueue('ask');
    expect((await scene.ended(jobId)).errors).toMatchObject([
      { code: 'malformed_output', evidence: [{ kind: 'raw_output' }, { kind: 'model_response' }] },
    ]);
    parse = (text) => ({ a: Number((JSON.parse(text) as { a: string }).a) });
    await scene.replay(jobId, { fromEvidence: true });
    const job = await scene.ended(jobId);
    expect(job.status).toBe('completed');
    expect(await outputOf(scene, jobId)).toEqual({ a: 1 });
    expect(scene.provider.calls).toHaveLength(1);
    expect(job.calls.map(({ reusedFrom, cost }) => [reusedFrom, cost])).toEqual([
      [null, job.calls[0]?.cost],
      [1, 0],
    ]);
  });

  it('stands in where the schema was mended, and for no other question', async () => {
    let questions = [{ prompt: 'one', schema: z.object({ a: z.string() }) as z.ZodType }];
    const scene = await openScene(
      (provider) => [
        defineWorkflow({
          name: 'ask',
          version: '1',
          input: z.unknown(),
          output: z.unknown(),
          async run({ model }) {
            const answers = [];
            for (const { prompt, schema } of questions) {
              const output = Output.object({ schema });
              answers.push(
                (await generateText({ model: model(modelAt(provider.url)), prompt, output })).output,
              );
            }
            return answers;
          },
        }),
      ],
      { script: [{ reply: 'ok', json: { a: 1 } }] },
    );
    scene.worker();
    const jobId = await scene.enqueue('ask');
    expect((await scene.ended(jobId)).errors.map(({ code }) => code)).toEqual(['malformed_output']);
    const schema = z.object({ a: z.number() });
    questions = [
      { prompt: 'another', schema },
      { prompt: 'one', schema },
    ];
    await scene.replay(jobId, { fromEvidence: true });
    const refused = await scene.ended(jobId);
    expect(refused.errors.at(-1)).toMatchObject({ code: 'spending_limit', rule: 'evidence/none_stored' });
    questions = [{ prompt: 'one', schema }];
    await scene.replay(jobId, { fromEvidence: true });
    const job = await scene.ended(jobId);
    expect(job.status).toBe('completed');
    expect(await outputOf(scene, jobId)).toEqual([{ a: 1 }]);
    expect(job.calls.map(({ reusedFrom }) => reusedFrom)).toEqual([null, 1]);
    expect(scene.provider.calls).toHaveLength(1);
  });

  it('stands in for its own question where an earlier call of its attempt failed', async () => {
    const firsts: string[] = [];
    const scene = await openScene(
      (provider) => [
        defineWorkflow({
          name: 'ask',
          version: '1',
          input: z.unknown(),
          output: z.array(z.string()).min(3),
          async run(context) {
            const first = await ask(context, provider, 'title').catch(() => 'fallback');
            firsts.push(first);
            return [first, await ask(context, provider, 'total')];
          },
        }),
      ],
      { script: [{ reply: 'server_error' }, { reply: 'ok', text: '42' }] },
    );
    scene.worker();
    const jobId = await scene.enqueue('ask');
    expect((await scene.ended(jobId)).errors.map(({ code }) => code)).toEqual(['malformed_output']);
    await scene.replay(jobId, { fromEvidence: true });
    const job = await scene.ended(jobId);
    expect(firsts).toEqual(['fallback', 'fallback']);
    expect(job.calls.map(({ reusedFrom }) => reusedFrom)).toEqual([null, null, 2]);
    expect(scene.provider.calls).toHaveLength(2);
  });
});

describe('a repair', () => {
  const workflowsOf = (provider: FakeProvider, more: object = { repair: { max: 1 } }) => [
    defineWorkflow({
      name: 'ask',
      version: '1',
      input: z.unknown(),
      output: z.object({ total: z.number() }),
      limits: { maxAttempts: 1 },
      async run({ model, saveArtifact }) {
        await saveArtifact('note.txt', 'kept', 'text/plain');
        const { output } = await generateText({
          model: model(modelAt(provider.url)),
          output: Output.object({ schema: z.object({ total: z.number() }) }),
          prompt: 'How much?',
        });
        return output;
      },
      ...more,
    }),
  ];
  const wrong = { reply: 'ok', text: '{"total":"twelve"}' } as const;

  it('gives the issues back to the model once, and the function runs again on the mended answer', async () => {
    const scene = await openScene(workflowsOf, { script: [wrong, { reply: 'ok', text: '{"total":12}' }] });
    scene.worker();
    const jobId = await scene.enqueue('ask');
    const job = await scene.ended(jobId);
    expect(job.errors).toEqual([]);
    expect(await outputOf(scene, jobId)).toEqual({ total: 12 });
    expect(job.artifacts.map(({ name }) => name)).toEqual(['note.txt']);
    expect(job.calls.map(({ repair, billing }) => [repair, billing])).toEqual([
      [false, 'settled'],
      [true, 'settled'],
    ]);
    const asked = scene.provider.calls[1]?.body?.['messages'] as { role: string; content: string }[];
    expect(asked.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
    expect(asked[1]?.content).toContain('twelve');
    expect(JSON.stringify(asked[2]?.content)).toMatch(/total/);
  });

  it('that mends nothing is the last, and both answers stay', async () => {
    const scene = await openScene(workflowsOf, { script: [wrong] });
    scene.worker();
    const job = await scene.ended(await scene.enqueue('ask'));
    expect(job.errors).toMatchObject([{ code: 'malformed_output', attempt: 1 }]);
    expect(job.errors[0]?.evidence?.filter(({ kind }) => kind === 'model_response')).toHaveLength(2);
    expect(scene.provider.calls).toHaveLength(2);
  });

  it('is not made where the workflow does not ask for it', async () => {
    const scene = await openScene((provider) => workflowsOf(provider, {}), { script: [wrong] });
    scene.worker();
    expect((await scene.ended(await scene.enqueue('ask'))).errors).toMatchObject([
      { code: 'malformed_output' },
    ]);
    expect(scene.provider.calls).toHaveLength(1);
  });
});
