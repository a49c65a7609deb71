/**
 * The store for one machine: a SQLite file that several processes share.
 *
 * The file is in WAL mode, where readers and the one writer do not wait for each other, and every commit is synced
 * to the disk. Nothing here decides what happens to a job: `moves.ts` writes what the domain decided.
 */
import { resolve } from 'node:path';
import type { Rules } from '../../domain/decide.ts';
import type { JobStore } from '../../ports/job-store.ts';
import type { Store } from '../../ports/store.ts';
import { Held } from '../shared/held.ts';
import { actVerb } from './act.ts';
import { Claims, claimVerb } from './claim.ts';
import { Connection } from './connection.ts';
import type { StoreContext } from './context.ts';
import { enqueueVerb } from './enqueue.ts';
import { openFile, prepareFile, requireDurable } from './file.ts';
import { keyStore } from './keys.ts';
import { Lanes } from './lanes.ts';
import { evidenceStore } from './evidence.ts';
import { ledgerOf } from './ledger.ts';
import { listVerb } from './list.ts';
import { Moves } from './moves.ts';
import { Numbers } from './numbers.ts';
import { readVerbs } from './reads.ts';
import { sessionVerbs } from './sessions.ts';
import { settleVerbs } from './settle.ts';
import { StandingClaims } from './standing.ts';
import { prepared } from './statements.ts';
import { sweepVerbs } from './sweep.ts';
import { uploadStore } from './uploads.ts';

export interface SqliteStoreOptions {
  /** The file; it and its directory are made where they are missing. */
  path?: string;
  /** The directory of the file `claimcheck.db`; give this or `path`. */
  dataDir?: string;
  rules: Rules;
  /** Milliseconds since 1970; `Date.now` by default. */
  now?: () => number;
  /** How long a verb waits for another process's write lock before it rejects; 5 s by default. */
  busyMs?: number;
}

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
    const store = await connection.patiently(() => assemble(connection, path, options));
    await store.jobs.ping();
    requireDurable(db, path);
    return store;
  } catch (error) {
    await connection.close();
    throw error;
  }
}

function pathOf({ path, dataDir }: SqliteStoreOptions): string {
  if (path !== undefined) return resolve(path);
  if (dataDir !== undefined) return resolve(dataDir, 'claimcheck.db');
  throw new Error('a SQLite store needs a path or a data directory');
}

function assemble(connection: Connection, path: string, options: SqliteStoreOptions): Store {
  const lanes = new Lanes(connection);
  const { rules } = options;
  const now = neverFalling(options.now ?? Date.now);
  const moves = new Moves(connection, lanes, rules);
  const numbers = new Numbers(connection);
  const context: StoreContext = { connection, lanes, moves, held: new Held(), numbers, rules, now };
  return {
    description: `sqlite ${path}`,
    jobs: jobStore(context),
    ledger: ledgerOf(context),
    evidence: evidenceStore(context),
    keys: keyStore(context),
    uploads: uploadStore(context),
    close: () => connection.close(),
  };
}

function jobStore(context: StoreContext): JobStore {
  const { touch } = prepared<{ touch: never }>(context.connection.db, 'ping');
  const claims = new Claims(context);
  const standing = new StandingClaims(context.connection, claims);
  return {
    enqueue: enqueueVerb(context, standing),
    claim: claimVerb(context, claims),
    standBy: (params) => standing.add(params),
    act: actVerb(context),
    list: listVerb(context),
    ...sessionVerbs(context),
    ...settleVerbs(context),
    ...sweepVerbs(context),
    ...readVerbs(context),
    ping: () => context.connection.write(() => touch.run({ now: context.now() })),
  };
}

function neverFalling(clock: () => number): () => number {
  let latest = 0;
  return () => {
    latest = Math.max(latest, clock());
    return latest;
  };
}
