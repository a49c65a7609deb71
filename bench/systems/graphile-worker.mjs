/**
 * graphile-worker with both kinds of batching of https://worker.graphile.org/docs/performance#batching: a local queue, and
 * completions that share a statement. The page measures with `localQueue: { size: 500 }`, `concurrentJobs: 24` and a batch delay of 0; of
 * the sizes tried here (100, 500, 1000, 2000) a local queue of 1000 was the fastest.
 */
import { Client } from 'pg';
import { peer } from './peer.mjs';

/** @import { OpenOptions, Payload, System } from '../types.ts' */

/**
 * @typedef {{ release(): Promise<void>, migrate(): Promise<void>,
 *   addJob(name: string, payload: Payload): Promise<unknown>,
 *   addJobs(jobs: { identifier: string, payload: Payload }[]): Promise<unknown> }} Utils
 * @typedef {{ stop(): Promise<void> }} Runner
 * @typedef {object} Graphile
 * @property {(options: object) => Promise<Utils>} makeWorkerUtils
 * @property {(options: object) => Promise<Runner>} run
 * @property {new (factory: () => () => void) => object} Logger
 */

const QUEUE = 1000;

/** @param {OpenOptions} options @returns {Promise<System>} */
export async function open({ url, inFlight = 24 }) {
  /** @type {Graphile} */
  const { Logger, makeWorkerUtils, run: start } = await peer('graphile-worker');
  const preset = {
    worker: {
      connectionString: url,
      concurrentJobs: inFlight,
      // "10 or concurrentJobs + 2"; with batches, connections wait for none of the jobs
      maxPoolSize: Math.min(inFlight, 24) + 2,
      localQueue: { size: Math.max(QUEUE, inFlight + 1) },
      completeJobBatchDelay: 0,
      failJobBatchDelay: 0,
      logger: new Logger(() => () => {}),
    },
  };
  const utils = await makeWorkerUtils({ preset });
  await utils.migrate();
  const client = new Client({ connectionString: url ?? '' });
  await client.connect();
  /** @type {Runner | null} */
  let runner = null;
  return {
    enqueue: (payload) => utils.addJob('bench', payload),
    enqueueMany: (payloads) => utils.addJobs(payloads.map((payload) => ({ identifier: 'bench', payload }))),
    async work(run) {
      const bench = async (/** @type {Payload} */ payload) => {
        await run(payload);
      };
      runner = await start({ preset, taskList: { bench }, noHandleSignals: true });
    },
    async isDrained() {
      const { rows } = await client.query('SELECT 1 FROM graphile_worker._private_jobs LIMIT 1');
      return rows.length === 0;
    },
    async close() {
      await runner?.stop();
      await utils.release();
      await client.end();
    },
  };
}
