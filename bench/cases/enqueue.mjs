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
 * @param {{ ms: number, callers: number | 'batches' }} options
 * @returns {Promise<Numbers | null>}
 */
export async function handIn({ place, serverPid, settle }, system, { ms, callers }) {
  return withDrivers(system, [place], async (driver) => {
    const go = (/** @type {number} */ forMs) =>
      callers === 'batches'
        ? driver.enqueueBatches({ ms: forMs, batch: BATCH })
        : driver.enqueue({ ms: forMs, callers });
    await go(ms / 4); // warms up
    await settle();
    const server = watchCpu(serverPid);
    const spent = await go(ms);
    server.stop();
    if (spent === null) return null;
    const { jobs, fromMs, toMs, cpuMs: clientMs, p50, p99 } = spent;
    return {
      'jobs/s': (1000 * jobs) / (toMs - fromMs),
      ...cpuPerJob({ clientMs, serverMs: server.between(fromMs, toMs), jobs }),
      'p50 ms': p50,
      'p99 ms': p99,
    };
  });
}
