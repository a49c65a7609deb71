import { describe, expect, test } from 'vitest';
import { RetryableError } from '../domain/thrown.ts';
import { fakeModel } from './fake-model.ts';

const { signal } = new AbortController();

describe('the fake model', () => {
  test('answers the same each time, and says who it is', async () => {
    const model = fakeModel({ mode: 'success', text: '{"a":1}' });
    const first = await model.generate({ system: 'Sum up.', prompt: 'x' }, { signal });
    expect(first).toEqual({
      text: '{"a":1}',
      finishReason: 'stop',
      provider: 'fake',
      model: 'success',
      usage: { inputTokens: 2, outputTokens: 2 },
    });
    expect(await model.generate({ system: 'Sum up.', prompt: 'x' }, { signal })).toEqual(first);
  });

  test('answers with what is no JSON where it is malformed', async () => {
    const { text } = await fakeModel({ mode: 'malformed' }).generate({ prompt: 'x' }, { signal });
    expect(() => JSON.parse(text) as unknown).toThrow();
  });

  test('is slow for as long as it is told', async () => {
    const before = performance.now();
    await fakeModel({ mode: 'slow', ms: 30 }).generate({ prompt: 'x' }, { signal });
    expect(performance.now() - before).toBeGreaterThanOrEqual(28);
  });

  test('rejects with the reason of the signal as soon as that fires', async () => {
    const model = fakeModel({ mode: 'slow', ms: 60_000 });
    const controller = new AbortController();
    const call = model.generate({ prompt: 'x' }, { signal: controller.signal });
    controller.abort(new Error('stop'));
    await expect(call).rejects.toThrow('stop');
    await expect(model.generate({ prompt: 'y' }, { signal: controller.signal })).rejects.toThrow('stop');
  });

  test('fails every time where that is its mode, with the wait it was given', async () => {
    const model = fakeModel({ mode: 'always_fail', retryAfterMs: 5 });
    for (let call = 0; call < 2; call += 1) {
      const error: unknown = await model
        .generate({ prompt: 'x' }, { signal })
        .catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(RetryableError);
      expect(error).toMatchObject({ retryAfterMs: 5 });
    }
  });

  test('recovers after as many failures as it was told', async () => {
    const model = fakeModel({ mode: 'flaky', failTimes: 2 });
    const calls = [];
    for (let call = 0; call < 4; call += 1) {
      calls.push(
        await model.generate({ prompt: 'x' }, { signal }).then(
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
    for (let call = 0; call < 3; call += 1)
      answers.push((await model.generate({ prompt: 'x' }, { signal })).text);
    expect(answers).toEqual(['not json {{', 'scripted', 'lasting']);
    model.use({ mode: 'always_fail' });
    await expect(model.generate({ prompt: 'x' }, { signal })).rejects.toThrow(RetryableError);
  });

  test('keeps the request of every call, the failed ones too', async () => {
    const model = fakeModel({ mode: 'always_fail' });
    await Promise.allSettled([
      model.generate({ prompt: 'a' }, { signal }),
      model.generate({ prompt: 'b' }, { signal }),
    ]);
    expect(model.requests).toEqual([{ prompt: 'a' }, { prompt: 'b' }]);
  });
});
