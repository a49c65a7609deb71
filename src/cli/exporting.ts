/** `show --out`: everything of a job as plain files, under names of our own making. */
import { createWriteStream } from 'node:fs';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { RecordJson } from '../domain/view.ts';
import { Refusal } from './desk.ts';
import type { Desk } from './desk.ts';
import { EXIT, Problem } from './problem.ts';
import { jsonText } from './text.ts';

export interface Exported {
  written: string[];
  /** What the record refers to and could not be had, and why. */
  missing: string[];
}

/** @throws Problem where the directory holds something already, or cannot be written */
export async function exportJob(
  desk: Desk,
  record: RecordJson,
  { dir, force }: { dir: string; force: boolean },
): Promise<Exported> {
  await prepare(dir, force);
  const exported: Exported = { written: [], missing: [] };
  const target = (...parts: string[]) => join(dir, ...parts);

  async function save(path: string, reference: string, open: () => Promise<Readable>): Promise<void> {
    try {
      const stream = await open();
      await mkdir(join(path, '..'), { recursive: true });
      await pipeline(stream, createWriteStream(path));
      exported.written.push(path);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      exported.missing.push(`${reference}: ${error.message}`);
    }
  }

  async function saveText(path: string, text: string): Promise<void> {
    await writeFile(path, text);
    exported.written.push(path);
  }

  await saveText(target('record.json'), `${jsonText(record)}\n`);
  await saveText(target('input.json'), `${jsonText(record.input)}\n`);
  if (record.input_ref !== null) {
    const name = `input-${safeName(record.input_ref)}`;
    await save(target(name), record.input_ref, () => desk.inputFile(record.job_id));
  }
  if (record.artifact !== null) {
    const name = `artifact-${safeName(record.artifact.uri)}`;
    await save(target(name), record.artifact.uri, () => desk.artifact(record.job_id, null));
  }
  for (const { name } of record.artifacts) {
    await save(target('artifacts', safeName(name)), name, () => desk.artifact(record.job_id, name));
  }
  for (const { attempt, evidence = [] } of record.errors) {
    for (const { uri, kind } of evidence) {
      const name = `attempt-${attempt}-${safeName(kind)}-${safeName(uri)}`;
      await save(target('evidence', name), uri, () => desk.evidence(record.job_id, uri));
    }
  }
  return exported;
}

async function prepare(dir: string, force: boolean): Promise<void> {
  try {
    await mkdir(dir, { recursive: true });
    const found = await readdir(dir);
    if (found.length === 0 || force) return;
  } catch (error) {
    throw new Problem(`Cannot write to ${dir}: ${(error as Error).message}.`, EXIT.usage);
  }
  throw new Problem(`${dir} is not empty; give another directory, or --force.`, EXIT.usage);
}

/** The last part of a reference, with nothing in it that a file system or a shell could take for more than a name. */
function safeName(reference: string): string {
  const name = basename(reference.replaceAll('\\', '/'))
    .replace(/[^A-Za-z0-9._-]/g, '_')
    .replace(/^\.+/, '_');
  return name === '' ? '_' : name.slice(-100);
}
