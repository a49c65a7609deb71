/**
 * The SQL files, as prepared statements. A file holds the statements of one verb, each under a line
 * `-- name: what`; parameters are written `:name` and bound by name.
 */
import { readFileSync } from 'node:fs';
import type { DatabaseSyncInstance, StatementSyncInstance } from '@photostructure/sqlite';

export type SqlValue = null | number | string | Uint8Array;

export interface Statement<Row> {
  get(params: Record<string, SqlValue>): Row | undefined;
  all(params: Record<string, SqlValue>): Row[];
  /** The number of rows that were changed. */
  run(params: Record<string, SqlValue>): number;
}

export type Statements<Rows> = { [Name in keyof Rows]: Statement<Rows[Name]> };

/** Prepares every statement of `sql/<file>.sql`; `Rows` says what each gives back. */
export function prepared<Rows>(db: DatabaseSyncInstance, file: string): Statements<Rows> {
  const text = readFileSync(new URL(`sql/${file}.sql`, import.meta.url), 'utf8');
  const statements = text
    .split(/^-- name: /m)
    .slice(1)
    .map((part) => {
      const end = part.indexOf('\n');
      return [part.slice(0, end).trim(), statement(db, part.slice(end))] as const;
    });
  return Object.fromEntries(statements) as Statements<Rows>;
}

function statement<Row>(db: DatabaseSyncInstance, sql: string): Statement<Row> {
  const names: string[] = [];
  const positional = sql.replace(/:([a-z][a-z_0-9]*)/g, (_, name: string) => {
    names.push(name);
    return '?';
  });
  const inner = db.prepare(positional);
  inner.setReturnArrays(true);
  const columns = inner.columns().map((column) => column.name);
  const values = (params: Record<string, SqlValue>) => names.map((name) => bindable(params, name));
  return {
    get(params) {
      const row = inner.get(...values(params)) as SqlValue[] | undefined;
      return row === undefined ? undefined : named<Row>(columns, row);
    },
    all: (params) => rows<Row>(inner, columns, values(params)),
    run: (params) => inner.run(...values(params)).changes,
  };
}

function rows<Row>(inner: StatementSyncInstance, columns: string[], values: SqlValue[]): Row[] {
  return (inner.all(...values) as SqlValue[][]).map((row) => named<Row>(columns, row));
}

/** Rows come as arrays and are named here: half the time of letting the driver build objects. */
function named<Row>(columns: string[], row: SqlValue[]): Row {
  const object: Record<string, SqlValue | undefined> = {};
  for (let index = 0; index < columns.length; index += 1) object[columns[index] as string] = row[index];
  return object as Row;
}

function bindable(params: Record<string, SqlValue>, name: string): SqlValue {
  const value = params[name];
  if (value === undefined) throw new Error(`the SQL parameter :${name} was given no value`);
  return value;
}
