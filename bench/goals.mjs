/**
 * Where Claimcheck means to be, on two cores that client, worker and server share. A ratio is ours divided by the other's: where less
 * is better, a small one is good. `peer` is the best peer of the same race, `floor` what was written by hand, or whatever else the
 * case names as its reference. `ours` is a bound of the number itself.
 *
 * @typedef {{ of: 'peer' | 'floor' | 'ours', is: '>=' | '>' | '<=' | '<', than: number }} Bound
 * @typedef {{ case: string, store: string, metric: string, bounds: readonly Bound[] }} Goal
 */

/** @type {(of: Bound['of']) => (is: Bound['is'], than: number) => Bound} */
const bound = (of) => (is, than) => ({ of, is, than });
const peer = bound('peer');
const floor = bound('floor');
const ours = bound('ours');

/** @type {(cases: string, store: string, metric: string, ...bounds: Bound[]) => Goal} */
const goal = (name, store, metric, ...bounds) => ({ case: name, store, metric, bounds });

/** @type {readonly Goal[]} */
export const GOALS = [
  goal('drain, 1 process, no output', 'postgres', 'jobs/s', peer('>', 1), floor('>=', 0.8)),
  goal('drain, 1 process, 1 KB each', 'postgres', 'jobs/s', peer('>', 1)),
  goal('drain, 2 processes, no output', 'postgres', 'jobs/s', peer('>', 1), floor('>=', 0.8)),
  goal('drain, 2 processes, 1 KB each', 'postgres', 'jobs/s', peer('>', 1)),
  goal('drain, 1 process, no output', 'sqlite', 'jobs/s', peer('>=', 5)),
  // what was aimed at is the rate of raw batches that hand in, claim and complete: the same work on both sides
  goal('drain, 1 process, no output', 'sqlite', 'in and out/s', floor('>=', 0.7)),
  goal('drain, 1 process, 1 KB each', 'sqlite', 'jobs/s', peer('>=', 5)),
  goal('drain, 2 processes, no output', 'sqlite', 'jobs/s', peer('>=', 5)),
  goal('drain, 2 processes, 1 KB each', 'sqlite', 'jobs/s', peer('>=', 5)),

  goal('enqueue, 50 callers', 'postgres', 'jobs/s', peer('>=', 5)),
  goal('enqueue, 50 callers, against Redis', 'postgres', 'jobs/s', peer('>', 1)),

  goal('latency', 'postgres', 'p50 ms', peer('<=', 1)),
  goal('latency', 'postgres', 'p99 ms', peer('<=', 1)),
  // the peer is graphile-worker here as well
  goal('latency', 'sqlite', 'p50 ms', peer('<', 1 / 3)),

  // the floor is ours on an empty queue
  goal('drain behind a history', 'postgres', 'jobs/s', floor('>=', 0.9)),
  goal('drain behind a history', 'sqlite', 'jobs/s', floor('>=', 0.9)),
  // the floor is ours undisturbed
  goal('drain under an open transaction', 'postgres', 'jobs/s', floor('>=', 0.7)),
  goal('drain under an open transaction', 'sqlite', 'jobs/s', floor('>=', 0.7)),

  ...['postgres', 'sqlite'].flatMap((store) => [
    // the floor is the 5 s that a job takes
    goal('5,000 in flight', store, 'wall s', floor('<=', 1.04)),
    goal('5,000 in flight', store, 'writes/s', ours('<', 1)),
    goal('5,000 in flight', store, 'peak MB', peer('<=', 1)),

    // the floor is the bare route
    goal('POST over HTTP', store, 'requests/s', floor('>=', 0.5)),
    goal('GET status over HTTP', store, 'requests/s', floor('>=', store === 'sqlite' ? 0.7 : 0.4)),

    goal('recovery after kill -9, default settings', store, 'recovery s', ours('<=', 15)),
    goal('event loop busy for 5 s', store, 'times begun', ours('<=', 1)),
  ]),
];
