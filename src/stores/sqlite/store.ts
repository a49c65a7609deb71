/**
 * The store for one machine: a SQLite file that several processes share.
 *
 * The file is in WAL mode, where readers and the one writer do not wait for each other, and every commit is synced
 * to the disk. Nothing here decides what happens to a job: `moves.ts` writes what the domain decided.
 */
import { mkdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import type { Rules } from '../../domain/decide.ts';
import { StoreUnavailableError } from '../../ports/job-store.ts';
import type { JobStore } from '../../ports/job-store.ts';
import type { Store } from '../../ports/store.ts';
import { actVerb } from './act.ts';
import { claimVerb } from './claim.ts';
import { BLOCKING_WAIT_MS, Connection } from './connection.ts';
import type { StoreContext } from './context.ts';
import { enqueueVerb } from './enqueue.ts';
import { keyStore } from './keys.ts';
import { Lanes } from './lanes.ts';
import { listVerb } from './list.ts';
import { migrate, pragma, refuseForeign } from './migrate.ts';
import { Moves } from './moves.ts';
import { Numbers } from './numbers.ts';
import { readVerbs } from './reads.ts';
import { sessionVerbs } from './sessions.ts';
import { settleVerbs } from './settle.ts';
import { prepared } from './statements.ts';
import { sweepVerbs } from './sweep.ts';
import { uploadStore } from './uploads.ts';

export interface SqliteStoreOptions {
  /** The file; it and its directory are made where they are missing. */
  path?: string;
  /** The directory that holds the file `claimcheck.db`; give this or `path`. */
  dataDir?: string;
  rules: Rules;
  /** Milliseconds since 1970; `Date.now` by default. */
  now?: () => number;
  /** How long a verb waits for another process's write lock before it rejects; 5 s by default. */
  busyMs?: number;
}

/** SQLite before this one can corrupt a WAL that several processes share. */
const OLDEST_SQLITE = [3, 51, 3];

const SYNCHRONOUS_FULL = 2;

/**
 * @throws Error with a sentence for its operator where the file is not ours, is newer than this version, or cannot be
 * made durable
 * @throws StoreUnavailableError where the file cannot be opened or stays locked
 */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  const path = pathOf(options);
  const db = openFile(path);
  const connection = new Connection(db, options.busyMs ?? 5000);
  try {
    await prepareFile(connection, path);
    return await assemble(connection, path, options);
  } catch (error) {
    await connection.close();
    throw error;
  }
}

function pathOf({ path, dataDir }: SqliteStoreOptions): string {
  if (path !== undefined) return resolve(path);
  if (dataDir !== undefined) return resolve(join(dataDir, 'claimcheck.db'));
  throw new Error('a SQLite store needs a path or a data directory');
}

function openFile(path: string): DatabaseSyncInstance {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const db = new DatabaseSync(path, { timeout: BLOCKING_WAIT_MS });
    refuseOldSqlite(db);
    return db;
  } catch (error) {
    if (error instanceof OldSqliteError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new StoreUnavailableError(`${path} cannot be opened: ${reason}`, { cause: error });
  }
}

class OldSqliteError extends Error {
  override readonly name = 'OldSqliteError';
}

function refuseOldSqlite(db: DatabaseSyncInstance): void {
  const { version } = db.prepare('SELECT sqlite_version() AS version').get() as { version: string };
  const found = version.split('.').map(Number);
  const at = OLDEST_SQLITE.findIndex((part, index) => part !== found[index]);
  if (at === -1 || (found[at] ?? 0) > (OLDEST_SQLITE[at] ?? 0)) return;
  db.close();
  throw new OldSqliteError(`SQLite ${version} is too old: ${OLDEST_SQLITE.join('.')} or newer is needed`);
}

async function prepareFile(connection: Connection, path: string): Promise<void> {
  const { db } = connection;
  await connection.patiently(() => {
    refuseForeign(db, path);
    if (pragma(db, 'journal_mode = WAL') !== 'wal') {
      throw new Error(`${path} is on a file system without shared memory, which SQLite's WAL needs; use a local disk`);
    }
    db.exec('PRAGMA synchronous = FULL; PRAGMA cache_size = -32768; PRAGMA temp_store = MEMORY');
    db.exec('PRAGMA wal_autocheckpoint = 4000; PRAGMA journal_size_limit = 67108864');
  });
  await connection.write(() => migrate(db, path));
}

async function assemble(connection: Connection, path: string, options: SqliteStoreOptions): Promise<Store> {
  const lanes = new Lanes(connection);
  const { rules } = options;
  const now = neverFalling(options.now ?? Date.now);
  const moves = new Moves(connection, lanes, rules);
  const context: StoreContext = { connection, lanes, moves, numbers: new Numbers(connection), rules, now };
  const jobs = jobStore(context);
  await jobs.ping();
  requireDurable(connection.db, path);
  return {
    description: `sqlite ${path}`,
    jobs,
    keys: keyStore(context),
    uploads: uploadStore(context),
    close: () => connection.close(),
  };
}

/** Read after the first write: before it, SQLite may report a level that it does not use. */
function requireDurable(db: DatabaseSyncInstance, path: string): void {
  const level = pragma(db, 'synchronous');
  if (level !== SYNCHRONOUS_FULL) throw new Error(`${path} is not synced at each commit (synchronous = ${level})`);
}

function jobStore(context: StoreContext): JobStore {
  const { touch } = prepared<{ touch: never }>(context.connection.db, 'ping');
  return {
    enqueue: enqueueVerb(context),
    claim: claimVerb(context),
    act: actVerb(context),
    list: listVerb(context),
    ...sessionVerbs(context),
    ...settleVerbs(context),
    ...sweepVerbs(context),
    ...readVerbs(context),
    ping: () => context.connection.write(() => void touch.run({ now: context.now() })),
  };
}

function neverFalling(clock: () => number): () => number {
  let latest = 0;
  return () => {
    latest = Math.max(latest, clock());
    return latest;
  };
}
