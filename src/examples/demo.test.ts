import { describe, expect, test } from 'vitest';
import type { RunContext } from '../engine/workflow.ts';
import { demoWorkflow } from './index.ts';

type Input = Parameters<typeof demoWorkflow.run>[0]['input'];

async function validate(value: unknown) {
  return await demoWorkflow.input['~standard'].validate(value);
}

async function run(input: Input, more: Partial<RunContext<Input>> = {}) {
  const context = { input, attempt: 1, signal: new AbortController().signal, progress() {}, ...more };
  return await demoWorkflow.run(context as RunContext<Input>);
}

describe('the input', () => {
  test.for([
    { mode: 'success' },
    { mode: 'slow', ms: 200 },
    { mode: 'malformed' },
    { mode: 'always_fail' },
    { mode: 'flaky', fail_times: 1 },
    { mode: 'throw', message: '' },
    { mode: 'echo', value: { a: [1, null, 'x'] } },
    { mode: 'echo', value: null },
    { mode: 'exit' },
    { mode: 'spin', ms: 5000 },
  ])('%j is accepted as it is', async (input) => {
    expect(await validate(input)).toEqual({ value: input });
  });

  test.for([
    [{ mode: 'nope' }, 'mode'],
    [{}, 'mode'],
    [{ mode: 'slow' }, 'ms'],
    [{ mode: 'slow', ms: -1 }, 'ms'],
    [{ mode: 'slow', ms: 600_001 }, 'ms'],
    [{ mode: 'slow', ms: 1.5 }, 'ms'],
    [{ mode: 'spin', ms: 60_001 }, 'ms'],
    [{ mode: 'echo' }, 'value'],
    [{ mode: 'throw', message: 1 }, 'message'],
  ] as const)('%j is refused at its path', async ([input, path]) => {
    const { issues = [] } = await validate(input);
    expect(issues.map((issue) => issue.path?.[0])).toEqual([path]);
  });

  test('a field that the mode does not have is refused', async () => {
    expect((await validate({ mode: 'success', ms: 1 })).issues).toHaveLength(1);
  });
});

test('success and echo return what the output schema accepts', async () => {
  for (const output of [
    await run({ mode: 'success' }),
    await run({ mode: 'echo', value: [1, { a: null }] }),
  ]) {
    expect(await demoWorkflow.output['~standard'].validate(output)).toEqual({ value: output });
  }
  expect(await run({ mode: 'echo', value: false })).toMatchObject({ value: false });
});

test('malformed returns what the output schema refuses at /summary', async () => {
  const { issues = [] } = await demoWorkflow.output['~standard'].validate(await run({ mode: 'malformed' }));
  expect(issues).toMatchObject([{ path: ['summary'], message: expect.stringContaining('expected string') }]);
});

test('always_fail and flaky throw what is retried, flaky as often as it was told', async () => {
  await expect(run({ mode: 'always_fail' }, { attempt: 9 })).rejects.toMatchObject({
    code: 'upstream_unavailable',
  });
  const flaky = { mode: 'flaky', fail_times: 2 } as const;
  await expect(run(flaky, { attempt: 2 })).rejects.toMatchObject({ code: 'upstream_unavailable' });
  await expect(run(flaky, { attempt: 3 })).resolves.toMatchObject({ summary: 'It worked at attempt 3.' });
});

test('throw throws a plain error with the message', async () => {
  const thrown: unknown = await run({ mode: 'throw', message: 'pop' }).catch((error: unknown) => error);
  expect(Object.getPrototypeOf(thrown)).toBe(Error.prototype);
  expect(thrown).toMatchObject({ message: 'pop' });
});

test('slow takes its time, says how far it is, and then succeeds', async () => {
  const fractions: number[] = [];
  const started = performance.now();
  await run({ mode: 'slow', ms: 150 }, { progress: (fraction) => fractions.push(fraction) });
  expect(performance.now() - started).toBeGreaterThanOrEqual(149);
  expect(fractions).toEqual([100 / 150, 1]);
});

test('slow ends at once when its signal fires', async () => {
  const cancel = new AbortController();
  const running = run({ mode: 'slow', ms: 600_000 }, { signal: cancel.signal });
  cancel.abort();
  await expect(running).rejects.toMatchObject({ name: 'AbortError' });
});

test('spin lets nothing else run until it is over', async () => {
  let turns = 0;
  const timer = setInterval(() => (turns += 1), 1);
  await run({ mode: 'spin', ms: 50 });
  clearInterval(timer);
  expect(turns).toBe(0);
});
