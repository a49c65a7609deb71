/** Jobs handed in, each durable when its caller hears of it: by one caller, by fifty at once, and by one in batches of 1,000. */
import { startDriver } from '../lib/child.mjs';
import { watchCpu } from '../lib/processes.mjs';

/** @import { Places } from '../lib/places.mjs' */

const BATCH = 1000;

/**
 * @param {Places} places
 * @param {string} system
 * @param {{ jobs: number, callers: number }} size `callers` 0: one, in batches
 */
export async function enqueue(places, system, { jobs, callers }) {
  return places.within(system, async ({ settle, ...place }) => {
    const driver = await startDriver(system, place);
    await driver.enqueue({ jobs: Math.ceil(jobs / 10), callers: Math.max(1, callers) }); // warms up
    await settle();
    const server = watchCpu(places.serverPid(system));
    const spent =
      callers === 0
        ? await driver.enqueueBatches({ jobs, batch: BATCH })
        : await driver.enqueue({ jobs, callers });
    server.stop();
    await driver.close();
    if (spent === null) return null;
    const { fromMs, toMs, cpuMs } = spent;
    const serverMs = server.between(fromMs, toMs);
    return {
      'jobs/s': (1000 * jobs) / (toMs - fromMs),
      'client us/job': (1000 * cpuMs) / jobs,
      'server us/job': serverMs === null ? null : (1000 * serverMs) / jobs,
      ...('p50' in spent ? { 'p50 ms': spent.p50, 'p99 ms': spent.p99 } : {}),
    };
  });
}
