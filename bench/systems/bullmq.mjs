/**
 * BullMQ on Redis or on PostgreSQL (https://docs.bullmq.io/guide/postgresql), its other settings as they come. A worker runs 100 jobs at a
 * time: https://docs.bullmq.io/guide/parallelism-and-concurrency calls 100 to 300 a standard setting, and more was not faster here. Jobs are handed in with `addBulk` (https://docs.bullmq.io/guide/queues/adding-bulks).
 */
import { peer } from './peer.mjs';

/** @import { OpenOptions, Payload, System } from '../types.ts' */

/**
 * @typedef {object} Queue
 * @property {() => Promise<unknown>} waitUntilReady
 * @property {(name: string, data: Payload) => Promise<unknown>} add
 * @property {(jobs: { name: string, data: Payload }[]) => Promise<unknown>} addBulk
 * @property {(...states: string[]) => Promise<Record<string, number>>} getJobCounts
 * @property {() => Promise<void>} close
 *
 * @typedef {object} Worker
 * @property {(event: 'error', listener: () => void) => void} on
 * @property {() => Promise<unknown>} waitUntilReady
 * @property {(force: boolean) => Promise<void>} close
 *
 * @typedef {object} BullMq
 * @property {new (name: string, options: object, backend?: unknown) => Queue} Queue
 * @property {new (name: string, run: (job: { data: Payload }) => unknown, options: object, backend?: unknown) => Worker} Worker
 * @property {unknown} createPostgresBackend
 */

const QUEUE = 'bench';
/** How soon a job whose worker was killed is noticed, at the least that was found to work: milliseconds. */
const SHORTEST = { lockDuration: 1000, stalledInterval: 1000 };

/** @param {OpenOptions} options @returns {Promise<System>} */
export async function open({ url, inFlight = 100, recovery = 'default' }) {
  /** @type {BullMq} */
  const bullmq = await peer('bullmq');
  const address = new URL(url ?? '');
  const [connection, backend] =
    address.protocol === 'redis:'
      ? [{ host: address.hostname, port: Number(address.port), maxRetriesPerRequest: null }, undefined]
      : [{ connectionString: url, migrate: true }, bullmq.createPostgresBackend];
  const queue = new bullmq.Queue(QUEUE, { connection }, backend);
  await queue.waitUntilReady();
  /** @type {Worker | null} */
  let worker = null;
  return {
    enqueue: (payload) => queue.add(QUEUE, payload),
    enqueueMany: (payloads) => queue.addBulk(payloads.map((data) => ({ name: QUEUE, data }))),
    async work(run) {
      const options = { connection, concurrency: inFlight, ...(recovery === 'shortest' ? SHORTEST : {}) };
      worker = new bullmq.Worker(QUEUE, async ({ data }) => run(data), options, backend);
      worker.on('error', () => {});
      await worker.waitUntilReady();
    },
    async isDrained() {
      const counts = await queue.getJobCounts('wait', 'active');
      return Object.values(counts).every((count) => count === 0);
    },
    async close() {
      await worker?.close(true);
      await queue.close();
    },
  };
}
