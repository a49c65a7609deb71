/**
 * openworkflow on PostgreSQL, with no step in the workflow: a step would add two rows and four statements to every job.
 * https://openworkflow.dev/docs/workers starts with a concurrency of 10; 50 was the fastest of 10, 50 and 100 here. Its lease is fixed at
 * 30 s.
 */
import { peer } from './peer.mjs';

/** @import { OpenOptions, Payload, Run, System } from '../types.ts' */

/**
 * @typedef {{ stop(): Promise<void>, countWorkflowRuns(): Promise<Record<string, number>> }} Backend
 * @typedef {{ run(input: Payload): Promise<unknown> }} Workflow
 * @typedef {{ start(): Promise<void>, stop(): Promise<void> }} Worker
 * @typedef {object} Client
 * @property {(spec: { name: string }, run: (context: { input: Payload }) => unknown) => Workflow} defineWorkflow
 * @property {(options: { concurrency: number }) => Worker} newWorker
 */

/** @param {OpenOptions} options @returns {Promise<System>} */
export async function open({ url, inFlight = 50 }) {
  /** @type {{ OpenWorkflow: new (options: { backend: Backend }) => Client }} */
  const { OpenWorkflow } = await peer('openworkflow');
  /** @type {{ BackendPostgres: { connect(url: string): Promise<Backend> } }} */
  const { BackendPostgres } = await peer('openworkflow/postgres');
  const backend = await BackendPostgres.connect(url ?? '');
  const client = new OpenWorkflow({ backend });
  /** @type {Run} */
  let run = () => null;
  const workflow = client.defineWorkflow({ name: 'bench' }, async ({ input }) => run(input));
  /** @type {Worker | null} */
  let worker = null;
  return {
    enqueue: (payload) => workflow.run(payload),
    enqueueMany: null,
    async work(given) {
      run = given;
      worker = client.newWorker({ concurrency: inFlight });
      await worker.start();
    },
    async isDrained() {
      const { pending = 0, running = 0 } = await backend.countWorkflowRuns();
      return pending + running === 0;
    },
    async close() {
      await worker?.stop();
      await backend.stop();
    },
  };
}
