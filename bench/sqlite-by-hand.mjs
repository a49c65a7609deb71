/** Two queues written by hand, to measure the store against: the least there can be, and the store's own tables without its code. */
import { DatabaseSync } from '@photostructure/sqlite';

const PRAGMAS = `
  PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -32768;
  PRAGMA temp_store = MEMORY; PRAGMA wal_autocheckpoint = 4000`;

/**
 * @typedef {object} Queue
 * @property {(count: number) => Promise<void>} enqueue
 * @property {(count: number) => Promise<number>} drain claims and settles up to `count`
 * @property {() => Promise<void>} close
 */

/**
 * A row as the caller knows it to be.
 *
 * @template Row
 * @param {unknown} row
 */
function unchecked(row) {
  return /** @type {Row} */ (row);
}

/** @param {string} path */
function open(path) {
  const db = new DatabaseSync(path);
  db.exec(PRAGMAS);
  /** @param {() => void} body */
  const write = (body) => {
    db.exec('BEGIN IMMEDIATE');
    body();
    db.exec('COMMIT');
  };
  return { db, write };
}

/**
 * One table: enqueue inserts, claim marks, settle deletes. No lease, no record, no history, no artifact.
 *
 * @param {string} path
 * @param {string} payload
 * @returns {Queue}
 */
export function floor(path, payload) {
  const { db, write } = open(path);
  db.exec('CREATE TABLE queue (id INTEGER PRIMARY KEY, payload TEXT NOT NULL, token INTEGER)');
  db.exec('CREATE INDEX waiting ON queue (id) WHERE token IS NULL');
  const add = db.prepare('INSERT INTO queue (payload) VALUES (?)');
  const take = db.prepare(
    'UPDATE queue SET token = ? WHERE id IN ' +
      '(SELECT id FROM queue INDEXED BY waiting WHERE token IS NULL ORDER BY id LIMIT ?) RETURNING id, payload',
  );
  take.setReturnArrays(true);
  const end = db.prepare('DELETE FROM queue WHERE id = ? AND token = ?');
  let token = 0;
  return {
    async enqueue(count) {
      write(() => {
        for (let index = 0; index < count; index += 1) add.get(payload);
      });
    },
    async drain(count) {
      token += 1;
      /** @type {[number, string][]} */
      let rows = [];
      write(() => {
        rows = /** @type {[number, string][]} */ (take.all(token, count));
      });
      for (const row of rows) JSON.parse(row[1]);
      write(() => {
        for (const [id] of rows) end.get(id, token);
      });
      return rows.length;
    },
    close: async () => db.close(),
  };
}

const ADD_JOB = `INSERT INTO jobs (number, id, lane, status, priority, place, attempt, used, replays, timeout_ms,
  max_attempts, deadline_at, deadline_ms, run_at, created_at, updated_at, keyed, event_count, events, errors)
  VALUES (?, ?, 1, 'queued', 0, ?, 0, 0, 0, 60000, 3, ?, 86400000, ?, ?, ?, 0, 1, ?, '')`;
const ADD_REQUEST = 'INSERT INTO requests (job, input, input_sha256) VALUES (?, ?, ?)';
const ADD_READY = 'INSERT INTO ready (lane, priority, place, job, deadline_at) VALUES (1, 0, ?, ?, ?)';
const FIRST = `SELECT r.job, r.place, j.id, j.attempt, j.used, j.timeout_ms, j.deadline_at, q.input
  FROM ready r CROSS JOIN jobs j ON j.number = r.job CROSS JOIN requests q ON q.job = r.job
  WHERE r.lane = 1 ORDER BY r.priority DESC, r.place, r.job LIMIT ?`;
const LEAVE = 'DELETE FROM ready WHERE lane = 1 AND priority = 0 AND place = ? AND job = ?';
const LEASE = `INSERT INTO leases (job, token, session, worker, attempt, since, hard_stop)
  VALUES (?, ?, 'ses_bench', 'bench-1', ?, ?, ?)`;
const HELD = `SELECT j.number, j.attempt, j.used, j.max_attempts, j.deadline_at, l.since
  FROM jobs j CROSS JOIN leases l ON l.job = j.number WHERE j.id = ? AND l.token = ?`;
const END = 'DELETE FROM leases WHERE job = ? AND token = ?';
const WRITE = `UPDATE jobs SET status = 'completed', attempt = ?, used = ?, updated_at = ?, started_at = ?,
  finished_at = ?, event_count = event_count + 2, events = events || ?, artifact = ? WHERE number = ?`;
const ADD_BLOB = "INSERT INTO blobs (uri, media_type, bytes) VALUES (?, 'application/json', ?)";

/**
 * The store's tables (`path` has them already), its statements for the plain case alone, and nothing around them.
 *
 * @param {string} path
 * @param {{ newId: () => string, payload: string, artifact: Uint8Array }} options
 * @returns {Queue}
 */
export function sameTables(path, { newId, payload, artifact }) {
  const { db, write } = open(path);
  /** @param {string} text */
  const run = (text) => {
    const statement = db.prepare(text);
    return (/** @type {(string | number | Uint8Array)[]} */ ...values) => void statement.get(...values);
  };
  const sql = {
    addJob: run(ADD_JOB),
    addRequest: run(ADD_REQUEST),
    addReady: run(ADD_READY),
    leave: run(LEAVE),
    lease: run(LEASE),
    end: run(END),
    write: run(WRITE),
    addBlob: run(ADD_BLOB),
  };
  const first = db.prepare(FIRST);
  first.setReturnArrays(true);
  const held = db.prepare(HELD);
  held.setReturnArrays(true);
  let number = 0;
  let token = 0;
  const digest = 'a'.repeat(64);

  /** @param {number} now */
  function add(now) {
    number += 1;
    const deadline = now + 86_400_000;
    const event = `{"type":"queued","from":null,"to":"queued","at":${now},"attempt":0}\n`;
    sql.addJob(number, newId(), now, deadline, now, now, now, event);
    sql.addRequest(number, payload, digest);
    sql.addReady(now, number, deadline);
  }

  /** @param {number} count */
  function claim(count) {
    const now = Date.now();
    /** @type {[number, number, string, number, number, number, number, string][]} */
    const rows = unchecked(first.all(count));
    return rows.map(([job, place, id, attempt, , timeoutMs, deadline, input]) => {
      token += 1;
      sql.leave(place, job);
      sql.lease(job, token, attempt + 1, now, Math.min(now + timeoutMs, deadline));
      return { id, token, input: /** @type {unknown} */ (JSON.parse(input)) };
    });
  }

  /** @param {{ id: string, token: number }} claimed */
  function complete({ id, token: fence }) {
    const now = Date.now();
    /** @type {[number, number, number, number, number, number]} */
    const [job, attempt, used, , , since] = unchecked(held.get(id, fence));
    const uri = `artifacts/${id}/${fence}/output.json`;
    const events =
      `{"type":"running","from":"queued","to":"running","at":${since},"attempt":${attempt + 1},"worker":"bench-1"}\n` +
      `{"type":"completed","from":"running","to":"completed","at":${now},"attempt":${attempt + 1},"worker":"bench-1"}\n`;
    const ref = `{"uri":"${uri}","sha256":"${digest}","bytes":${artifact.byteLength},"mediaType":"application/json"}`;
    sql.addBlob(uri, artifact);
    sql.end(job, fence);
    sql.write(attempt + 1, used + 1, now, since, now, events, ref, job);
  }

  return {
    async enqueue(count) {
      const now = Date.now();
      write(() => {
        for (let index = 0; index < count; index += 1) add(now);
      });
    },
    async drain(count) {
      /** @type {ReturnType<typeof claim>} */
      let claimed = [];
      write(() => {
        claimed = claim(count);
      });
      write(() => {
        for (const job of claimed) complete(job);
      });
      return claimed.length;
    },
    close: async () => db.close(),
  };
}
