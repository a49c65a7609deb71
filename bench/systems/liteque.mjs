/**
 * liteque on SQLite (https://www.npmjs.com/package/liteque), which sets `synchronous = NORMAL`: a commit may be lost with the power. Here
 * it has FULL, as ours has. Its runner takes `concurrency` (100 here) and asks for the next job every so often when idle (1 ms here). A
 * job whose runner was killed waits out `timeoutSecs`, as does one that is only slow.
 */
import { join } from 'node:path';
import { peer } from './peer.mjs';

/** @import { OpenOptions, Payload, System } from '../types.ts' */

/**
 * @typedef {{ session: { client: { pragma(statement: string): unknown, close(): void } } }} Database
 * @typedef {object} Queue
 * @property {(payload: Payload) => Promise<unknown>} enqueue
 * @property {() => Promise<{ pending: number, pending_retry: number, running: number }>} stats
 *
 * @typedef {object} Liteque
 * @property {(path: string, options: object) => Database} buildDBClient
 * @property {new (name: string, database: Database, options: object) => Queue} SqliteQueue
 * @property {new (queue: Queue, functions: object, options: object) => { run(): Promise<void>, stop(): void }} Runner
 */

/** @param {OpenOptions} options @returns {Promise<System>} */
export async function open({ directory, inFlight = 100, recovery = 'default' }) {
  /** @type {Liteque} */
  const { buildDBClient, Runner, SqliteQueue } = await peer('liteque');
  const database = buildDBClient(join(directory, 'liteque.db'), { runMigrations: true });
  database.session.client.pragma('synchronous = FULL');
  database.session.client.pragma('busy_timeout = 5000');
  const queue = new SqliteQueue('bench', database, {
    defaultJobArgs: { numRetries: 2 },
    keepFailedJobs: false,
  });
  let stop = async () => {};
  return {
    enqueue: (payload) => queue.enqueue(payload),
    enqueueMany: null,
    async work(run) {
      const functions = { run: async (/** @type {{ data: Payload }} */ { data }) => run(data) };
      const timeoutSecs = recovery === 'shortest' ? 1 : 60;
      const runner = new Runner(queue, functions, { concurrency: inFlight, pollIntervalMs: 1, timeoutSecs });
      const done = runner.run();
      stop = async () => {
        runner.stop();
        await done;
      };
    },
    async isDrained() {
      const { pending, pending_retry: retrying, running } = await queue.stats();
      return pending + retrying + running === 0;
    },
    async close() {
      await stop();
      database.session.client.close();
    },
  };
}
