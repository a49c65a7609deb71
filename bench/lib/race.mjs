/**
 * A race: the systems of one case take turns, round after round, so that whatever else the machine does meets all of them.
 *
 * @typedef {Record<string, number | null>} Numbers one measurement, by metric
 *
 * @typedef {object} Race
 * @property {string} name
 * @property {string} store whose numbers these are
 * @property {readonly string[]} systems
 * @property {number} rounds
 * @property {(system: string) => Promise<Numbers | null>} measure null where a system has no such thing
 *
 * @typedef {object} Outcome
 * @property {string} name
 * @property {string} store
 * @property {Record<string, Numbers[]>} numbers of each system, a measurement a round
 * @property {Record<string, string>} failures why a system has none, or fewer
 */
import { SYSTEMS } from '../systems/index.mjs';

/**
 * @param {Race} race
 * @param {(line: string) => void} say
 * @returns {Promise<Outcome>}
 */
export async function run({ name, store, systems, rounds, measure }, say) {
  /** @type {Outcome} */
  const outcome = { name, store, numbers: {}, failures: {} };
  for (let round = 1; round <= rounds; round += 1) {
    for (const system of systems) {
      if (outcome.failures[system] !== undefined) continue;
      say(`${name} (${store}), round ${round} of ${rounds}: ${system}`);
      try {
        const numbers = await measure(system);
        if (numbers !== null) (outcome.numbers[system] ??= []).push(numbers);
      } catch (error) {
        // a peer that cannot take part is left out and named; ours has to
        if (SYSTEMS[system]?.kind !== 'peer') throw error;
        outcome.failures[system] = /** @type {Error} */ (error).message;
      }
    }
  }
  return outcome;
}
