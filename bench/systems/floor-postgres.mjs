/**
 * A floor written by hand: the smallest queue in PostgreSQL that is worth the name. One table and one index; claims and
 * completions in batches of 500 with SKIP LOCKED, on two connections. With `events`, each statement also writes a row for every
 * transition, which is the least that a history can cost. No leases, no retries, no results; nothing is recovered.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'pg';

/** @import { OpenOptions, Payload, System } from '../types.ts' */

const BATCH = 500;
const CONNECTIONS = 2;
const IDLE_MS = 5;

const TABLES = `
  CREATE TABLE IF NOT EXISTS queue (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, payload text NOT NULL, token bigint, finished_at timestamptz);
  CREATE INDEX IF NOT EXISTS waiting ON queue (id) WHERE token IS NULL;
  CREATE TABLE IF NOT EXISTS events (job bigint NOT NULL, type text NOT NULL, at timestamptz NOT NULL DEFAULT now());
  CREATE SEQUENCE IF NOT EXISTS tokens`;

const ADD = 'INSERT INTO queue (payload) SELECT * FROM unnest($1::text[])';
const TAKE = `UPDATE queue SET token = $1 WHERE id = ANY (ARRAY(
  SELECT id FROM queue WHERE token IS NULL ORDER BY id LIMIT ${BATCH} FOR UPDATE SKIP LOCKED)) RETURNING id, payload`;
const END = 'UPDATE queue SET finished_at = now() WHERE id = ANY ($1::bigint[]) AND token = $2';

const PLAIN = { add: ADD, take: TAKE, end: END };
const WITH_EVENTS = {
  add: `WITH a AS (${ADD} RETURNING id) INSERT INTO events (job, type) SELECT id, 'queued' FROM a`,
  take: `WITH t AS (${TAKE}), e AS (INSERT INTO events (job, type) SELECT id, 'running' FROM t) SELECT id, payload FROM t`,
  end: `WITH d AS (${END} RETURNING id) INSERT INTO events (job, type) SELECT id, 'completed' FROM d`,
};

/** @param {OpenOptions & { events?: boolean }} options @returns {Promise<System>} */
export async function open({ url, events = false }) {
  const pool = new Pool({ connectionString: url ?? '', max: CONNECTIONS });
  await pool.query(TABLES);
  const statements = events ? WITH_EVENTS : PLAIN;
  /** @type {(name: keyof typeof PLAIN, values: unknown[]) => Promise<[string, string][]>} */
  const query = async (name, values) => {
    const { rows } = await pool.query({ name, text: statements[name], values, rowMode: 'array' });
    return /** @type {[string, string][]} */ (rows);
  };
  const stopping = new AbortController();
  let underway = 0;

  /** @param {(payload: Payload) => unknown} run */
  async function loop(run) {
    const { rows } = await pool.query("SELECT nextval('tokens') AS token");
    const [{ token }] = /** @type {[{ token: string }]} */ (rows);
    while (!stopping.signal.aborted) {
      underway += 1;
      const jobs = await query('take', [token]);
      for (const [, payload] of jobs) run(/** @type {Payload} */ (JSON.parse(payload)));
      if (jobs.length > 0) await query('end', [`{${jobs.map(([id]) => id).join(',')}}`, token]);
      underway -= 1;
      if (jobs.length === 0) await sleep(IDLE_MS);
    }
  }

  /** @type {Promise<unknown>} */
  let loops = Promise.resolve();
  return {
    enqueue: (payload) => query('add', [[JSON.stringify(payload)]]),
    enqueueMany: (payloads) => query('add', [payloads.map((payload) => JSON.stringify(payload))]),
    async work(run) {
      loops = Promise.all(Array.from({ length: CONNECTIONS }, () => loop(run)));
    },
    async isDrained() {
      const { rows } = await pool.query('SELECT 1 FROM queue WHERE token IS NULL LIMIT 1');
      return rows.length === 0 && underway === 0;
    },
    async close() {
      stopping.abort();
      await loops;
      await pool.end();
    },
  };
}
