/**
 * Where the systems keep their jobs: a PostgreSQL server of the bench's own with its default durability, a fresh database in
 * it for every measurement, a fresh directory for every file.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createJiti } from 'jiti';
import pg from 'pg';
import { SYSTEMS } from '../systems/index.mjs';

/** @import { Place } from '../types.ts' */

/** @typedef {{ url: string, pid: number, stop: () => Promise<void> }} Server */

/** All that differs from PostgreSQL's defaults; the same for everybody, and nothing of it touches durability. */
export const POSTGRES_SETTINGS = {
  fsync: 'on',
  full_page_writes: 'on',
  synchronous_commit: 'on',
  shared_buffers: '1GB',
  max_wal_size: '4GB',
};

/** @typedef {Awaited<ReturnType<typeof openPlaces>>} Places */

export async function openPlaces() {
  const root = mkdtempSync(join(tmpdir(), 'claimcheck-bench-'));
  /** @type {Server | null} */
  let postgres = null;
  let last = 0;

  async function startPostgres() {
    const jiti = createJiti(import.meta.url);
    /** @type {typeof import('../../test/postgres/server.ts')} */
    const { startServer } = await jiti.import('../../test/postgres/server.ts');
    return startServer(POSTGRES_SETTINGS);
  }

  /** @param {string} url @param {string} statement */
  async function run(url, statement) {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    try {
      await client.query(statement);
    } finally {
      await client.end();
    }
  }

  return {
    /** The server's process, whose processor time counts; null where a store is a file. @param {string} system */
    serverPid: (system) => (SYSTEMS[system]?.store === 'postgres' ? (postgres?.pid ?? null) : null),

    /**
     * A fresh place for one measurement; `body` is told where, and everything in it is gone afterwards.
     *
     * @template T
     * @param {string} system
     * @param {(place: Place & { settle: () => Promise<void> }) => Promise<T>} body
     */
    async within(system, body) {
      last += 1;
      const directory = mkdtempSync(join(root, `${last}-`));
      const remove = () => rmSync(directory, { recursive: true, force: true });
      if (SYSTEMS[system]?.store !== 'postgres') {
        return body({ url: null, directory, settle: async () => {} }).finally(remove);
      }
      postgres ??= await startPostgres();
      const server = postgres.url;
      const database = `bench_${last}`;
      const url = new URL(server);
      url.pathname = database;
      await run(server, `CREATE DATABASE ${database}`);
      try {
        // the statistics that autovacuum would have gathered by then, and no checkpoint from the filling in the middle
        const settle = async () => {
          await run(url.href, 'VACUUM ANALYZE');
          await run(url.href, 'CHECKPOINT');
        };
        return await body({ url: url.href, directory, settle });
      } finally {
        await run(server, `DROP DATABASE ${database} WITH (FORCE)`);
        remove();
      }
    },

    async close() {
      await postgres?.stop();
      rmSync(root, { recursive: true, force: true });
    },
  };
}
