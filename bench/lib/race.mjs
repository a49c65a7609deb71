/**
 * A race: the runners of one case take turns, round after round, so that whatever else the machine does meets all of them.
 *
 * @typedef {Record<string, number | null>} Numbers one measurement, by metric
 *
 * @typedef {object} Race
 * @property {string} name
 * @property {string} store whose numbers these are
 * @property {Readonly<Record<string, () => Promise<Numbers | null>>>} runners by their names; null where one has no such thing
 * @property {(runner: string) => number} rounds how often each runs
 * @property {number} limitMs for one measurement
 * @property {boolean} [together] they mostly wait, and may do so at the same time
 *
 * @typedef {object} Outcome
 * @property {string} name
 * @property {string} store
 * @property {Record<string, Numbers[]>} numbers of each runner, a measurement a round
 * @property {Record<string, string>} failures why a runner has none, or fewer
 */

/**
 * @param {Race} race
 * @param {{ mayFail: (runner: string) => boolean, giveUp: () => void, say: (line: string) => void }} with `giveUp` ends what runs too long
 * @returns {Promise<Outcome>}
 */
export async function run(
  { name, store, runners, rounds, limitMs, together = false },
  { mayFail, giveUp, say },
) {
  /** @type {Outcome} */
  const outcome = { name, store, numbers: {}, failures: {} };

  /** @param {string} runner @param {() => Promise<Numbers | null>} measure */
  async function once(runner, measure) {
    if (outcome.failures[runner] !== undefined) return;
    say(`${name}, ${store}: ${runner}`);
    try {
      const numbers = await measure();
      if (numbers !== null) (outcome.numbers[runner] ??= []).push(numbers);
    } catch (error) {
      // a peer that cannot take part is left out and named; ours has to
      if (!mayFail(runner)) throw error;
      outcome.failures[runner] = /** @type {Error} */ (error).message;
    }
  }

  const entries = Object.entries(runners);
  const most = Math.max(0, ...entries.map(([runner]) => rounds(runner)));
  for (let round = 1; round <= most; round += 1) {
    const due = entries.filter(([runner]) => rounds(runner) >= round);
    const measured = (/** @type {typeof due[number]} */ [runner, measure]) =>
      once(runner, () => within(limitMs, giveUp, measure));
    if (together) await Promise.all(due.map(measured));
    else for (const entry of due) await measured(entry);
  }
  return outcome;
}

/** So much before its time a timer may fire. */
const TIMER_MS = 2;

/**
 * @template T
 * @param {number} limitMs
 * @param {() => void} giveUp makes `body` fail
 * @param {() => Promise<T>} body
 */
async function within(limitMs, giveUp, body) {
  const fromMs = performance.now();
  const timer = setTimeout(giveUp, limitMs);
  try {
    return await body();
  } catch (error) {
    // those that run together have one patience: the first that has none left ends the others too
    const late = performance.now() - fromMs > 0.99 * limitMs - TIMER_MS;
    throw late ? new Error(`not within ${limitMs / 1000} s`, { cause: error }) : error;
  } finally {
    clearTimeout(timer);
  }
}
