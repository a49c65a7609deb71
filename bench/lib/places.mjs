/**
 * Where the systems keep their jobs: a PostgreSQL server of the bench's own with its default durability, a fresh database in
 * it for every measurement; a fresh Redis; a fresh directory for every file.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createJiti } from 'jiti';
import { Client } from 'pg';
import { SYSTEMS } from '../systems/index.mjs';
import { startRedis } from './redis.mjs';

/** @import { Place } from '../types.ts' */

/** All that is said to PostgreSQL; the same for everybody, and nothing of it touches durability. */
export const POSTGRES_SETTINGS = {
  fsync: 'on',
  full_page_writes: 'on',
  synchronous_commit: 'on',
  shared_buffers: '1GB',
  max_wal_size: '4GB',
};

/**
 * @typedef {object} Ground a place, and what the bench itself does there
 * @property {Place} place
 * @property {number | null} serverPid the server's process, whose processor time counts; null where the store is a file
 * @property {() => Promise<void>} settle what autovacuum and checkpoints would have done by then, so that neither falls into a measurement
 *
 * @typedef {<T>(system: string, body: (ground: Ground) => Promise<T>) => Promise<T>} Within
 * @typedef {{ within: Within, close: () => Promise<void> }} Places
 */

/** @returns {Promise<Places>} */
export async function openPlaces() {
  const root = mkdtempSync(join(tmpdir(), 'claimcheck-bench-'));
  const postgres = postgresServer();
  let last = 0;
  return {
    /** A fresh place for one measurement; everything in it is gone afterwards. */
    async within(system, body) {
      last += 1;
      const name = `bench_${last}`; // measurements may be under way together
      const directory = mkdtempSync(join(root, `${name}-`));
      const listed = SYSTEMS[system];
      try {
        switch (listed?.store) {
          case 'postgres':
            return await withDatabase(await postgres.start(), { name, directory }, body);
          case 'redis':
            return await withRedis({ directory, appendFsync: listed.appendFsync ?? 'always' }, body);
          case 'sqlite':
          case undefined:
            return await body({ place: { url: null, directory }, serverPid: null, settle: async () => {} });
          default:
            throw new Error(`no such store: ${String(listed?.store)}`);
        }
      } finally {
        rmSync(directory, { recursive: true, force: true });
      }
    },
    async close() {
      await postgres.stop();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

/** Started where the first measurement needs it. */
function postgresServer() {
  /** @type {Promise<{ url: string, pid: number, stop: () => Promise<void> }> | null} */
  let started = null;
  async function launch() {
    /** @type {typeof import('../../test/postgres/server.ts')} */
    const { startServer } = await createJiti(import.meta.url).import('../../test/postgres/server.ts');
    return startServer(POSTGRES_SETTINGS);
  }
  return {
    start: () => (started ??= launch()),
    stop: async () => (await started)?.stop(),
  };
}

/**
 * @template T
 * @param {{ url: string, pid: number }} server
 * @param {{ name: string, directory: string }} fresh
 * @param {(ground: Ground) => Promise<T>} body
 */
async function withDatabase(server, { name, directory }, body) {
  const url = new URL(server.url);
  url.pathname = name;
  await runSql(server.url, `CREATE DATABASE ${name}`);
  try {
    return await body({
      place: { url: url.href, directory },
      serverPid: server.pid,
      settle: () => runSql(url.href, 'VACUUM ANALYZE', 'CHECKPOINT'),
    });
  } finally {
    await runSql(server.url, `DROP DATABASE ${name} WITH (FORCE)`);
  }
}

/**
 * @template T
 * @param {{ directory: string, appendFsync: 'everysec' | 'always' }} options
 * @param {(ground: Ground) => Promise<T>} body
 */
async function withRedis(options, body) {
  const { url, pid, stop } = await startRedis(options);
  try {
    return await body({
      place: { url, directory: options.directory },
      serverPid: pid,
      settle: async () => {},
    });
  } finally {
    await stop();
  }
}

/** @param {string} url @param {string[]} statements */
async function runSql(url, ...statements) {
  const client = new Client({ connectionString: url });
  client.on('error', () => {}); // the statement under way hears of it
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}
