/**
 * A full queue, emptied by one process or by two whose functions end at once.
 *
 * The queue holds some more jobs than are counted: the clock starts when so many functions have run for each process, so that
 * connections are open and code is compiled, and stops when nothing is left in the store. One batch is ahead at the start and none at the
 * end, which costs those with large batches a little.
 *
 * "In and out" is the way through the queue: the time that the same jobs took to be handed in, in batches, is added.
 */
import { told, withDrivers } from '../lib/child.mjs';
import { nowMs } from '../lib/clock.mjs';
import { watchCpu } from '../lib/processes.mjs';
import { sum } from '../lib/stats.mjs';

/** @import { Mark, Place } from '../types.ts' */
/** @import { Ground } from '../lib/places.mjs' */
/** @import { Numbers } from '../lib/race.mjs' */

/**
 * Fills the queue of `system` and drains it.
 *
 * @param {Ground} ground
 * @param {string} system
 * @param {{ jobs: number, warm: number, processes?: number, job?: 'nothing' | 'artifact' }} options `warm`: run before the clock starts, for each process
 * @returns {Promise<Numbers>}
 */
export async function fillAndDrain({ place, serverPid, settle }, system, options) {
  const { jobs, processes = 1, job = 'nothing' } = options;
  const warm = options.warm * processes;
  const handedInMs = await stock(place, system, jobs, warm);
  await settle();
  const each = { ...place, results: job === 'artifact' };
  return withDrivers(
    system,
    Array.from({ length: processes }, () => each),
    async (...workers) => {
      const server = watchCpu(serverPid);
      await Promise.all(workers.map((worker) => worker.work({ job })));
      await told(workers, (counts) => sum(counts.map(({ ran }) => ran)) >= warm + jobs);
      const toMs = Math.max(...(await Promise.all(workers.map((worker) => worker.drained()))));
      const reports = await Promise.all(workers.map((worker) => worker.report()));
      server.stop();
      const from = startOf(
        reports.map(({ marks }) => marks),
        warm,
      );
      const counted = warm + jobs - from.ran;
      const clientMs = sum(reports.map(({ marks }) => marks.at(-1)?.cpuMs ?? 0)) - from.cpuMs;
      const msPerJob = (toMs - from.atMs) / counted;
      return {
        'jobs/s': 1000 / msPerJob,
        'in and out/s': 1000 / (msPerJob + handedInMs / jobs),
        ...cpuPerJob({ clientMs, serverMs: server.between(from.atMs, toMs), jobs: counted }),
        'peak MB': Math.max(...reports.map(({ peakMb }) => peakMb)),
      };
    },
  );
}

/**
 * Fills a queue by a process of its own, which leaves it in good order.
 *
 * @param {Place} place
 * @param {string} system
 * @param {number} jobs
 * @param {number} [before] as many more, handed in before the clock starts
 * @returns {Promise<number>} how long the jobs took, in ms
 */
export async function stock(place, system, jobs, before = 0) {
  return withDrivers(system, [place], async (driver) => {
    await driver.stock({ jobs: before });
    const fromMs = nowMs();
    await driver.stock({ jobs });
    const tookMs = nowMs() - fromMs;
    await driver.close();
    return tookMs;
  });
}

/**
 * What a job cost, in microseconds of processor time: steadier than a rate on a machine that others use.
 *
 * @param {{ clientMs: number, serverMs: number | null, jobs: number }} spent
 * @returns {Numbers}
 */
export function cpuPerJob({ clientMs, serverMs, jobs }) {
  return {
    'cpu us/job': (1000 * (clientMs + (serverMs ?? 0))) / jobs,
    'of it client': (1000 * clientMs) / jobs,
    'of it server': serverMs === null ? null : (1000 * serverMs) / jobs,
  };
}

/**
 * The instant at which all processes together had run at least `warm` functions, and what they had used by then.
 *
 * @param {readonly Mark[][]} marks of each process, in order
 * @param {number} warm
 */
export function startOf(marks, warm) {
  const instants = marks.flat().toSorted((a, b) => a.atMs - b.atMs);
  for (const { atMs } of instants) {
    const then = marks.map((own) => own.findLast((mark) => mark.atMs <= atMs) ?? own[0]);
    const ran = sum(then.map((mark) => mark?.ran ?? 0));
    if (ran >= warm) return { atMs, ran, cpuMs: sum(then.map((mark) => mark?.cpuMs ?? 0)) };
  }
  throw new Error(`fewer than ${warm} functions ran`);
}
