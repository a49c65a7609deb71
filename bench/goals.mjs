/**
 * Where Claimcheck means to be, on two cores that client, worker and server share. A ratio is ours divided by the other's; where less
 * is better, a small one is good. `peer` is the best peer of the same measurement, `floor` what was written by hand, or whatever else the
 * case names as its reference. `ours` is a bound of the number itself.
 *
 * @typedef {{ of: 'peer' | 'floor' | 'ours', is: '>=' | '>' | '<=' | '<', than: number }} Bound
 * @typedef {{ case: string, store: string, metric: string, bounds: readonly Bound[] }} Goal
 *
 * @type {readonly Goal[]}
 */
export const GOALS = [
  ...['1 process, no output', '2 processes, no output'].map((how) => ({
    case: `drain, ${how}`,
    store: 'postgres',
    metric: 'jobs/s',
    bounds: [peer('>', 1), floor('>=', 0.8)],
  })),
  ...['1 process, no output', '2 processes, no output'].map((how) => ({
    case: `drain, ${how}`,
    store: 'sqlite',
    metric: 'jobs/s',
    bounds: [peer('>=', 5), floor('>=', 0.7)],
  })),
  { case: 'enqueue, 50 callers', store: 'postgres', metric: 'jobs/s', bounds: [peer('>=', 5)] },
];

/** @param {Bound['is']} is @param {number} than @returns {Bound} */
function peer(is, than) {
  return { of: 'peer', is, than };
}

/** @param {Bound['is']} is @param {number} than @returns {Bound} */
function floor(is, than) {
  return { of: 'floor', is, than };
}
