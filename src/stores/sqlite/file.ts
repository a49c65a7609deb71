/** The file of a store: opened, checked, set to survive a power loss, and brought to the tables of this version. */
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import { StoreUnavailableError } from '../../ports/job-store.ts';
import { BLOCKING_WAIT_MS } from './connection.ts';
import type { Connection } from './connection.ts';
import { migrate, pragma, refuseForeign } from './migrate.ts';

/** SQLite before this one can corrupt a WAL that several processes share. */
const OLDEST_SQLITE = [3, 51, 3] as const;

const SYNCHRONOUS_FULL = 2;

export function openFile(path: string): DatabaseSyncInstance {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    makeOwnersOnly(path);
    return new DatabaseSync(path, { timeout: BLOCKING_WAIT_MS });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new StoreUnavailableError(`${path} cannot be opened: ${reason}`, { cause: error });
  }
}

/**
 * SQLite would make the file readable for everybody. `-wal` and `-shm` get the mode that it has. A file that is there is not
 * opened here: closing it again would drop the locks that SQLite may hold on it in this process.
 */
function makeOwnersOnly(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

export async function prepareFile(connection: Connection, path: string): Promise<void> {
  const { db } = connection;
  // Until the file is in WAL mode, another process that opens it at this moment may lock it even against reading.
  await connection.patiently(() => {
    const { version } = db.prepare('SELECT sqlite_version() AS version').get() as { version: string };
    refuseOldSqlite(version);
    refuseForeign(db, path);
    if (pragma(db, 'journal_mode = WAL') !== 'wal') {
      throw new Error(
        `${path} is on a file system that SQLite's WAL cannot use; put the store on a local disk`,
      );
    }
    db.exec('PRAGMA synchronous = FULL; PRAGMA cache_size = -32768; PRAGMA temp_store = MEMORY');
    // The log is checkpointed every 1,000 pages, as SQLite does by default: rewritten in place it is synced sooner than while it grows.
    db.exec('PRAGMA journal_size_limit = 67108864');
  });
  await connection.write(() => migrate(db, path));
}

export function refuseOldSqlite(version: string): void {
  const found = version.split('.').map(Number);
  const at = OLDEST_SQLITE.findIndex((part, index) => part !== found[index]);
  if (at === -1 || (found[at] ?? 0) > (OLDEST_SQLITE[at] ?? 0)) return;
  throw new Error(`SQLite ${version} is too old: ${OLDEST_SQLITE.join('.')} or newer is needed`);
}

/** To be called after the first write: before it, SQLite may report a level that it does not use. */
export function requireDurable(db: DatabaseSyncInstance, path: string): void {
  const level = pragma(db, 'synchronous');
  if (level !== SYNCHRONOUS_FULL)
    throw new Error(`${path} is not synced at each commit (synchronous = ${String(level)})`);
}
