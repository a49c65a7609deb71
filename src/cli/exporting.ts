/**
 * `show --out`: everything of a job as plain files, under names of our own making and for their owner alone. Where something of such a
 * name is there already, it is replaced and never written through: a link of that name may lead anywhere.
 */
import { createWriteStream } from 'node:fs';
import { lstat, mkdir, readdir, unlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { RecordJson } from '../domain/view.ts';
import { Refusal } from './desk.ts';
import type { Desk } from './desk.ts';
import { fileReason } from './file-reasons.ts';
import { EXIT, Problem } from './problem.ts';
import { jsonText } from './text.ts';

export interface Exported {
  written: string[];
  /** What the record refers to and could not be had, and why. */
  missing: string[];
}

/** A file below the directory, in a folder of its own kind or in none. */
type Place = [name: string] | [folder: 'artifacts' | 'evidence', name: string];

/** @throws Problem where the directory holds something already, or cannot be written */
export async function exportJob(
  desk: Desk,
  record: RecordJson,
  { dir, force }: { dir: string; force: boolean },
): Promise<Exported> {
  await prepare(dir, force);
  const exported: Exported = { written: [], missing: [] };

  async function write(place: Place, stream: Readable): Promise<void> {
    const path = join(dir, ...place);
    if (place.length === 2) await makePlain(join(dir, place[0]));
    await unlink(path).catch(absent);
    await pipeline(stream, createWriteStream(path, { flags: 'wx', mode: 0o600 }));
    exported.written.push(path);
  }

  async function save(place: Place, reference: string, open: () => Promise<Readable>): Promise<void> {
    try {
      await write(place, await open());
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      exported.missing.push(`${reference}: ${error.message}`);
    }
  }

  await write(['record.json'], Readable.from(`${jsonText(record)}\n`));
  await write(['input.json'], Readable.from(`${jsonText(record.input)}\n`));
  if (record.input_ref !== null) {
    const name = `input-${safeName(record.input_ref)}`;
    await save([name], record.input_ref, () => desk.inputFile(record.job_id));
  }
  if (record.artifact !== null) {
    const name = `artifact-${safeName(record.artifact.uri)}`;
    await save([name], record.artifact.uri, () => desk.artifact(record.job_id, null));
  }
  for (const { name } of record.artifacts) {
    await save(['artifacts', safeName(name)], name, () => desk.artifact(record.job_id, name));
  }
  for (const { attempt, uri } of evidenceOf(record)) {
    const name = `attempt-${attempt}-${safeName(uri)}`;
    await save(['evidence', name], uri, () => desk.evidence(record.job_id, uri));
  }
  return exported;
}

/** What explains failed attempts, and what models answered: each once, where it came from. */
function evidenceOf({ errors, calls = [] }: RecordJson): { attempt: number; uri: string }[] {
  const explained = errors.flatMap(({ attempt, evidence = [] }) =>
    evidence.map(({ uri }) => ({ attempt, uri })),
  );
  const answered = calls.flatMap(({ attempt, response }) =>
    response === null ? [] : [{ attempt, uri: response.uri }],
  );
  const all = [...answered, ...explained];
  return all.filter(({ uri }, index) => all.findIndex((one) => one.uri === uri) === index);
}

async function prepare(dir: string, force: boolean): Promise<void> {
  try {
    await mkdir(dir, { recursive: true, mode: 0o700 });
    const found = await readdir(dir);
    if (found.length === 0 || force) return;
  } catch (error) {
    throw new Problem(`Cannot write to ${dir}: ${fileReason(error, 'write')}.`, EXIT.usage);
  }
  throw new Problem(`${dir} is not empty; give another directory, or --force.`, EXIT.usage);
}

/** @throws Problem where something else is in its place, a symbolic link to a directory included */
async function makePlain(dir: string): Promise<void> {
  await mkdir(dir, { mode: 0o700 }).catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
    if (!(await lstat(dir)).isDirectory()) {
      throw new Problem(`${dir} is no directory of its own; give another one to --out.`, EXIT.usage);
    }
  });
}

function absent(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error;
}

/** The last part of a reference, with nothing in it that a file system or a shell could take for more than a name. */
function safeName(reference: string): string {
  const name = basename(reference.replaceAll('\\', '/'))
    .replace(/[^A-Za-z0-9._-]/g, '_')
    .replace(/^\.+/, '_');
  return name === '' ? '_' : name.slice(-100);
}
