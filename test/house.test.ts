/**
 * The linter refuses what the house forbids. A small clone with one file a case is linted once, and
 * every file has to be refused for its own reason, or not at all.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { toolScript } from '../scripts/launcher/paths.mjs';

interface Case {
  file: string;
  code: string;
  /** The rule that refuses the file; without one the file is clean. */
  rule?: string;
}

const ROOT = resolve(import.meta.dirname, '..');

/** What the imports of the cases point at. */
const TARGETS: Record<string, string> = {
  'src/domain/known.ts': 'export type Known = { id: string };\nexport const known: Known = { id: "a" };\n',
  'src/ports/port.ts': 'export interface Port { name: string }\nexport const port: Port = { name: "a" };\n',
  'src/engine/part.ts': 'export const part = 1;\n',
  'src/stores/sqlite/store.ts': 'export const store = 1;\n',
  'src/http/app.ts': 'export const app = 1;\n',
  'src/main/wiring.ts': 'export const wiring = 1;\n',
  'src/testkit/fake.ts': 'export const fake = 1;\n',
};

const IMPORTS = 'house(imports)';
const ENV = 'house(no-process-env)';
const CLOCK = 'house(no-clock)';

const CASES: readonly Case[] = [
  { file: 'src/domain/a.ts', code: "export * from './known.ts';" },
  { file: 'src/domain/b.ts', code: "export * from '../ports/port.ts';", rule: IMPORTS },
  { file: 'src/domain/c.ts', code: "export type { Stats } from 'node:fs';", rule: IMPORTS },
  { file: 'src/domain/d.ts', code: "export { z } from 'zod';", rule: IMPORTS },
  { file: 'src/domain/deep/e.ts', code: "export * from '../known.ts';" },
  { file: 'src/domain/f.ts', code: "export const later = () => import('../engine/part.ts');", rule: IMPORTS },
  { file: 'src/domain/g.ts', code: "export type G = import('../engine/part.ts').G;", rule: IMPORTS },

  { file: 'src/ports/a.ts', code: "export * from '../domain/known.ts';" },
  { file: 'src/ports/b.ts', code: "export * from '../engine/part.ts';", rule: IMPORTS },
  { file: 'src/ports/c.ts', code: "export { join } from 'node:path';", rule: IMPORTS },
  { file: 'src/ports/d.ts', code: "export type { Readable } from 'node:stream';" },

  { file: 'src/engine/a.ts', code: "export * from '../ports/port.ts';\nexport { join } from 'node:path';" },
  { file: 'src/engine/b.ts', code: "export * from '../stores/sqlite/store.ts';", rule: IMPORTS },
  { file: 'src/engine/c.ts', code: "export { pino } from 'pino';", rule: IMPORTS },
  { file: 'src/engine/d.ts', code: "export * from '../testkit/fake.ts';", rule: IMPORTS },
  { file: 'src/engine/e.ts', code: "export type { StandardSchemaV1 } from '@standard-schema/spec';" },

  { file: 'src/stores/sqlite/a.ts', code: "export { DatabaseSync } from '@photostructure/sqlite';" },
  { file: 'src/stores/sqlite/b.ts', code: "export * from '../../engine/part.ts';", rule: IMPORTS },
  { file: 'src/stores/postgres/a.ts', code: "export * from '../sqlite/store.ts';", rule: IMPORTS },
  { file: 'src/stores/shared/a.ts', code: "export * from '../sqlite/store.ts';", rule: IMPORTS },
  { file: 'src/stores/a.ts', code: 'export const a = 1;', rule: IMPORTS },
  { file: 'src/isolation/a.ts', code: "export { Tinypool } from 'tinypool';" },
  { file: 'src/isolation/b.ts', code: "export * from '../engine/part.ts';", rule: IMPORTS },
  { file: 'src/engine/g.ts', code: "export { Tinypool } from 'tinypool';", rule: IMPORTS },
  { file: 'src/blobs/a.ts', code: "export * from '../engine/part.ts';", rule: IMPORTS },
  { file: 'src/models/a.ts', code: "export * from '../engine/part.ts';", rule: IMPORTS },

  { file: 'src/http/a.ts', code: "export * from '../engine/part.ts';\nexport { Hono } from 'hono';" },
  { file: 'src/http/b.ts', code: "export type { Port } from '../ports/port.ts';" },
  { file: 'src/http/c.ts', code: "export { port } from '../ports/port.ts';", rule: IMPORTS },
  { file: 'src/http/d.ts', code: "export * from '../stores/sqlite/store.ts';", rule: IMPORTS },
  { file: 'src/cli/a.ts', code: "export { Command } from 'commander';" },
  { file: 'src/cli/b.ts', code: "export * from '../http/app.ts';", rule: IMPORTS },
  { file: 'src/cli/c.ts', code: "export * from '../main/wiring.ts';", rule: IMPORTS },

  { file: 'src/testkit/a.ts', code: "export * from '../stores/sqlite/store.ts';" },
  { file: 'src/testkit/b.ts', code: "export * from '../http/app.ts';", rule: IMPORTS },
  { file: 'src/examples/a.ts', code: "export * from '../engine/part.ts';\nexport { z } from 'zod';" },
  { file: 'src/examples/b.ts', code: "export * from '../stores/sqlite/store.ts';", rule: IMPORTS },
  { file: 'src/examples/c.ts', code: "export * from '../main/wiring.ts';", rule: IMPORTS },
  { file: 'src/main/a.ts', code: "export * from '../http/app.ts';\nexport * from '../testkit/fake.ts';" },
  { file: 'src/main/b.ts', code: "export * from '../../test/x.ts';", rule: IMPORTS },
  { file: 'src/attic/a.ts', code: 'export const a = 1;', rule: IMPORTS },
  { file: 'src/domain/a.test.ts', code: "export * from '../testkit/fake.ts';" },

  { file: 'src/main/env.ts', code: "export const home = process.env['HOME'];" },
  { file: 'src/engine/env-a.ts', code: "export const home = process.env['HOME'];", rule: ENV },
  { file: 'src/engine/env-b.ts', code: 'export const { env } = process;', rule: ENV },
  { file: 'src/engine/env-c.ts', code: "export const all = globalThis.process['env'];", rule: ENV },
  {
    file: 'src/engine/env-d.ts',
    code: "import { env } from 'node:process';\nexport const all = env;",
    rule: ENV,
  },
  { file: 'src/engine/argv.ts', code: 'export const all = process.argv;' },

  { file: 'src/domain/time-a.ts', code: 'export const at = new Date();', rule: CLOCK },
  { file: 'src/domain/time-b.ts', code: 'export const at = new Date(0);' },
  {
    file: 'src/domain/time-c.ts',
    code: 'export const at = Date.now();',
    rule: 'eslint(no-restricted-properties)',
  },
  {
    file: 'src/domain/chance.ts',
    code: 'export const a = Math.random();',
    rule: 'eslint(no-restricted-properties)',
  },
  {
    file: 'src/domain/global.ts',
    code: 'export const a = crypto.randomUUID();',
    rule: 'eslint(no-restricted-globals)',
  },
  { file: 'src/engine/time.ts', code: 'export const at = Date.now();' },

  {
    file: 'src/engine/floating.ts',
    code: 'export function go(work: () => Promise<void>): void {\n  work();\n}',
    rule: 'typescript(no-floating-promises)',
  },
  {
    file: 'src/engine/misused.ts',
    code: 'export function go(work: () => Promise<void>): void {\n  [1].forEach(work);\n}',
    rule: 'typescript(no-misused-promises)',
  },
  {
    file: 'src/engine/thenable.ts',
    code: 'export async function go(): Promise<number> {\n  return await part;\n}\nconst part: number = 1;',
    rule: 'typescript(await-thenable)',
  },
  {
    file: 'src/engine/switch.ts',
    code: "export function go(a: 'x' | 'y'): number {\n  switch (a) {\n    case 'x':\n      return 1;\n  }\n  return 2;\n}",
    rule: 'typescript(switch-exhaustiveness-check)',
  },
  { file: 'src/engine/any.ts', code: 'export const a: any = 1;', rule: 'typescript(no-explicit-any)' },
  {
    file: 'src/engine/type-import.ts',
    code: "import { Port } from '../ports/port.ts';\nexport type A = Port;",
    rule: 'typescript(consistent-type-imports)',
  },
  {
    file: 'src/engine/equal.ts',
    code: 'export const same = (a: number, b: number) => a == b;',
    rule: 'eslint(eqeqeq)',
  },
  {
    file: 'src/engine/long.ts',
    code: 'export const a = 1;\n' + '[a].at(0);\n'.repeat(400),
    rule: 'eslint(max-lines)',
  },
];

interface Diagnostic {
  code: string;
  filename: string;
}

let clone: string;
const refusals = new Map<string, string[]>();

beforeAll(() => {
  clone = mkdtempSync(join(tmpdir(), 'claimcheck-house-'));
  for (const path of ['.oxlintrc.json', 'tsconfig.json', 'package.json', 'scripts/lint']) {
    cpSync(join(ROOT, path), join(clone, path), { recursive: true });
  }
  symlinkSync(join(ROOT, 'node_modules'), join(clone, 'node_modules'));
  for (const [file, code] of Object.entries(TARGETS)) write(file, code);
  for (const { file, code } of CASES) write(file, code);
  lint();
});

afterAll(() => rmSync(clone, { recursive: true, force: true }));

function write(file: string, code: string): void {
  const path = join(clone, file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, code);
}

function lint(): void {
  const { stdout } = spawnSync(
    process.execPath,
    [toolScript('oxlint', 'oxlint'), '--format', 'json', 'src'],
    {
      cwd: clone,
      encoding: 'utf8',
    },
  );
  const { diagnostics } = JSON.parse(stdout) as { diagnostics: Diagnostic[] };
  for (const { filename, code } of diagnostics) {
    refusals.set(filename, [...(refusals.get(filename) ?? []), code]);
  }
}

describe('the linter', () => {
  test.each(CASES.filter(({ rule }) => rule !== undefined))('refuses $file: $code', ({ file, rule }) => {
    expect(refusals.get(file)).toContain(rule);
  });

  test.each(CASES.filter(({ rule }) => rule === undefined))('allows $file: $code', ({ file }) => {
    expect(refusals.get(file) ?? []).toEqual([]);
  });
});
