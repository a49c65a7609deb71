/** A worker is killed with `kill -9` within a job: how long until another worker begins that job again. */
import { told, withDrivers } from '../lib/child.mjs';
import { nowMs } from '../lib/clock.mjs';

/** @import { Driver } from '../lib/child.mjs' */
/** @import { Ground } from '../lib/places.mjs' */
/** @import { Numbers } from '../lib/race.mjs' */

const HOURS_MS = 4 * 3_600_000;

/**
 * @param {Ground} ground
 * @param {string} system
 * @param {'default' | 'shortest'} settings
 * @returns {Promise<Numbers>}
 */
export async function recovery({ place }, system, settings) {
  const options = { ...place, recovery: settings };
  return withDrivers(system, [options], (survivor) =>
    withVictim(system, options, async (victim) => {
      await survivor.work({ job: 'sleep', ms: 0 });
      await victim.kill();
      const killedMs = nowMs();
      await told([survivor], ([counts]) => (counts?.begun ?? 0) > 0);
      return { 'recovery s': (survivor.counts().firstMs - killedMs) / 1000 };
    }),
  );
}

/**
 * A worker that has begun a job, the only one there is.
 *
 * @param {string} system
 * @param {import('../types.ts').OpenOptions} options
 * @param {(victim: Driver) => Promise<Numbers>} body
 */
function withVictim(system, options, body) {
  return withDrivers(system, [options], async (victim) => {
    await victim.work({ job: 'sleep', ms: HOURS_MS });
    await victim.stock({ jobs: 1 });
    await told([victim], ([counts]) => (counts?.begun ?? 0) > 0);
    return body(victim);
  });
}

/**
 * A worker whose event loop is busy for `ms` within a job, beside another one: how often that job was begun. Once is right.
 *
 * @param {Ground} ground
 * @param {string} system
 * @param {{ ms: number }} options
 * @returns {Promise<Numbers>}
 */
export async function falseRecovery({ place }, system, { ms }) {
  return withDrivers(system, [place, place], async (...drivers) => {
    const [busy, other] = /** @type {[Driver, Driver]} */ (drivers);
    await busy.work({ job: 'spin', ms });
    await busy.stock({ jobs: 1 });
    await told([busy], ([counts]) => (counts?.begun ?? 0) > 0);
    await other.work({ job: 'sleep', ms: 0 });
    await told([busy, other], (counts) => counts.every(({ begun, ran }) => begun === ran));
    await busy.drained();
    return { 'times begun': busy.counts().begun + other.counts().begun };
  });
}
