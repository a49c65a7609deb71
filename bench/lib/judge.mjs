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
 * @property {boolean | null} holds null without a goal, or where what it compares with was not measured
 *
 * @typedef {object} Sides what is compared: runners of a race
 * @property {string} ours
 * @property {readonly string[]} peers
 * @property {string | number | null} floor a runner, or a number that is known without measuring
 */

/** More of these is better; of every other metric, less. */
const MORE = new Set(['jobs/s', 'in and out/s', 'requests/s']);

/** What two runs of the same program may differ by on a machine that others use. */
export const NOISE = 0.3;

/**
 * @param {Outcome} outcome
 * @param {Sides} sides
 * @param {{ metric: string, goals: readonly Goal[], noise: number }} options
 * @returns {Row | null} null where ours was not measured
 */
export function judge(outcome, sides, { metric, goals, noise }) {
  const of = (/** @type {string} */ runner) => medianOf(outcome, runner, metric);
  const ours = of(sides.ours);
  if (ours === null) return null;
  const floor = typeof sides.floor === 'string' ? of(sides.floor) : sides.floor;
  const best = bestOf(sides.peers, of, metric);
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
    ratio_peer: ratio(ours, best?.value ?? null),
    ratio_floor: ratio(ours, floor),
  };
  return {
    ...row,
    goal: goal === undefined ? null : goal.bounds.map(text).join(' and '),
    holds: goal === undefined ? null : holds(row, goal.bounds, noise),
  };
}

/** @param {number} ours @param {number | null} other */
function ratio(ours, other) {
  return other === null || other === 0 ? null : ours / other;
}

/** @param {Outcome} outcome @param {string} runner @param {string} metric */
export function medianOf(outcome, runner, metric) {
  const known = (outcome.numbers[runner] ?? [])
    .map((one) => one[metric] ?? null)
    .filter((one) => one !== null);
  return known.length === 0 ? null : median(known);
}

/**
 * @param {readonly string[]} peers
 * @param {(runner: string) => number | null} of
 * @param {string} metric
 */
function bestOf(peers, of, metric) {
  /** @type {{ name: string, value: number } | null} */
  let best = null;
  for (const name of peers) {
    const value = of(name);
    if (value === null) continue;
    if (best === null || (MORE.has(metric) ? value > best.value : value < best.value)) best = { name, value };
  }
  return best;
}

/**
 * @param {Pick<Row, 'ours' | 'ratio_peer' | 'ratio_floor'>} row
 * @param {readonly Bound[]} bounds
 * @param {number} noise the share that is forgiven
 */
export function holds(row, bounds, noise) {
  const of = { peer: row.ratio_peer, floor: row.ratio_floor, ours: row.ours };
  const values = bounds.map((bound) => of[bound.of]);
  if (values.includes(null)) return null;
  return bounds.every(({ is, than }, index) => compares(Number(values[index]), is, than, noise));
}

/**
 * @param {number} value
 * @param {Bound['is']} is
 * @param {number} than
 * @param {number} noise
 */
function compares(value, is, than, noise) {
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
}

/** @param {Bound} bound */
function text({ of, is, than }) {
  return `${of === 'ours' ? 'ours' : `ratio_${of}`} ${is} ${Number(than.toPrecision(3))}`;
}
