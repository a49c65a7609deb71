/**
 * The store for many machines: a schema in a PostgreSQL database that any number of processes share.
 *
 * Nothing here decides what happens to a job: `moves.ts` applies what the domain decided. The database's clock is the only
 * one; whatever a process's own clock says, no lease, due time or deadline depends on it.
 */
import type { NewRequest } from '../../domain/accept.ts';
import type { Rules } from '../../domain/decide.ts';
import type { Enqueued, JobStore } from '../../ports/job-store.ts';
import type { Store } from '../../ports/store.ts';
import { Held } from '../shared/held.ts';
import { actVerb } from './act.ts';
import { claimVerb } from './claim.ts';
import { Connection } from './connection.ts';
import type { Executor } from './connection.ts';
import type { StoreContext } from './context.ts';
import { enqueueVerb, Intake } from './enqueue.ts';
import { isOutsideTransaction } from './errors.ts';
import { keyStore } from './keys.ts';
import { Lanes } from './lanes.ts';
import { evidenceStore } from './evidence.ts';
import { ledgerOf } from './ledger.ts';
import { listVerb } from './list.ts';
import { listen } from './listener.ts';
import type { Hint } from './listener.ts';
import { checkSchemaName, dryRun, migrate, requireRights } from './migrate.ts';
import { Marks } from './marks.ts';
import { Moves } from './moves.ts';
import { readVerbs } from './reads.ts';
import { sessionVerbs } from './sessions.ts';
import { settleVerbs } from './settle.ts';
import { prepared } from './statements.ts';
import { sweepVerbs } from './sweep.ts';
import { uploadStore } from './uploads.ts';

export interface PostgresStoreOptions {
  /** `postgres://user:password@host:port/database?sslmode=...` */
  url: string;
  /** The schema that holds the tables; made where it is missing. */
  schema: string;
  rules: Rules;
  /** Called with what another process, or this one, has told. Only a hint. */
  onHint?: (hint: Hint) => void;
}

/**
 * @throws SchemaRefusedError with a sentence for its operator where the schema is not ours or is newer than this version;
 * MigrationDeniedError where it has to be migrated and this role may not; MissingRightsError where this role may not use all of its tables
 * @throws StoreUnavailableError where the server cannot be reached
 */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<Store> {
  const { url, schema, onHint } = options;
  checkSchemaName(schema);
  const connection = new Connection(url, schema);
  try {
    await migrate(connection);
    await requireRights(connection);
    const context = assemble(connection, options);
    const store = { ...verbs(context), description: describe(url, schema) };
    await store.jobs.ping();
    const listener = onHint === undefined ? null : listen({ url, channel: connection.channel, onHint });
    return {
      ...store,
      async close() {
        await Promise.all([listener?.close(), connection.close()]);
      },
    };
  } catch (error) {
    await connection.close();
    throw error;
  }
}

/** The SQL that opening a store there would run first; nothing where its schema is up to date. */
export async function outstandingMigrations({
  url,
  schema,
}: {
  url: string;
  schema: string;
}): Promise<string> {
  checkSchemaName(schema);
  const connection = new Connection(url, schema);
  try {
    return await dryRun(connection);
  } finally {
    await connection.close();
  }
}

function assemble(connection: Connection, { rules }: PostgresStoreOptions): StoreContext {
  const lanes = new Lanes(connection);
  const marks = new Marks();
  const moves = new Moves(connection, lanes, marks, rules);
  return { connection, lanes, moves, marks, held: new Held(), rules };
}

function verbs(context: StoreContext): Pick<Store, 'jobs' | 'ledger' | 'evidence' | 'keys' | 'uploads'> {
  return {
    jobs: jobStore(context),
    ledger: ledgerOf(context),
    evidence: evidenceStore(context),
    keys: keyStore(context),
    uploads: uploadStore(context),
  };
}

function jobStore(context: StoreContext): JobStore {
  const intake = new Intake(context);
  const { touch } = prepared<{ touch: never }>(context.connection, 'ping');
  return {
    enqueue: enqueueVerb(intake),
    enqueueWithin: (tx, request) => enqueueWithin(intake, tx, request),
    claim: claimVerb(context),
    act: actVerb(context),
    list: listVerb(context),
    ...sessionVerbs(context),
    ...settleVerbs(context),
    ...sweepVerbs(context),
    ...readVerbs(context),
    ping: async () => void (await touch.count({})),
  };
}

async function enqueueWithin(intake: Intake, tx: unknown, request: NewRequest): Promise<Enqueued> {
  const client = tx as Executor | null;
  if (typeof client?.query !== 'function') {
    throw new TypeError('`tx` has to be a client of the package pg, within a transaction');
  }
  return intake.enqueueWithin(client, request).catch((error: unknown) => {
    if (!isOutsideTransaction(error)) throw error;
    throw new TypeError(
      '`tx` is in no transaction: send BEGIN over it first. It has to be one client, since a pool may take another for each statement',
      { cause: error },
    );
  });
}

/** For people, and without the password. */
function describe(url: string, schema: string): string {
  if (!URL.canParse(url)) return `postgres, schema ${schema}`;
  const { host, pathname } = new URL(url);
  return `postgres ${host}${pathname}, schema ${schema}`;
}
