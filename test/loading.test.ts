/**
 * What a program loads at its start: the imports of its entry, those of the files that these import, and so on. What is imported
 * where it is first used is loaded there. An app that only hands in, or only works, holds in memory no server, driver or logger that
 * it does not use, and `--help` opens no store.
 */
import { readFileSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import { expect, test } from 'vitest';

const SRC = resolve(import.meta.dirname, '../src');
/** An import or export of values from another module. Types are gone from what is built. */
const IMPORT = /^(?:import|export) (?!type )(?:[^;]*? from )?'([^']+)';/gm;

/** Rooms of the project and names of packages. */
function loadedBy(entry: string): string[] {
  const files = new Set([resolve(SRC, entry)]);
  const packages = new Set<string>();
  for (const file of files) {
    for (const [, from = ''] of readFileSync(file, 'utf8').matchAll(IMPORT)) {
      if (from.startsWith('.')) files.add(resolve(dirname(file), from));
      else if (!from.startsWith('node:')) packages.add(from);
    }
  }
  const rooms = [...files].map((file) => dirname(relative(SRC, file)));
  return [...new Set([...packages, ...rooms])].toSorted();
}

test('an app loads the engine, and neither a store, a server nor a package that it may do without', () => {
  expect(loadedBy('index.ts')).toEqual([
    '.',
    'blobs',
    'cli',
    'domain',
    'domain/smoke',
    'engine',
    'main',
    'models',
    'ports',
    'ulid',
  ]);
});

test('a command loads what it needs once it is known which it is', () => {
  const loaded = loadedBy('main/cli.ts');
  expect(loaded).toContain('commander');
  expect(loaded).not.toContain('ulid');
  expect(loaded.filter((room) => /^(?:stores|blobs|http|models|isolation)/.test(room))).toEqual([]);
});
