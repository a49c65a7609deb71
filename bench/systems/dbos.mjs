/**
 * DBOS on PostgreSQL, with no step in the workflow, polling as often as https://docs.dbos.dev/typescript/reference/queues takes without
 * crowding itself: `minPollingIntervalMs` of 10 (1,000 by default), and `workerConcurrency` of 100. A job whose process was
 * killed is started again by a process with the same executor id, or by its paid control plane.
 */
import { Client } from 'pg';
import { peer } from './peer.mjs';

/** @import { OpenOptions, Payload, Run, System } from '../types.ts' */

/**
 * @typedef {(payload: Payload) => Promise<unknown>} Workflow
 * @typedef {object} Dbos
 * @property {(config: object) => void} setConfig
 * @property {(run: Workflow, options: { name: string }) => Workflow} registerWorkflow
 * @property {() => Promise<void>} launch
 * @property {() => Promise<void>} shutdown
 * @property {(name: string, options: object) => Promise<unknown>} registerQueue
 * @property {(workflow: Workflow, options: { queueName: string }) => Workflow} startWorkflow
 */

const QUEUE = 'bench';

/** @param {OpenOptions} options @returns {Promise<System>} */
export async function open({ url, inFlight = 100 }) {
  /** @type {{ DBOS: Dbos }} */
  const { DBOS } = await peer('@dbos-inc/dbos-sdk');
  /** Every process that listens takes jobs, so only those that are to work do. @param {string[]} listenQueues */
  const launch = async (listenQueues) => {
    DBOS.setConfig({
      name: 'bench',
      systemDatabaseUrl: url,
      logLevel: 'error',
      applicationVersion: 'bench',
      executorID: `process-${process.pid}`,
      listenQueues,
    });
    await DBOS.launch();
  };
  /** @type {Run} */
  let run = () => null;
  const workflow = DBOS.registerWorkflow(async (payload) => run(payload), { name: 'bench' });
  await launch([]);
  const client = new Client({ connectionString: url ?? '' });
  await client.connect();
  return {
    enqueue: (payload) => DBOS.startWorkflow(workflow, { queueName: QUEUE })(payload),
    enqueueMany: null,
    async work(given) {
      run = given;
      await DBOS.shutdown();
      await launch([QUEUE]);
      await DBOS.registerQueue(QUEUE, { workerConcurrency: inFlight, minPollingIntervalMs: 10 });
    },
    async isDrained() {
      const { rows } = await client.query(
        "SELECT 1 FROM dbos.workflow_status WHERE status IN ('ENQUEUED', 'PENDING') LIMIT 1",
      );
      return rows.length === 0;
    },
    async close() {
      await DBOS.shutdown();
      await client.end();
    },
  };
}
