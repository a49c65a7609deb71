/**
 * Brings a file to the tables that this version knows. All outstanding migrations are one transaction under the
 * write lock, so of two processes that open a new file at the same moment one makes the tables and the other finds
 * them made. The version is in the file's own header.
 */
import { readdirSync, readFileSync } from 'node:fs';
import type { DatabaseSyncInstance } from '@photostructure/sqlite';

/** Marks the file as one of ours: "clmc" in ASCII. */
const APPLICATION_ID = 0x636c6d63;

const DIRECTORY = new URL('migrations/', import.meta.url);

interface Migration {
  version: number;
  file: string;
}

/** @throws Error where the file belongs to something else, or to a newer version */
export function refuseForeign(db: DatabaseSyncInstance, path: string): void {
  const id = pragma(db, 'application_id');
  const tables = db.prepare('SELECT count(*) AS count FROM sqlite_master').get() as { count: number };
  if (id !== APPLICATION_ID && (id !== 0 || tables.count > 0)) {
    throw new Error(`${path} is a database of another program; give another path or data directory`);
  }
  const version = Number(pragma(db, 'user_version'));
  const newest = migrations().at(-1)?.version ?? 0;
  if (version > newest) {
    throw new Error(
      `${path} was written by a newer version of Claimcheck (its tables are version ${version}, this one knows ` +
        `${newest}); start that version, or give another data directory`,
    );
  }
}

/** Applies what is outstanding. Only within a write. */
export function migrate(db: DatabaseSyncInstance, path: string): void {
  refuseForeign(db, path);
  const version = Number(pragma(db, 'user_version'));
  for (const migration of migrations()) {
    if (migration.version <= version) continue;
    db.exec(readFileSync(new URL(migration.file, DIRECTORY), 'utf8'));
    db.exec(`PRAGMA user_version = ${migration.version}; PRAGMA application_id = ${APPLICATION_ID}`);
  }
}

function migrations(): Migration[] {
  return readdirSync(DIRECTORY)
    .filter((file) => file.endsWith('.sql'))
    .map((file) => ({ version: Number.parseInt(file, 10), file }))
    .toSorted((a, b) => a.version - b.version);
}

/** The version of the tables that this version of Claimcheck works with. */
export function schemaVersion(): number {
  return migrations().at(-1)?.version ?? 0;
}

export function pragma(db: DatabaseSyncInstance, name: string): unknown {
  const row = db.prepare(`PRAGMA ${name}`).get() as Record<string, unknown> | undefined;
  return row === undefined ? undefined : Object.values(row)[0];
}
