import { generateText, streamText } from 'ai';
import { describe, expect, test } from 'vitest';
import { RetryableError } from '../domain/thrown.ts';
import { fakeModel } from './fake-model.ts';
import type { FakeModel } from './fake-model.ts';

const ask = (model: FakeModel, prompt = 'x', abortSignal?: AbortSignal) =>
  generateText({ model, prompt, maxRetries: 0, ...(abortSignal === undefined ? {} : { abortSignal }) });

describe('the fake model', () => {
  test('answers the same each time, and says who it is', async () => {
    const model = fakeModel({ mode: 'success', text: '{"a":1}' });
    const first = await ask(model);
    expect(first).toMatchObject({
      text: '{"a":1}',
      finishReason: 'stop',
      response: { modelId: 'fake-1' },
      usage: { inputTokens: 1, outputTokens: 2 },
    });
    expect((await ask(model)).text).toBe(first.text);
    expect(model.provider).toBe('fake');
  });

  test('makes its answer of the last message, where it is told how', async () => {
    const model = fakeModel({ mode: 'success', text: (prompt) => `${prompt}!` });
    expect((await ask(model, 'hello')).text).toBe('hello!');
  });

  test('streams the same answer word by word', async () => {
    const model = fakeModel({ mode: 'success', text: 'one two three' });
    const words: string[] = [];
    for await (const word of streamText({ model, prompt: 'x' }).textStream) words.push(word);
    expect(words).toEqual(['one ', 'two ', 'three']);
  });

  test('answers with what is no JSON where it is malformed', async () => {
    const { text } = await ask(fakeModel({ mode: 'malformed' }));
    expect(() => JSON.parse(text) as unknown).toThrow();
  });

  test('is slow for as long as it is told', async () => {
    const before = performance.now();
    await ask(fakeModel({ mode: 'slow', ms: 30 }));
    expect(performance.now() - before).toBeGreaterThanOrEqual(28);
  });

  test('rejects with the reason of the signal as soon as that fires', async () => {
    const model = fakeModel({ mode: 'slow', ms: 60_000 });
    const controller = new AbortController();
    const call = ask(model, 'x', controller.signal);
    while (model.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
    controller.abort(new Error('stop'));
    await expect(call).rejects.toThrow('stop');
    await expect(ask(model, 'y', controller.signal)).rejects.toThrow('stop');
  });

  test('fails every time where that is its mode, with the wait it was given', async () => {
    const model = fakeModel({ mode: 'always_fail', retryAfterMs: 5 });
    for (let call = 0; call < 2; call += 1) {
      const error: unknown = await ask(model).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(RetryableError);
      expect(error).toMatchObject({ retryAfterMs: 5 });
    }
  });

  test('recovers after as many failures as it was told', async () => {
    const model = fakeModel({ mode: 'flaky', failTimes: 2 });
    const calls = [];
    for (let call = 0; call < 4; call += 1) {
      calls.push(
        await ask(model).then(
          () => 'ok',
          () => 'failed',
        ),
      );
    }
    expect(calls).toEqual(['failed', 'failed', 'ok', 'ok']);
  });

  test('follows its script first, and then another mode where it is told so', async () => {
    const model = fakeModel({ mode: 'success', text: 'lasting' }, [
      { mode: 'malformed' },
      { mode: 'success', text: 'scripted' },
    ]);
    const answers = [];
    for (let call = 0; call < 3; call += 1) answers.push((await ask(model)).text);
    expect(answers).toEqual(['not json {{', 'scripted', 'lasting']);
    model.use({ mode: 'always_fail' });
    await expect(ask(model)).rejects.toThrow(RetryableError);
  });

  test('keeps the request of every call, the failed ones too', async () => {
    const model = fakeModel({ mode: 'always_fail' });
    await Promise.allSettled([ask(model, 'a'), ask(model, 'b')]);
    expect(model.requests.map(({ prompt }) => prompt)).toMatchObject([
      [{ role: 'user', content: [{ text: 'a' }] }],
      [{ role: 'user', content: [{ text: 'b' }] }],
    ]);
  });
});
