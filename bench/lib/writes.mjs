/** How often a store is written, seen from outside. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { Client } from 'pg';

/** @import { Place } from '../types.ts' */

/** Shorter than anything that writes now and then. */
const LOOK_MS = 10;

/**
 * The transactions that wrote between `begin` and `end`; null where nobody can tell.
 *
 * @param {Place} place
 * @returns {{ begin: () => Promise<void>, end: () => Promise<number | null> }}
 */
export function watchWrites({ url, directory }) {
  if (url === null) return watchFile(directory);
  if (url.startsWith('redis:')) return { begin: async () => {}, end: async () => null };
  return watchPostgres(url);
}

/** PostgreSQL numbers the transactions that write, of all databases; only one is busy here. @param {string} url */
function watchPostgres(url) {
  let first = 0;
  const next = async () => {
    const client = new Client({ connectionString: url });
    await client.connect();
    const { rows } = await client.query('SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS xmax');
    await client.end();
    return Number(/** @type {[{ xmax: string }]} */ (rows)[0].xmax);
  };
  return {
    begin: async () => {
      first = await next();
    },
    end: async () => (await next()) - first,
  };
}

/** A connection to an SQLite file can see that others changed it, but not how often: it looks often. @param {string} directory */
function watchFile(directory) {
  const file = readdirSync(directory).find((name) => name.endsWith('.db')) ?? '';
  /** @type {InstanceType<typeof DatabaseSync> | null} */
  let db = null;
  let seen = 0;
  let writes = -1;
  const look = () => {
    const row = /** @type {{ data_version: number }} */ (db?.prepare('PRAGMA data_version').get());
    if (row.data_version !== seen) writes += 1;
    seen = row.data_version;
  };
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  return {
    begin: async () => {
      db = new DatabaseSync(join(directory, file));
      look();
      timer = setInterval(look, LOOK_MS);
    },
    end: async () => {
      clearInterval(timer);
      db?.close();
      return writes;
    },
  };
}
