/** From measurements to the list that is written: ours against the best peer and the floor, and whether the goal is met. */
import { median } from './stats.mjs';

/** @import { Bound, Goal } from '../goals.mjs' */
/** @import { Outcome } from './race.mjs' */

/**
 * @typedef {object} Row
 * @property {string} case
 * @property {string} store
 * @property {string} metric
 * @property {number} ours
 * @property {{ name: string, value: number } | null} best_peer
 * @property {number | null} floor
 * @property {number | null} ratio_peer
 * @property {number | null} ratio_floor
 * @property {string | null} goal
 * @property {boolean | null} holds
 *
 * @typedef {object} Side which systems a row compares
 * @property {string} ours
 * @property {readonly string[]} peers
 * @property {string | null} floor
 */

/** Less of these is better; of every other metric, more. */
const LESS = new Set([
  'client us/job',
  'server us/job',
  'peak MB',
  'p50 ms',
  'p95 ms',
  'p99 ms',
  'wall s',
  'cpu s',
  'writes/s',
  'recovery s',
]);

/** What two runs of the same program may differ by on a machine that others use. */
export const NOISE = 0.3;

/**
 * @param {Outcome} outcome
 * @param {Side} side
 * @param {{ metric: string, goals: readonly Goal[], noise: number }} options
 * @returns {Row | null} null where ours was not measured
 */
export function judge(outcome, side, { metric, goals, noise }) {
  const of = (/** @type {string} */ system) => medianOf(outcome, system, metric);
  const ours = of(side.ours);
  if (ours === null) return null;
  const floor = side.floor === null ? null : of(side.floor);
  const best = bestOf(side.peers, of, metric);
  const goal = goals.find(
    (one) => one.case === outcome.name && one.store === outcome.store && one.metric === metric,
  );
  const row = {
    case: outcome.name,
    store: outcome.store,
    metric,
    ours,
    best_peer: best,
    floor,
    ratio_peer: best === null ? null : ours / best.value,
    ratio_floor: floor === null ? null : ours / floor,
  };
  return {
    ...row,
    goal: goal === undefined ? null : goal.bounds.map(text).join(' and '),
    holds: goal === undefined ? null : holds(row, goal.bounds, noise),
  };
}

/**
 * @param {Outcome} outcome
 * @param {string} system
 * @param {string} metric
 */
export function medianOf(outcome, system, metric) {
  const numbers = (outcome.numbers[system] ?? []).map((one) => one[metric] ?? null);
  const known = numbers.filter((one) => one !== null);
  return known.length === 0 ? null : median(known);
}

/**
 * @param {readonly string[]} peers
 * @param {(system: string) => number | null} of
 * @param {string} metric
 */
function bestOf(peers, of, metric) {
  /** @type {{ name: string, value: number } | null} */
  let best = null;
  for (const name of peers) {
    const value = of(name);
    if (value === null) continue;
    if (best === null || (LESS.has(metric) ? value < best.value : value > best.value)) best = { name, value };
  }
  return best;
}

/**
 * Null where a bound names something that was not measured in this run.
 *
 * @param {Pick<Row, 'ours' | 'ratio_peer' | 'ratio_floor'>} row
 * @param {readonly Bound[]} bounds
 * @param {number} noise the share that is forgiven
 */
export function holds(row, bounds, noise) {
  const values = bounds.map(({ of }) => ({ peer: row.ratio_peer, floor: row.ratio_floor, ours: row.ours })[of]);
  if (values.includes(null)) return null;
  return bounds.every(({ is, than }, index) => {
    const value = /** @type {number} */ (values[index]);
    switch (is) {
      case '>':
        return value > than * (1 - noise);
      case '>=':
        return value >= than * (1 - noise);
      case '<':
        return value < than * (1 + noise);
      case '<=':
        return value <= than * (1 + noise);
      default:
        throw new Error(`no such comparison: ${String(is)}`);
    }
  });
}

/** @param {Bound} bound */
function text({ of, is, than }) {
  return `${of === 'ours' ? 'ours' : `ratio_${of}`} ${is} ${than}`;
}
