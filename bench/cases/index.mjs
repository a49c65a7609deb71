/** The cases by name: which races they run, and what each compares. */
import { drain } from './drain.mjs';
import { enqueue } from './enqueue.mjs';

/** @import { Side } from '../lib/judge.mjs' */
/** @import { Places } from '../lib/places.mjs' */
/** @import { Race } from '../lib/race.mjs' */

/**
 * @typedef {object} Entry one race, and the rows that come of it
 * @property {Race} race
 * @property {Side} side
 * @property {readonly string[]} metrics those that are judged
 *
 * @typedef {{ places: Places, quick: boolean }} Context
 * @typedef {(context: Context, store: 'postgres' | 'sqlite') => Entry[]} Case
 */

const PEERS = { postgres: ['graphile-worker'], sqlite: /** @type {string[]} */ ([]) };
const FLOORS = { postgres: ['floor-postgres', 'floor-postgres-events'], sqlite: ['floor-sqlite'] };
/** The one that ours is divided by: it keeps events too. */
const FLOOR = { postgres: 'floor-postgres-events', sqlite: 'floor-sqlite' };

/** @type {Readonly<Record<string, Case>>} */
export const CASES = {
  enqueue: ({ places, quick }, store) =>
    [
      { name: 'enqueue, 1 caller', callers: 1, jobs: quick ? 500 : 2000 },
      { name: 'enqueue, 50 callers', callers: 50, jobs: quick ? 5000 : 20_000 },
      { name: 'enqueue, batches of 1,000', callers: 0, jobs: quick ? 10_000 : 50_000 },
    ].map(({ name, callers, jobs }) => ({
      race: {
        name,
        store,
        systems: [`claimcheck-${store}`, ...PEERS[store], ...FLOORS[store]],
        rounds: quick ? 2 : 5,
        measure: (system) => enqueue(places, system, { jobs, callers }),
      },
      side: { ours: `claimcheck-${store}`, peers: PEERS[store], floor: FLOOR[store] },
      metrics: ['jobs/s'],
    })),

  drain: ({ places, quick }, store) =>
    [1, 2].flatMap((processes) =>
      /** @type {const} */ (['nothing', 'artifact']).map((job) => ({
        race: {
          name: `drain, ${processes === 1 ? '1 process' : '2 processes'}, ${job === 'nothing' ? 'no output' : '1 KB each'}`,
          store,
          systems: [`claimcheck-${store}`, ...PEERS[store], ...FLOORS[store]],
          rounds: quick ? 2 : 5,
          measure: (system) => drain(places, system, { jobs: quick ? 20_000 : 60_000, processes, job }),
        },
        side: { ours: `claimcheck-${store}`, peers: PEERS[store], floor: FLOOR[store] },
        metrics: ['jobs/s'],
      })),
    ),
};
