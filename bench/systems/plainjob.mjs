/**
 * plainjob on SQLite (https://www.npmjs.com/package/plainjob), which sets `synchronous = NORMAL`: a commit may be lost with the power.
 * Here it has FULL, as ours has. A worker runs one job at a time and asks for the next every so often when idle (1 ms here, 1 s by
 * default). A job whose worker was killed waits out the `timeout` (30 minutes by default), as does one that is only slow.
 */
import { join } from 'node:path';
import { peer } from './peer.mjs';

/** @import { OpenOptions, Payload, System } from '../types.ts' */

/**
 * @typedef {object} Queue
 * @property {(type: string, data: Payload) => unknown} add
 * @property {(type: string, data: Payload[]) => unknown} addMany
 * @property {(filter: { type: string, status: number }) => number} countJobs
 * @property {() => void} close
 *
 * @typedef {{ pragma(statement: string): unknown }} Database
 *
 * @typedef {object} Plainjob
 * @property {(database: Database) => unknown} better
 * @property {(options: object) => Queue} defineQueue
 * @property {(type: string, run: (job: { data: string }) => Promise<void>, options: object) => { start(): Promise<void>, stop(): Promise<void> }} defineWorker
 * @property {{ Pending: number, Processing: number }} JobStatus
 */

const TYPE = 'bench';
const nothing = () => {};
const logger = { error: nothing, warn: nothing, info: nothing, debug: nothing };
const SHORTEST = { timeout: 1000, maintenanceInterval: 500 };

/** @param {OpenOptions} options @returns {Promise<System>} */
export async function open({ directory, recovery = 'default' }) {
  /** @type {{ default: new (path: string) => Database }} */
  const { default: Sqlite } = await peer('better-sqlite3');
  /** @type {Plainjob} */
  const { better, defineQueue, defineWorker, JobStatus } = await peer('plainjob');
  const database = new Sqlite(join(directory, 'plainjob.db'));
  const queue = defineQueue({
    connection: better(database),
    logger,
    ...(recovery === 'shortest' ? SHORTEST : {}),
  });
  database.pragma('synchronous = FULL');
  let stop = async () => {};
  return {
    enqueue: async (payload) => queue.add(TYPE, payload),
    enqueueMany: async (payloads) => queue.addMany(TYPE, payloads),
    async work(run) {
      const worker = defineWorker(
        TYPE,
        async ({ data }) => {
          await run(/** @type {Payload} */ (JSON.parse(data)));
        },
        { queue, logger, pollIntervall: 1 },
      );
      const done = worker.start();
      stop = async () => {
        await worker.stop();
        await done;
      };
    },
    isDrained: async () =>
      [JobStatus.Pending, JobStatus.Processing].every(
        (status) => queue.countJobs({ type: TYPE, status }) === 0,
      ),
    async close() {
      await stop();
      queue.close();
    },
  };
}
