/**
 * A full queue, emptied by one process or by two whose functions end at once.
 *
 * The queue holds a tenth more jobs than are counted: the clock starts when that many functions have run, so that connections
 * are open and code is warm, and stops when nothing is left in the store. One batch is ahead at the start and none at the end, which costs
 * those with large batches a little.
 */
import { startDriver } from '../lib/child.mjs';
import { watchCpu } from '../lib/processes.mjs';

/** @import { Mark } from '../types.ts' */
/** @import { Places } from '../lib/places.mjs' */

const WARM_UP = 0.1;

/**
 * @param {Places} places
 * @param {string} system
 * @param {{ jobs: number, processes: number, job: 'nothing' | 'artifact' }} size
 */
export async function drain(places, system, { jobs, processes, job }) {
  const warm = Math.ceil(jobs * WARM_UP);
  return places.within(system, async ({ settle, ...place }) => {
    const filler = await startDriver(system, place);
    await filler.fill({ jobs: warm + jobs });
    await filler.close();
    await settle();
    const workers = await Promise.all(Array.from({ length: processes }, () => startDriver(system, place)));
    const server = watchCpu(places.serverPid(system));
    const done = allRan(workers, warm + jobs);
    await Promise.all(workers.map((worker) => worker.work({ job })));
    await done;
    const endMs = Math.max(...(await Promise.all(workers.map((worker) => worker.drained()))));
    const reports = await Promise.all(workers.map((worker) => worker.report()));
    server.stop();
    await Promise.all(workers.map((worker) => worker.close()));
    const { fromMs, ran, cpuMs } = start(
      reports.map((report) => report.marks),
      warm,
    );
    const counted = warm + jobs - ran;
    const usedMs = sum(reports.map((report) => report.marks.at(-1)?.cpuMs ?? 0)) - cpuMs;
    const serverMs = server.between(fromMs, endMs);
    return {
      'jobs/s': (1000 * counted) / (endMs - fromMs),
      'client us/job': (1000 * usedMs) / counted,
      'server us/job': serverMs === null ? null : (1000 * serverMs) / counted,
      'peak MB': Math.max(...reports.map((report) => report.peakMb)),
    };
  });
}

/** @param {import('../lib/child.mjs').Driver[]} workers @param {number} jobs */
function allRan(workers, jobs) {
  return new Promise((resolve) => {
    for (const worker of workers) {
      worker.onRan(() => {
        if (sum(workers.map((one) => one.ran())) >= jobs) resolve(undefined);
      });
    }
  });
}

/**
 * The instant at which all processes together had run at least `warm` functions, and what they had used by then.
 *
 * @param {readonly Mark[][]} marks of each process, in order
 * @param {number} warm
 */
export function start(marks, warm) {
  const instants = marks.flat().toSorted((a, b) => a.atMs - b.atMs);
  for (const { atMs } of instants) {
    const then = marks.map((own) => own.findLast((mark) => mark.atMs <= atMs) ?? own[0]);
    const ran = sum(then.map((mark) => mark?.ran ?? 0));
    if (ran >= warm) return { fromMs: atMs, ran, cpuMs: sum(then.map((mark) => mark?.cpuMs ?? 0)) };
  }
  throw new Error(`fewer than ${warm} functions ran`);
}

/** @param {readonly number[]} numbers */
function sum(numbers) {
  return numbers.reduce((total, one) => total + one, 0);
}
