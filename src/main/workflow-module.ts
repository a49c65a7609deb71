/**
 * Loads the module that CLAIMCHECK_WORKFLOWS names, TypeScript or JavaScript, by jiti. A mistake in it ends
 * in one sentence with the file and, where it is known, the line.
 */
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createJiti } from 'jiti';
import { EXIT, Problem } from '../cli/problem.ts';
import { definitionProblem } from '../engine/define.ts';
import type { Reconcile } from '../engine/doubts.ts';
import type { WorkflowDefinition } from '../engine/workflow.ts';
import type { LanguageModel } from '../ports/models.ts';

export interface Loaded {
  workflows: WorkflowDefinition[];
  /** What the module exports as `model`, or null. */
  model: LanguageModel | null;
  /** What it exports as `reconcile`, or null. */
  reconcile: Reconcile | null;
}

/**
 * The workflows a module exports: default or named, one by one or in arrays; and the model that it exports as `model`.
 * Other exports (schemas, helpers) are left alone, unless they look like a workflow that went wrong.
 * @throws Problem with the file and line
 */
export async function loadWorkflows(path: string): Promise<Loaded> {
  const file = resolve(path);
  if (!existsSync(file)) {
    throw new Problem(`CLAIMCHECK_WORKFLOWS names ${shown(file)}, which does not exist.`, EXIT.usage);
  }
  const exported = await evaluate(file);
  const found = new Set<WorkflowDefinition>();
  for (const [name, value] of Object.entries(exported)) {
    for (const workflow of workflowsIn(name, value, file)) found.add(workflow);
  }
  if (found.size === 0) {
    throw new Problem(
      `${shown(file)} exports no workflow: export what defineWorkflow({ name, version, input, output, run }) returns.`,
      EXIT.usage,
    );
  }
  refuseTwins([...found], file);
  return {
    workflows: [...found],
    model: modelIn(exported['model'], file),
    reconcile: reconcileIn(exported['reconcile'], file),
  };
}

function reconcileIn(value: unknown, file: string): Reconcile | null {
  if (value === undefined) return null;
  if (typeof value === 'function') return value as Reconcile;
  throw new Problem(`${at(file, 'reconcile')}: the export reconcile is no function.`, EXIT.usage);
}

/** An object of that name is meant as one; a text (a model's name) is somebody's own constant. */
function modelIn(value: unknown, file: string): LanguageModel | null {
  if (isModel(value)) return value;
  if (typeof value !== 'object' || value === null) return null;
  throw new Problem(
    `${at(file, 'model')}: the export model is no language model of the AI SDK, v6 (specification v3), such as openai('gpt-5').`,
    EXIT.usage,
  );
}

function isModel(value: unknown): value is LanguageModel {
  return (
    typeof value === 'object' &&
    value !== null &&
    'specificationVersion' in value &&
    value.specificationVersion === 'v3' &&
    'doGenerate' in value &&
    typeof value.doGenerate === 'function'
  );
}

async function evaluate(file: string): Promise<Record<string, unknown>> {
  const virtualModules = await ownModules(file);
  const jiti = createJiti(file, {
    fsCache: false,
    moduleCache: false,
    interopDefault: false,
    virtualModules,
  });
  try {
    return namespaceOf(await jiti.import<Record<string, unknown>>(file));
  } catch (thrown) {
    throw new Problem(loadProblem(thrown, file), EXIT.usage, { cause: thrown });
  }
}

/** The exports by name; those of a CommonJS module are also in its `default`. */
function namespaceOf(exported: Record<string, unknown>): Record<string, unknown> {
  const { default: main, ...named } = exported;
  if (main === undefined) return named;
  const isNamespace = Object.prototype.toString.call(main) === '[object Object]' && !resembles(main);
  return isNamespace ? { ...main, ...named } : exported;
}

/**
 * `claimcheck` is this very installation, so that its classes are the same ones. zod and the AI SDK are the module's own where it
 * has them, and else ours.
 */
async function ownModules(file: string): Promise<Record<string, unknown>> {
  const own: Record<string, unknown> = {
    claimcheck: await import('../index.ts'),
    'claimcheck/testing': await import('../testing.ts'),
  };
  if (!hasOwn(file, 'zod')) own['zod'] = await import('zod');
  // it takes a fifth of a second to load, so where the module does not name it, it is not
  if (!hasOwn(file, 'ai') && /['"]ai['"]/.test(readFileSync(file, 'utf8'))) own['ai'] = await import('ai');
  return own;
}

function hasOwn(file: string, name: string): boolean {
  try {
    createRequire(file).resolve(name);
    return true;
  } catch {
    return false;
  }
}

function workflowsIn(name: string, value: unknown, file: string): WorkflowDefinition[] {
  if (Array.isArray(value)) {
    if (name !== 'default' && !value.some(resembles)) return [];
    return value.flatMap((item: unknown, index) => workflowsIn(`${name}[${index}]`, item, file));
  }
  const problem = definitionProblem(value);
  if (problem === null) return [value as WorkflowDefinition];
  const meant = resembles(value) || name.startsWith('default') || name.endsWith(']');
  if (!meant) return [];
  throw new Problem(`${at(file, name)}: the export ${name} is no workflow: ${problem}.`, EXIT.usage);
}

/** Whether somebody meant a workflow: an object with a `run`, or with a name and a version. */
function resembles(value: unknown): boolean {
  if (value === null || typeof value !== 'object') return false;
  return 'run' in value || ('name' in value && 'version' in value);
}

function refuseTwins(workflows: readonly WorkflowDefinition[], file: string): void {
  const seen = new Set<string>();
  for (const { name, version } of workflows) {
    const both = `${name} version ${version}`;
    if (seen.has(both)) {
      throw new Problem(`${shown(file)} exports two workflows named ${both}.`, EXIT.usage);
    }
    seen.add(both);
  }
}

/** What went wrong while the module was read or run, with the place. */
function loadProblem(thrown: unknown, file: string): string {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  const syntax = /ParseError: (.*?)\s*\n\s*(\S.*?):(\d+):(\d+)/s.exec(error.message);
  if (syntax !== null) {
    const [, what = '', where = '', line, column] = syntax;
    return `${shown(where)}:${line}:${column}: syntax error: ${what.trim().replace(/\.$/, '')}.`;
  }
  const missing = /^Cannot find (?:module|package) '([^']+)'/.exec(error.message);
  if (missing !== null) return missingModule(missing[1] ?? '', importer(error, file));
  const [first = 'an empty error'] = error.message.split('\n');
  return `${thrownAt(error, file)}: it threw while it was loaded: ${error.name}: ${first}`;
}

function missingModule(specifier: string, from: string): string {
  const way = specifier.startsWith('.') ? 'check the path' : `run npm install ${specifier} beside it`;
  const place = placeOf(from, (line) =>
    Math.max(line.indexOf(`'${specifier}'`), line.indexOf(`"${specifier}"`)),
  );
  return `${place}: cannot find the module ${specifier}; ${way}.`;
}

function importer(error: Error, file: string): string {
  const [from] = (error as { requireStack?: string[] }).requireStack ?? [];
  return from ?? file;
}

/** Where this installation's own modules are. */
const OWN = fileURLToPath(new URL('..', import.meta.url));

/** The innermost line of the stack that lies in the user's own files. */
function thrownAt(error: Error, file: string): string {
  for (const [, where = '', line] of (error.stack ?? '').matchAll(
    /(?:\(|at |file:\/\/)(\/[^():]+|[A-Za-z]:[^():]+):(\d+):\d+/g,
  )) {
    if (!where.includes('node_modules') && !where.startsWith(OWN)) return `${shown(where)}:${line}`;
  }
  return shown(file);
}

/** Where a module's source names an export. */
function at(file: string, name: string): string {
  const word = name.replace(/\[.*$/, '');
  const pattern = new RegExp(`\\bexport\\b.*\\b${word.replace(/\W/g, '')}\\b`);
  return placeOf(file, (line) => line.search(pattern));
}

/** `file:line:column` of the first line in which `find` sees something, or the file alone. */
function placeOf(file: string, find: (line: string) => number): string {
  const lines = readFileSync(file, 'utf8').split('\n');
  const line = lines.findIndex((text) => find(text) >= 0);
  const column = find(lines[line] ?? '');
  return line < 0 ? shown(file) : `${shown(file)}:${line + 1}:${column + 1}`;
}

/** A path as its user would type it: relative where that is shorter. */
function shown(file: string): string {
  const near = relative(process.cwd(), file);
  return near.startsWith('..') || near === '' ? file : near;
}
