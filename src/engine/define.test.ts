import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineWorkflow, workflowTable, workflowViews } from './define.ts';

const echo = (version: string, output = z.object({ text: z.string() })) =>
  defineWorkflow({
    name: 'echo',
    version,
    input: z.strictObject({ text: z.string(), times: z.number().default(1) }),
    output,
    // the types of `text` and `times` come from the schema: this would not compile otherwise
    run: ({ input }) => ({ text: input.text.repeat(input.times) }),
  });

describe('defineWorkflow', () => {
  it('refuses at compile time a run that does not return what the output schema takes', () => {
    const wrong = defineWorkflow({
      name: 'wrong',
      version: '1',
      input: z.undefined(),
      output: z.object({ text: z.string() }),
      // @ts-expect-error a number is no text
      run: () => ({ text: 1 }),
    });
    expect(wrong.name).toBe('wrong');
  });

  it.each([
    [{ name: 'no spaces' }, /`name` must be/],
    [{ version: 1 }, /`version` of echo must be a string/],
    [{ input: {} }, /`input` of echo must be a Standard Schema/],
    [{ output: null }, /`output` of echo must be a Standard Schema/],
    [{ run: 'later' }, /`run` of echo must be a function/],
    [{ limits: { timeoutMs: 0 } }, /`limits.timeoutMs` of echo/],
    [{ limits: { timeout: 1 } }, /`limits.timeout` of echo is unknown; did you mean timeoutMs\?/],
    [
      { limits: { patience: 1 } },
      /`limits.patience` of echo is unknown; there are timeoutMs, maxAttempts and/,
    ],
    [{ limts: {} }, /`limts` of echo is no field of a workflow; did you mean limits\?/],
    [{ whatever: {} }, /`whatever` of echo is no field of a workflow; there are name, .* and run$/],
    [{ spending: 1 }, /`spending` of echo must be an object such as \{ perJobUsd: 0.25 \}/],
    [{ spending: { perJobUSD: 1 } }, /`spending.perJobUSD` of echo is unknown; did you mean perJobUsd\?/],
    [{ spending: { perDayUsd: '1' } }, /`spending.perDayUsd` of echo must be a number of dollars from 0/],
    [{ spending: { perCallUsd: -1 } }, /`spending.perCallUsd` of echo must be a number of dollars from 0/],
    [{ spending: { perCallUsd: Number.NaN } }, /`spending.perCallUsd` of echo must be/],
    [{ repair: { max: 2 } }, /`repair` of echo must be \{ max: 1 \}/],
    [{ repair: true }, /`repair` of echo must be \{ max: 1 \}/],
    [{ repair: { max: 1, of: 'text' } }, /`repair` of echo must be \{ max: 1 \}/],
    [{ inputFile: 'maybe' }, /`inputFile` of echo must be "none", "optional", "required"/],
    [{ isolation: 'thread' }, /`isolation` of echo must be "none", "process"/],
  ])('names the field that is wrong: %j', (change, message) => {
    const definition = { ...echo('1'), ...change } as unknown as ReturnType<typeof echo>;
    expect(() => defineWorkflow(definition)).toThrow(message);
  });
});

it('takes what a workflow may spend, and that a malformed answer may be mended once', () => {
  const spending = { perJobUsd: 0.25, perDayUsd: 10, perCallUsd: 0 };
  expect(defineWorkflow({ ...echo('1'), spending, repair: { max: 1 } }).spending).toBe(spending);
});

describe('workflowTable', () => {
  it('keeps the lanes apart of what runs in the worker and of what runs in a process of its own', () => {
    const table = workflowTable([
      echo('1'),
      { ...echo('2'), isolation: 'process' },
      { ...echo('3'), isolation: 'none' },
    ]);
    expect(table.lanes.map(({ version }) => version)).toEqual(['3', '1']);
    expect(table.isolatedLanes.map(({ version }) => version)).toEqual(['2']);
  });

  it('finds the version that is asked for, and the newest where none is', () => {
    const table = workflowTable([echo('2'), echo('10'), echo('9')]);
    expect(table.find('echo')?.lane.version).toBe('10');
    expect(table.find('echo', '9')?.lane.version).toBe('9');
    expect(table.find('echo', '3')).toBeNull();
    expect(table.find('other')).toBeNull();
  });

  it('shows what each takes, where its schema can be said as JSON Schema', () => {
    const odd = {
      '~standard': { version: 1 as const, vendor: 'odd', validate: (value: unknown) => ({ value }) },
    };
    const instant = defineWorkflow({
      name: 'instant',
      version: '1',
      input: z.date(),
      output: z.undefined(),
      inputFile: 'required',
      run: () => undefined,
    });
    const views = workflowViews(
      workflowTable([echo('1'), echo('2'), { ...echo('1'), name: 'odd', input: odd }, instant]),
    );
    expect(views.map(({ name, version }) => `${name} ${version}`)).toEqual([
      'echo 2',
      'echo 1',
      'odd 1',
      'instant 1',
    ]);
    expect(views[0]).toMatchObject({ inputFile: 'none', inputJsonSchema: { required: ['text'] } });
    expect(views[2]).toMatchObject({ inputJsonSchema: null });
    expect(views[3]).toMatchObject({ inputFile: 'required', inputJsonSchema: null });
  });

  it('refuses two workflows of one name and version', () => {
    expect(() => workflowTable([echo('1'), echo('1')])).toThrow('two workflows are named echo version 1');
  });

  it('tells output schemas apart by their digest, and gives equal schemas one', () => {
    const digest = (output?: Parameters<typeof echo>[1]) =>
      workflowTable([echo('1', output)]).lanes[0]?.outputSchemaSha256;
    expect(digest()).toMatch(/^[0-9a-f]{64}$/);
    expect(digest(z.object({ text: z.string() }))).toBe(digest());
    expect(digest(z.object({ text: z.string().max(5) }))).not.toBe(digest());
  });
});
