/**
 * A floor written by hand: raw SQLite in batches of 500, `synchronous = FULL`, one table, one index, and a row for every event.
 * No leases, no retries, no results; nothing is recovered.
 */
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';

/** @import { OpenOptions, Payload, System } from '../types.ts' */

const BATCH = 500;
const IDLE_MS = 5;

const PRAGMAS = `
  PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 5000;
  PRAGMA cache_size = -32768; PRAGMA temp_store = MEMORY; PRAGMA wal_autocheckpoint = 4000`;
const TABLES = `
  CREATE TABLE IF NOT EXISTS queue (id INTEGER PRIMARY KEY, payload TEXT NOT NULL, taken_at INTEGER, finished_at INTEGER);
  CREATE INDEX IF NOT EXISTS waiting ON queue (id) WHERE taken_at IS NULL;
  CREATE TABLE IF NOT EXISTS events (job INTEGER NOT NULL, type TEXT NOT NULL, at INTEGER NOT NULL)`;
const TAKE = `UPDATE queue SET taken_at = ? WHERE id IN
  (SELECT id FROM queue INDEXED BY waiting WHERE taken_at IS NULL ORDER BY id LIMIT ${BATCH}) RETURNING id, payload`;

/** @param {OpenOptions} options @returns {Promise<System>} */
export async function open({ directory }) {
  const db = new DatabaseSync(join(directory, 'floor.db'));
  db.exec(PRAGMAS);
  db.exec(TABLES);
  const add = db.prepare('INSERT INTO queue (payload) VALUES (?)');
  const take = db.prepare(TAKE);
  take.setReturnArrays(true);
  const end = db.prepare('UPDATE queue SET finished_at = ? WHERE id = ?');
  const log = db.prepare('INSERT INTO events (job, type, at) VALUES (?, ?, ?)');
  const left = db.prepare(
    'SELECT count(*) AS count FROM (SELECT 1 FROM queue WHERE taken_at IS NULL LIMIT 1)',
  );
  const stopping = new AbortController();

  /** @template T @param {() => T} body */
  const write = (body) => {
    db.exec('BEGIN IMMEDIATE');
    const result = body();
    db.exec('COMMIT');
    return result;
  };

  /** @param {Payload[]} payloads */
  const insert = (payloads) =>
    write(() => {
      const now = Date.now();
      for (const payload of payloads)
        log.run(add.run(JSON.stringify(payload)).lastInsertRowid, 'queued', now);
    });

  const claim = () =>
    write(() => {
      const now = Date.now();
      const rows = /** @type {[number, string][]} */ (take.all(now));
      for (const [id] of rows) log.run(id, 'running', now);
      return rows;
    });

  /** @param {[number, string][]} jobs */
  const complete = (jobs) =>
    write(() => {
      const now = Date.now();
      for (const [id] of jobs) {
        end.run(now, id);
        log.run(id, 'completed', now);
      }
    });

  /** @param {(payload: Payload) => unknown} run */
  async function loop(run) {
    while (!stopping.signal.aborted) {
      const jobs = claim();
      for (const [, payload] of jobs) run(/** @type {Payload} */ (JSON.parse(payload)));
      if (jobs.length > 0) complete(jobs);
      await new Promise((resolve) =>
        jobs.length > 0 ? setImmediate(resolve) : setTimeout(resolve, IDLE_MS),
      );
    }
  }

  let looping = Promise.resolve();
  return {
    enqueue: async (payload) => insert([payload]),
    enqueueMany: async (payloads) => insert(payloads),
    async work(run) {
      looping = loop(run);
    },
    isDrained: async () => /** @type {{ count: number }} */ (left.get()).count === 0,
    async close() {
      stopping.abort();
      await looping;
      db.close();
    },
  };
}
