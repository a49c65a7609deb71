import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { EXIT, Problem } from '../cli/problem.ts';
import { RetryableError } from '../index.ts';
import { loadWorkflows } from './workflow-module.ts';

const root = mkdtempSync(join(tmpdir(), 'claimcheck-workflows-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

let directories = 0;

/** Writes files into a directory of their own and gives the path of the first. */
function files(sources: Record<string, string>): string {
  directories += 1;
  const dir = join(root, String(directories));
  for (const [name, source] of Object.entries(sources)) {
    mkdirSync(dirname(join(dir, name)), { recursive: true });
    writeFileSync(join(dir, name), source);
  }
  return join(dir, Object.keys(sources)[0] ?? '');
}

async function problemOf(path: string): Promise<string> {
  try {
    await loadWorkflows(path);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    expect(error.exitCode).toBe(EXIT.usage);
    return error.message;
  }
  throw new Error('it was loaded');
}

const DEFINE = `import { defineWorkflow } from 'claimcheck';
import { z } from 'zod';
const schema: z.ZodType = z.any();
const make = (name: string, version = '1') => defineWorkflow({ name, version, input: schema, output: schema, run: () => 1 });
`;

async function namesIn(source: string, name = 'workflows.ts'): Promise<string[]> {
  const { workflows } = await loadWorkflows(files({ [name]: source }));
  return workflows.map((workflow) => `${workflow.name} ${workflow.version}`);
}

test('workflows are found as default and named exports, one by one and in arrays, once each', async () => {
  const source = `${DEFINE}
    export const one = make('one');
    export const several = [make('two'), make('two', '2')];
    export default [one, make('three')];`;
  expect((await namesIn(source)).toSorted()).toEqual(['one 1', 'three 1', 'two 1', 'two 2']);
});

test('the function that says what calls in doubt cost is found by its name', async () => {
  const { reconcile } = await loadWorkflows(
    files({
      'w.ts': `${DEFINE}export const one = make('one'); export const reconcile = () => ({ costUsd: 1 });`,
    }),
  );
  expect(reconcile?.({} as never)).toEqual({ costUsd: 1 });
  expect(
    (await loadWorkflows(files({ 'w.ts': `${DEFINE}export const one = make('one');` }))).reconcile,
  ).toBeNull();
  expect(
    await problemOf(
      files({ 'w.ts': `${DEFINE}export const one = make('one');\nexport const reconcile = 'no';` }),
    ),
  ).toMatch(/w\.ts:\d+:1: the export reconcile is no function\.$/);
});

test('schemas, helpers and constants among the exports are left alone', async () => {
  const source = `${DEFINE}
    export const one = make('one');
    export { schema, make };
    export const limits = { timeoutMs: 5 };
    export const names = ['a', 'b'];
    export type Name = string;`;
  expect(await namesIn(source)).toEqual(['one 1']);
});

test('plain JavaScript loads as well, of either module system', async () => {
  const workflow = `{ name: 'one', version: '1', run: () => 1, input: { '~standard': { version: 1, vendor: 'x', validate: (value) => ({ value }) } }, output: { '~standard': { version: 1, vendor: 'x', validate: (value) => ({ value }) } } }`;
  expect(await namesIn(`export default ${workflow};`, 'workflows.mjs')).toEqual(['one 1']);
  expect(await namesIn(`module.exports = { one: ${workflow} };`, 'workflows.cjs')).toEqual(['one 1']);
});

test('the classes a module imports from claimcheck are those of this installation', async () => {
  const { workflows } = await loadWorkflows(
    files({
      'w.ts': `${DEFINE} import { RetryableError } from 'claimcheck';
      export default { ...make('one'), run: () => { throw new RetryableError('later'); } };`,
    }),
  );
  const [workflow] = workflows;
  expect(() => workflow?.run({} as never)).toThrow(RetryableError);
});

test('a syntax error is told with file, line and column, also in a file that the module imports', async () => {
  const path = files({ 'w.ts': `import './other.ts';`, 'other.ts': 'export const a = 1;\nconst b = {;\n' });
  expect(await problemOf(path)).toBe(
    `${join(dirname(path), 'other.ts')}:2:11: syntax error: Unexpected token.`,
  );
});

test('a missing module is told with the place that imports it and the way out', async () => {
  const path = files({ 'w.ts': `${DEFINE}\nimport { x } from 'no-such-package-at-all';\nexport default x;` });
  expect(await problemOf(path)).toBe(
    `${path}:6:19: cannot find the module no-such-package-at-all; run npm install no-such-package-at-all beside it.`,
  );
  const relative = files({ 'w.ts': `export * from './gone.ts';` });
  expect(await problemOf(relative)).toBe(
    `${relative}:1:15: cannot find the module ./gone.ts; check the path.`,
  );
});

test('an error that the module throws is told with file and line', async () => {
  const path = files({
    'w.ts': `type A = {\n  a: string;\n};\n\nthrow new Error('no key');\nexport default 1 as unknown as A;`,
  });
  expect(await problemOf(path)).toBe(`${path}:5: it threw while it was loaded: Error: no key`);
});

test('a wrong definition is told with file and line', async () => {
  const path = files({ 'w.ts': `${DEFINE}\nexport const bad = make('not a name');` });
  expect(await problemOf(path)).toMatch(
    new RegExp(`^${path}:4: it threw while it was loaded: TypeError: defineWorkflow: \`name\` must be`),
  );
});

test('an export that means to be a workflow and is none is told with its name and place', async () => {
  const path = files({ 'w.ts': `export const half = { name: 'half', version: '1', run() {} };` });
  expect(await problemOf(path)).toMatch(
    new RegExp(`^${path}:1:1: the export half is no workflow: \`input\` of half must be a Standard Schema`),
  );
  const other = files({ 'w.ts': `const nothing = 1;\nexport default nothing;` });
  expect(await problemOf(other)).toBe(
    `${other}:2:1: the export default is no workflow: a workflow is an object.`,
  );
});

test('two workflows of one name and version are refused', async () => {
  const path = files({ 'w.ts': `${DEFINE}\nexport const a = make('same');\nexport const b = make('same');` });
  expect(await problemOf(path)).toBe(`${path} exports two workflows named same version 1.`);
});

test('a module without any workflow, and one that does not exist, are refused', async () => {
  const path = files({ 'w.ts': 'export const limits = { timeoutMs: 1 };' });
  expect(await problemOf(path)).toMatch(`${path} exports no workflow: export what defineWorkflow(`);
  expect(await problemOf('/nowhere/w.ts')).toBe(
    'CLAIMCHECK_WORKFLOWS names /nowhere/w.ts, which does not exist.',
  );
});

test('a model that the module exports is the one that its workflows call; another thing of that name is left alone', async () => {
  const one = `${DEFINE} export const one = make('one');`;
  const withModel = await loadWorkflows(
    files({
      'a.ts': `${one} export const model = { specificationVersion: 'v3', modelId: 'small', doGenerate: async () => ({}) };`,
    }),
  );
  expect(withModel.model).toMatchObject({ specificationVersion: 'v3', modelId: 'small' });
  expect(await problemOf(files({ 'c.ts': `${one}\nexport const model = {};` }))).toMatch(
    /c\.ts:\d+:\d+: the export model is no language model of the AI SDK, v6/,
  );
  expect((await loadWorkflows(files({ 'b.ts': `${one} export const model = 'small';` }))).model).toBeNull();
});
