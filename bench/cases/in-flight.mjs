/**
 * Thousands of attempts at once in one process, each of which only waits, as a call of a model does: how long the whole takes, and what
 * it costs to wait.
 *
 * The queue holds some more jobs, which end at once, in front of them: connections are open and code is compiled when the first of the
 * thousands begins, which is when the clock starts. What was claimed by then is not timed: a batch or two. Without such jobs the clock
 * starts with the worker.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { told, withDrivers } from '../lib/child.mjs';
import { nowMs } from '../lib/clock.mjs';
import { watchCpu } from '../lib/processes.mjs';
import { watchWrites } from '../lib/writes.mjs';
import { stock } from './drain.mjs';

/** @import { Ground } from '../lib/places.mjs' */
/** @import { Numbers } from '../lib/race.mjs' */

/** Writes are counted while all wait: from when the last has begun until the first is about to end, and for this long at least. */
const WATCH_MS = 1500;
const ABOUT_MS = 300;

/**
 * @param {Ground} ground
 * @param {string} system
 * @param {{ jobs: number, warm: number, ms: number }} options `warm`: so many end at once before them
 * @returns {Promise<Numbers>}
 */
export async function inFlight({ place, serverPid, settle }, system, { jobs, warm, ms }) {
  await stock(place, system, warm + jobs);
  await settle();
  return withDrivers(system, [{ ...place, inFlight: jobs }], async (worker) => {
    const writes = watchWrites(place);
    const server = watchCpu(serverPid);
    const startedMs = nowMs();
    await worker.work({ job: 'sleep', warm, ms });
    await told([worker], ([counts]) => (counts?.begun ?? 0) > 0);
    const untilMs = worker.counts().firstMs + ms - ABOUT_MS;
    await Promise.race([
      told([worker], ([counts]) => (counts?.begun ?? 0) >= jobs),
      sleep(untilMs - WATCH_MS - nowMs()),
    ]);
    const watchedMs = untilMs - nowMs();
    await writes.begin();
    await sleep(watchedMs);
    const written = await writes.end();
    await told([worker], ([counts]) => (counts?.ran ?? 0) >= warm + jobs);
    const toMs = await worker.drained();
    const { marks, peakMb } = await worker.report();
    server.stop();
    const fromMs = warm === 0 ? startedMs : worker.counts().firstMs;
    const from = marks.find(({ atMs }) => atMs >= fromMs);
    const clientMs = (marks.at(-1)?.cpuMs ?? 0) - (from?.cpuMs ?? 0);
    return {
      'wall s': (toMs - fromMs) / 1000,
      'cpu s': (clientMs + (server.between(fromMs, toMs) ?? 0)) / 1000,
      'peak MB': peakMb,
      'writes/s': written === null ? null : (1000 * written) / watchedMs,
    };
  });
}
