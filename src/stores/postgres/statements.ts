/**
 * The SQL files, as statements. A file holds those of one verb, each under a line `-- name: what`; parameters are
 * written `:name` and bound by name. Tables are written with the schema `claimcheck`, which stands for the store's own.
 */
import { readFileSync } from 'node:fs';
import type { Connection, Executor } from './connection.ts';
import { rowNamer } from '../shared/row-namer.ts';

export type SqlValue = null | number | string | boolean | Uint8Array;

type Params = Readonly<Record<string, SqlValue>>;

/** What a driver sends; `name` is set where the connection may keep the statement prepared. */
export interface Prepared {
  name: string;
  text: string;
  /** How long its answer may take; as long as any other where it is not set. */
  withinMs?: number;
}

interface Statement<Row> {
  /** `on`: a transaction of somebody else's, instead of the store's own connections. */
  all(params: Params, on?: Executor): Promise<Row[]>;
  /**
   * As `all`, where so many rows come that names cost something: each as its values.
   * @param columns their names in order, as the statement has to give them
   */
  lists<Values extends SqlValue[]>(columns: string, params: Params): Promise<Values[]>;
  get(params: Params): Promise<Row | undefined>;
  /** Runs it, and says how many rows it changed or gave. */
  count(params: Params): Promise<number>;
}

export type Statements<Rows> = { [Name in keyof Rows]: Statement<Rows[Name]> };

/** Every statement of `sql/<file>.sql`; `Rows` says what each gives back. */
export function prepared<Rows>(
  connection: Connection,
  file: string,
  options: { withinMs?: number } = {},
): Statements<Rows> {
  const text = readFileSync(new URL(`sql/${file}.sql`, import.meta.url), 'utf8');
  const statements = text
    .split(/^-- name: /m)
    .slice(1)
    .map((part) => {
      const end = part.indexOf('\n');
      const name = part.slice(0, end).trim();
      return [name, statement(connection, `${file}.${name}`, part.slice(end), options)] as const;
    });
  return Object.fromEntries(statements) as Statements<Rows>;
}

function statement<Row>(
  connection: Connection,
  name: string,
  sql: string,
  options: { withinMs?: number },
): Statement<Row> {
  const { text, names } = positional(inSchema(sql.trim().replace(/;$/, ''), connection.schema));
  const values = (params: Params) => bound(names, params, name);
  const query = { name, text, ...options };
  let toRow: ((row: SqlValue[]) => Row) | null = null;
  return {
    async all(params, on) {
      const { rows, fields } = await connection.run(query, values(params), on);
      toRow ??= rowNamer<Row>(fields.map((field) => field.name));
      return rows.map(toRow);
    },
    async lists<Values extends SqlValue[]>(columns: string, params: Params) {
      const { rows, fields } = await connection.run(query, values(params));
      const given = fields.map((field) => field.name).join(',');
      if (given !== columns) throw new Error(`${name} gives ${given}, where ${columns} was expected`);
      return rows as Values[];
    },
    async get(params) {
      return (await this.all(params))[0];
    },
    async count(params) {
      return (await connection.run(query, values(params))).rowCount ?? 0;
    },
  };
}

/** `sql` with the store's own schema in the place of `claimcheck`. */
export function inSchema(sql: string, schema: string): string {
  return sql.replaceAll(/\bclaimcheck\./g, `"${schema}".`);
}

function positional(sql: string): { text: string; names: string[] } {
  const names: string[] = [];
  const text = sql.replaceAll(/(?<!:):([a-z][a-z_0-9]*)/g, (_, name: string) => {
    if (!names.includes(name)) names.push(name);
    return `$${names.indexOf(name) + 1}`;
  });
  return { text, names };
}

function bound(names: string[], params: Params, statementName: string): SqlValue[] {
  return names.map((name) => {
    const value = params[name];
    if (value === undefined)
      throw new Error(`${statementName}: the SQL parameter :${name} was given no value`);
    return value;
  });
}
