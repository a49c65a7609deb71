/**
 * From handing a job in to the start of its function, in a queue that is idle otherwise: one job every 40 ms. On a server, one process
 * hands in and another works, as on two machines; where the store is a file, both are one process.
 */
import { createJiti } from 'jiti';
import { told, withDrivers } from '../lib/child.mjs';
import { percentiles } from '../lib/stats.mjs';
import { SYSTEMS } from '../systems/index.mjs';

/** @import { Driver } from '../lib/child.mjs' */
/** @import { Ground } from '../lib/places.mjs' */
/** @import { Numbers } from '../lib/race.mjs' */

const EVERY_MS = 40;
/** The first ones find cold code and connections that are not open yet. */
const WARM_UP = 25;

/**
 * @param {Ground} ground
 * @param {string} system
 * @param {{ jobs: number, apart?: boolean }} options `apart`: in two processes
 * @returns {Promise<Numbers>}
 */
export async function latency({ place }, system, options) {
  const { jobs, apart = SYSTEMS[system]?.store !== 'sqlite' } = options;
  return withDrivers(system, apart ? [place, place] : [place], async (...drivers) => {
    const [worker, client = worker] = /** @type {[Driver, Driver?]} */ (drivers);
    await worker.work({ job: 'latency' });
    await client.trickle({ jobs: WARM_UP + jobs, everyMs: EVERY_MS });
    await told([worker], ([counts]) => (counts?.ran ?? 0) >= WARM_UP + jobs);
    const { p50, p95, p99 } = percentiles((await worker.report()).waitedMs.slice(WARM_UP));
    return { 'p50 ms': p50, 'p95 ms': p95, 'p99 ms': p99 };
  });
}

/**
 * The same behind a pooler, through which no notification comes: workers hear of a job when they ask.
 *
 * @param {Ground} ground
 * @param {string} system
 * @param {{ jobs: number }} options
 * @returns {Promise<Numbers>}
 */
export async function byPolling(ground, system, options) {
  /** @type {typeof import('../../test/postgres/proxy.ts')} */
  const { startProxy } = await createJiti(import.meta.url).import('../../test/postgres/proxy.ts');
  const { place } = ground;
  const pooler = await startProxy(place.url ?? '', { pooler: true });
  try {
    return await latency({ ...ground, place: { ...place, url: pooler.url } }, system, options);
  } finally {
    pooler.close();
  }
}
