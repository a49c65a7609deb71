/** Jobs handed in, each durable when its caller hears of it: by one caller, by fifty at once, and by one in batches of 1,000. */
import { withDrivers } from '../lib/child.mjs';
import { watchCpu } from '../lib/processes.mjs';
import { cpuPerJob } from './drain.mjs';

/** @import { Ground } from '../lib/places.mjs' */
/** @import { Numbers } from '../lib/race.mjs' */

const BATCH = 1000;

/**
 * @param {Ground} ground
 * @param {string} system
 * @param {{ jobs: number, callers: number | 'batches' }} options
 * @returns {Promise<Numbers | null>}
 */
export async function handIn({ place, serverPid, settle }, system, { jobs, callers }) {
  return withDrivers(system, [place], async (driver) => {
    const go = (/** @type {number} */ count) =>
      callers === 'batches'
        ? driver.enqueueBatches({ jobs: count, batch: BATCH })
        : driver.enqueue({ jobs: count, callers });
    await go(Math.ceil(jobs / 10)); // warms up
    await settle();
    const server = watchCpu(serverPid);
    const spent = await go(jobs);
    server.stop();
    if (spent === null) return null;
    const { fromMs, toMs, cpuMs: clientMs } = spent;
    return {
      'jobs/s': (1000 * jobs) / (toMs - fromMs),
      ...cpuPerJob({ clientMs, serverMs: server.between(fromMs, toMs), jobs }),
      ...('p50' in spent ? { 'p50 ms': spent.p50, 'p99 ms': spent.p99 } : {}),
    };
  });
}
