/**
 * The SQL files, as prepared statements. A file holds the statements of one verb, each under a line
 * `-- name: what`; parameters are written `:name` and bound by name.
 */
import { readFileSync } from 'node:fs';
import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import { rowNamer } from '../shared/row-namer.ts';

type SqlValue = null | number | string | Uint8Array;

interface Statement<Row> {
  get(params: Record<string, SqlValue>): Row | undefined;
  all(params: Record<string, SqlValue>): Row[];
  /** Runs a statement that gives nothing back. */
  run(params: Record<string, SqlValue>): void;
  /** Runs it, and says how many rows it changed. */
  count(params: Record<string, SqlValue>): number;
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
  // Where a parameter alone is the limit, SQLite plans for its value, and anew at each call: five times the cost of a short statement.
  const planned = sql.replace(/\bLIMIT (:\w+)/g, 'LIMIT $1 + 0');
  const positional = planned.replace(/:([a-z][a-z_0-9]*)/g, (_, name: string) => {
    if (!names.includes(name)) names.push(name);
    return `?${names.indexOf(name) + 1}`;
  });
  const inner = db.prepare(positional);
  inner.setReturnArrays(true);
  const columns = inner.columns().map((column) => column.name);
  const toRow = rowNamer<Row>(columns);
  const values = (params: Record<string, SqlValue>) => bound(names, params);
  return {
    get(params) {
      const row = inner.get(...values(params)) as SqlValue[] | undefined;
      return row === undefined ? undefined : toRow(row);
    },
    all: (params) => (inner.all(...values(params)) as SqlValue[][]).map(toRow),
    // A third of the time of the driver's own `run`, which makes an object of counts.
    run: (params) => void inner.get(...values(params)),
    count: (params) => inner.run(...values(params)).changes,
  };
}

function bound(names: string[], params: Record<string, SqlValue>): SqlValue[] {
  const values: SqlValue[] = [];
  for (const name of names) {
    const value = params[name];
    if (value === undefined) throw new Error(`the SQL parameter :${name} was given no value`);
    values.push(value);
  }
  return values;
}
