/** One run of the bench: what its cases are given, and what came of them. */
import { GOALS } from '../goals.mjs';
import { SIZES } from '../sizes.mjs';
import { SYSTEMS } from '../systems/index.mjs';
import { NOISE, judge } from './judge.mjs';
import { run } from './race.mjs';
import { outcomeTable } from './report.mjs';
import { killAll } from './started.mjs';

/** @import { Bench } from '../cases/index.mjs' */
/** @import { Row } from './judge.mjs' */
/** @import { Places } from './places.mjs' */
/** @import { Outcome } from './race.mjs' */

const LIMIT_MS = { quick: 45_000, full: 900_000 };
/** Seconds after which a quick run, which has to end in time, goes on with one round of everything, and then without peers. */
const LATE = { oneRound: 150, noPeers: 300 };

/**
 * @param {object} options
 * @param {boolean} options.quick
 * @param {readonly string[] | null} options.systems those that take part; null for all
 * @param {Places} options.places
 * @param {(line: string) => void} options.say what is under way
 * @param {(text: string) => void} options.print what came of it
 * @returns {Bench & { rows: Row[], outcomes: Outcome[], seconds: () => number }}
 */
export function createBench({ quick, systems, places, say, print }) {
  const sizes = quick ? SIZES.quick : SIZES.full;
  const startedMs = performance.now();
  const seconds = () => (performance.now() - startedMs) / 1000;
  /** @type {Row[]} */
  const rows = [];
  /** @type {Outcome[]} */
  const outcomes = [];
  /** What is no system of the list (a bare route, an SDK alone) takes part wherever its race does. @param {string} runner */
  function includes(runner) {
    const [system = ''] = runner.split(',');
    return systems === null || SYSTEMS[system] === undefined || systems.includes(system);
  }

  const isPeer = (/** @type {string} */ runner) => SYSTEMS[runner]?.kind === 'peer';

  /** @param {string} runner */
  function isSlow(runner) {
    const { share, store } = SYSTEMS[runner] ?? {};
    return (share ?? 1) <= 0.1 || store === 'redis';
  }

  /** @param {(runner: string) => number} wanted */
  const inTime = (wanted) => (/** @type {string} */ runner) => {
    if (quick && seconds() > LATE.noPeers && isPeer(runner)) return 0;
    if (quick && seconds() > LATE.oneRound) return 1;
    return isSlow(runner) ? Math.min(wanted(runner), sizes.slowRounds) : wanted(runner);
  };

  return {
    places,
    sizes,
    includes,
    rows,
    outcomes,
    seconds,
    async race(wanted, judged) {
      const race = { rounds: () => sizes.rounds, limitMs: quick ? LIMIT_MS.quick : LIMIT_MS.full, ...wanted };
      const runners = Object.fromEntries(
        Object.entries(wanted.runners).filter(([runner]) => includes(runner)),
      );
      const outcome = await run(
        { ...race, runners, rounds: inTime(race.rounds) },
        { mayFail: isPeer, giveUp: killAll, say: (line) => say(`${Math.round(seconds())} s: ${line}`) },
      );
      outcomes.push(outcome);
      print(outcomeTable(outcome));
      for (const { metrics, as = outcome.name, ...sides } of judged) {
        const options = { goals: GOALS, noise: quick ? NOISE : 0 };
        for (const metric of metrics) {
          const row = judge({ ...outcome, name: as }, sides, { metric, ...options });
          if (row !== null) rows.push(row);
        }
      }
    },
  };
}
