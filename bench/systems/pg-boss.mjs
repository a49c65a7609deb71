/**
 * pg-boss with LISTEN/NOTIFY, and batches as in https://pgboss.io/api/workers: 500 jobs a fetch (`batchSize`), four fetchers a
 * process (`localConcurrency`), and no pause after a full batch (`burstWhenBatchFull`). A batch keeps results only with
 * `perJobResults`, which is on where there are some. Many jobs are handed in with `insert`. Heartbeats (`heartbeatSeconds`, 10 at least) are off
 * unless it is to notice a killed worker as early as it can.
 */
import { Client } from 'pg';
import { peer } from './peer.mjs';

/** @import { OpenOptions, Payload, System } from '../types.ts' */

/**
 * @typedef {{ id: string, data: Payload }} Job
 * @typedef {object} Boss
 * @property {(event: 'error' | 'warning', listener: () => void) => void} on
 * @property {() => Promise<unknown>} start
 * @property {(options: object) => Promise<void>} stop
 * @property {(name: string, options: object) => Promise<void>} createQueue
 * @property {(name: string, data: Payload) => Promise<unknown>} send
 * @property {(name: string, jobs: { data: Payload }[]) => Promise<unknown>} insert
 * @property {(name: string, options: object, handler: (jobs: Job[]) => Promise<object[]>) => Promise<string>} work
 */

const QUEUE = 'bench';
const BATCH = 500;
const FETCHERS = 4;

/** @param {OpenOptions} options @returns {Promise<System>} */
export async function open({ url, inFlight, recovery = 'default', results = false }) {
  /** @type {{ PgBoss: new (options: object) => Boss }} */
  const { PgBoss } = await peer('pg-boss');
  const quick = recovery === 'shortest';
  const intervals = { superviseIntervalSeconds: 1, monitorIntervalSeconds: 1, maintenanceIntervalSeconds: 1 };
  const boss = new PgBoss({ connectionString: url, useListenNotify: true, ...(quick ? intervals : {}) });
  boss.on('error', () => {});
  boss.on('warning', () => {});
  await boss.start();
  await boss.createQueue(QUEUE, { notify: true, ...(quick ? { heartbeatSeconds: 10 } : {}) });
  const client = new Client({ connectionString: url ?? '' });
  await client.connect();
  return {
    enqueue: (payload) => boss.send(QUEUE, payload),
    enqueueMany: (payloads) =>
      boss.insert(
        QUEUE,
        payloads.map((data) => ({ data })),
      ),
    async work(run) {
      const one = async (/** @type {Job} */ { id, data }) => ({
        id,
        status: 'completed',
        output: await run(data),
      });
      const handler = (/** @type {Job[]} */ jobs) => Promise.all(jobs.map(one));
      const options = {
        batchSize: BATCH,
        localConcurrency: inFlight === undefined ? FETCHERS : Math.ceil(inFlight / BATCH),
        pollingIntervalSeconds: 0.5,
        burstWhenBatchFull: true,
        perJobResults: results,
      };
      await boss.work(QUEUE, options, handler);
    },
    async isDrained() {
      const { rows } = await client.query(
        "SELECT 1 FROM pgboss.job WHERE name = $1 AND state < 'completed' LIMIT 1",
        [QUEUE],
      );
      return rows.length === 0;
    },
    async close() {
      await boss.stop({ graceful: false, close: true });
      await client.end();
    },
  };
}
