/**
 * Brings a schema to the tables that this version knows. A schema that is up to date is only read, so a role that may not
 * create anything can use it. Otherwise all outstanding migrations are one transaction under an advisory lock: of
 * processes that start at the same moment on an empty database one makes the tables, and the others find them made.
 */
import { readdirSync, readFileSync } from 'node:fs';
import type { QueryConfig } from 'pg';
import type { Connection } from './connection.ts';
import { MigrationDeniedError, MissingRightsError, PERMISSION_DENIED, SchemaRefusedError } from './errors.ts';
import { inSchema } from './statements.ts';

const DIRECTORY = new URL('migrations/', import.meta.url);

/** The first half of the lock's key, "clmc" in ASCII; the second is the schema's. */
const LOCK = 0x636c6d63;

/** Of PostgreSQL's identifiers those that need no thought, in any tool. */
const SCHEMA_NAME = /^[a-z_][a-z0-9_]{0,50}$/;

const MIGRATION_MS = 3_600_000;

interface Migration {
  version: number;
  file: string;
}

interface Query {
  query(text: string): Promise<{ rows: Record<string, unknown>[] }>;
}

export function checkSchemaName(schema: string): void {
  if (SCHEMA_NAME.test(schema) && !schema.startsWith('pg_')) return;
  throw new SchemaRefusedError(
    `${JSON.stringify(schema)} cannot be the store's schema: ` +
      'a small letter or _ and up to 50 small letters, digits or _ can, unless they begin with pg_',
  );
}

/**
 * Applies what is outstanding.
 * @throws SchemaRefusedError where the schema belongs to something else or to a newer version; MigrationDeniedError where this role
 * may not migrate it
 */
export async function migrate(connection: Connection): Promise<void> {
  const { schema } = connection;
  await connection.withClient(async (client) => {
    if ((await outstanding(client, schema)).length === 0) return;
    await client.query('BEGIN');
    try {
      await client.query('SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0');
      await client.query(patient(`SELECT pg_advisory_xact_lock(${LOCK}, hashtext('${schema}'))`));
      for (const sql of await outstanding(client, schema)) await client.query(patient(sql));
      await client.query('COMMIT');
    } catch (error) {
      await client.query('ROLLBACK').catch(() => {});
      throw asRefusal(error, schema);
    }
  });
}

/**
 * A right to a table that a migration has made is easily forgotten, and would first be missed where an attempt has ended: it could not be
 * settled, and would run again.
 * @throws MissingRightsError
 */
export async function requireRights(connection: Connection): Promise<void> {
  const { schema } = connection;
  const { rows } = await connection.withClient((client) =>
    client.query<{ tables: string | null }>(
      `SELECT string_agg(c.relname, ', ' ORDER BY c.relname) AS tables
       FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
       WHERE n.nspname = '${schema}' AND c.relkind = 'r' AND c.relname <> 'migrations'
         AND NOT (has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'INSERT')
           AND has_table_privilege(c.oid, 'UPDATE') AND has_table_privilege(c.oid, 'DELETE'))`,
    ),
  );
  const tables = rows[0]?.tables ?? null;
  if (tables !== null)
    throw new MissingRightsError(`permission denied for ${tables} in the schema ${schema}`);
}

/** A migration may rewrite a large table, and the others wait for it. */
function patient(text: string): QueryConfig & { query_timeout: number } {
  return { text, query_timeout: MIGRATION_MS };
}

/** The SQL that `migrate` would run now; nothing where the schema is up to date. */
export async function dryRun(connection: Connection): Promise<string> {
  return connection.withClient(async (client) => {
    const parts = await outstanding(client, connection.schema);
    return parts.length === 0 ? '' : `BEGIN;\n${parts.join('\n')}\nCOMMIT;\n`;
  });
}

/** The version of the tables that this version of Claimcheck works with. */
export function schemaVersion(): number {
  return migrations().at(-1)?.version ?? 0;
}

async function outstanding(client: Query, schema: string): Promise<string[]> {
  const found = await look(client, schema);
  const version = found.migrated ? await versionOf(client, schema) : 0;
  const steps = migrations()
    .filter((migration) => migration.version > version)
    .map(({ version: to, file }) => {
      const sql = readFileSync(new URL(file, DIRECTORY), 'utf8');
      return inSchema(`${sql}INSERT INTO claimcheck.migrations (version) VALUES (${to});`, schema);
    });
  return found.migrated ? steps : [...foundation(found, schema), ...steps];
}

interface Found {
  migrated: boolean;
  exists: boolean;
  relations: number;
}

/** In one statement, since others may be making the schema at this moment. */
async function look(client: Query, schema: string): Promise<Found> {
  const { rows } = await client.query(
    `SELECT to_regclass('"${schema}".migrations') IS NOT NULL AS migrated,
       EXISTS (SELECT FROM pg_namespace WHERE nspname = '${schema}') AS exists,
       (SELECT count(*)::integer FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = '${schema}') AS relations`,
  );
  return rows[0] as unknown as Found;
}

async function versionOf(client: Query, schema: string): Promise<number> {
  const { rows } = await client.query(`SELECT max(version) AS version FROM "${schema}".migrations`);
  const version = Number(rows[0]?.['version'] ?? 0);
  if (version <= schemaVersion()) return version;
  throw new SchemaRefusedError(
    `the schema ${schema} was written by a newer version of Claimcheck (its tables are version ${version}, ` +
      `this one knows ${schemaVersion()}); start that version, or give another schema`,
  );
}

function foundation({ exists, relations }: Found, schema: string): string[] {
  if (relations > 0) {
    throw new SchemaRefusedError(`the schema ${schema} holds tables of another program; give another schema`);
  }
  const table = `CREATE TABLE "${schema}".migrations (version integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now());`;
  return exists ? [table] : [`CREATE SCHEMA "${schema}";`, table];
}

/** What the server says of missing rights. */
function asRefusal(error: unknown, schema: string): unknown {
  const denied = error instanceof Error && 'code' in error && error.code === PERMISSION_DENIED;
  if (!denied) return error;
  const options = { cause: error };
  return new MigrationDeniedError(
    `this role may not make the tables of the schema ${schema} (${error.message})`,
    options,
  );
}

function migrations(): Migration[] {
  return readdirSync(DIRECTORY)
    .filter((file) => file.endsWith('.sql'))
    .map((file) => ({ version: Number.parseInt(file, 10), file }))
    .toSorted((a, b) => a.version - b.version);
}
