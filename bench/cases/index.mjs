/** The cases by name: which races they run, between whom, and what of them is judged. */
import { SYSTEMS } from '../systems/index.mjs';
import { drainAfter } from './burden.mjs';
import { fillAndDrain } from './drain.mjs';
import { handIn } from './enqueue.mjs';
import { overHttp } from './http.mjs';
import { inFlight } from './in-flight.mjs';
import { byPolling, latency } from './latency.mjs';
import { falseRecovery, recovery } from './recovery.mjs';

/** @import { Sides } from '../lib/judge.mjs' */
/** @import { Ground, Places } from '../lib/places.mjs' */
/** @import { Numbers, Race } from '../lib/race.mjs' */

/**
 * @typedef {'postgres' | 'sqlite'} Store
 * @typedef {Pick<Race, 'name' | 'store' | 'runners'> & Partial<Race>} Wanted
 *
 * @typedef {object} Bench
 * @property {Places} places
 * @property {boolean} quick
 * @property {(system: string) => boolean} includes whether it takes part in this run
 * @property {(race: Wanted, judged: (Sides & { metrics: readonly string[], as?: string })[]) => Promise<void>} race `as`: another name for the rows
 *
 * @typedef {(bench: Bench, store: Store) => Promise<void>} Case
 */

const FAST = { postgres: ['graphile-worker', 'pg-boss'], sqlite: ['plainjob'] };
const PEERS = {
  postgres: [...FAST.postgres, 'bullmq-postgres', 'dbos', 'openworkflow'],
  sqlite: [...FAST.sqlite, 'liteque'],
};
const REDIS = ['bullmq-redis-everysec', 'bullmq-redis-always'];
/** The one that ours is divided by: it keeps events too. */
const FLOOR = { postgres: 'floor-postgres-events', sqlite: 'floor-sqlite' };
const OTHER_FLOORS = { postgres: ['floor-postgres'], sqlite: /** @type {string[]} */ ([]) };
const ours = (/** @type {Store} */ store) => `claimcheck-${store}`;

/** @type {Readonly<Record<string, Case>>} */
export const CASES = {
  async enqueue(bench, store) {
    const { quick } = bench;
    const peers = quick ? FAST[store] : PEERS[store];
    const redis = store === 'postgres' ? REDIS : [];
    const systems = [ours(store), ...peers, ...redis, FLOOR[store]];
    for (const { how, callers } of [
      { how: '1 caller', callers: 1 },
      { how: '50 callers', callers: 50 },
      { how: 'batches of 1,000', callers: /** @type {const} */ ('batches') },
    ]) {
      const sides = { ours: ours(store), floor: FLOOR[store], metrics: ['jobs/s', 'cpu us/job'] };
      const name = `enqueue, ${how}`;
      await bench.race(
        {
          name,
          store,
          runners: each(bench, systems, (ground, system) =>
            handIn(ground, system, { callers, ms: quick ? 1000 : 5000 }),
          ),
        },
        [
          { ...sides, peers },
          ...(redis.length > 0 ? [{ ...sides, peers: redis, as: `${name}, against Redis` }] : []),
        ],
      );
    }
  },

  async drain(bench, store) {
    const { quick } = bench;
    const jobs = quick ? 10_000 : 60_000;
    for (const processes of [1, 2]) {
      for (const job of /** @type {const} */ (['nothing', 'artifact'])) {
        const whole = !quick || (processes === 1 && job === 'nothing');
        const peers = whole ? PEERS[store] : FAST[store];
        const redis = whole && store === 'postgres' ? REDIS : [];
        const others = whole ? [...redis, ...OTHER_FLOORS[store]] : [];
        const systems = [ours(store), ...peers, FLOOR[store], ...others];
        await bench.race(
          {
            name: `drain, ${processes === 1 ? '1 process' : '2 processes'}, ${job === 'nothing' ? 'no output' : '1 KB each'}`,
            store,
            runners: each(bench, systems, (ground, system) =>
              fillAndDrain(ground, system, { jobs: shareOf(system, jobs), processes, job }),
            ),
          },
          [{ ours: ours(store), peers, floor: FLOOR[store], metrics: ['jobs/s', 'cpu us/job'] }],
        );
      }
    }
  },

  async latency(bench, store) {
    const { quick } = bench;
    const jobs = quick ? 150 : 500;
    const servers = quick ? FAST.postgres : PEERS.postgres;
    // where the store is a file, the goal is a third of what a server takes
    const peers = store === 'postgres' ? servers : ['graphile-worker'];
    const others = quick ? [] : store === 'postgres' ? REDIS : ['liteque'];
    const systems = [ours(store), ...peers, ...(store === 'sqlite' ? FAST.sqlite : []), ...others];
    const asWell = {
      [`${ours(store)}, 1 process`]: on(bench, ours(store), (ground) =>
        latency(ground, ours(store), { jobs, apart: false }),
      ),
      ...(quick
        ? {}
        : {
            [`${ours(store)}, polling`]: on(bench, ours(store), (ground) =>
              byPolling(ground, ours(store), { jobs }),
            ),
          }),
    };
    await bench.race(
      {
        name: 'latency',
        store,
        rounds: () => (quick ? 1 : 3),
        runners: {
          ...each(bench, systems, (ground, system) => latency(ground, system, { jobs })),
          ...(store === 'postgres' ? asWell : {}),
        },
      },
      [{ ours: ours(store), peers, floor: null, metrics: ['p50 ms', 'p95 ms', 'p99 ms'] }],
    );
  },

  async 'in-flight'(bench, store) {
    const { quick } = bench;
    const all = { postgres: [...PEERS.postgres, ...REDIS], sqlite: ['liteque', ...FAST.postgres] };
    const few = { postgres: FAST.postgres, sqlite: ['graphile-worker'] };
    const peers = (quick ? few : all)[store];
    await bench.race(
      {
        name: '5,000 in flight',
        store,
        rounds: () => (quick ? 1 : 3),
        runners: each(bench, [ours(store), ...peers], (ground, system) =>
          inFlight(ground, system, { jobs: 5000, ms: 5000 }),
        ),
      },
      [
        { ours: ours(store), peers, floor: 5, metrics: ['wall s'] },
        { ours: ours(store), peers, floor: null, metrics: ['cpu s', 'peak MB', 'writes/s'] },
      ],
    );
  },

  async recovery(bench, store) {
    const { quick } = bench;
    const peers = quick ? [] : [...PEERS[store], ...(store === 'postgres' ? REDIS : [])];
    for (const settings of /** @type {const} */ (['default', 'shortest'])) {
      await bench.race(
        {
          name: `recovery after kill -9, ${settings} settings`,
          store,
          rounds: () => (quick ? 1 : 3),
          together: true,
          limitMs: quick ? 40_000 : 90_000,
          runners: each(bench, [ours(store), ...peers], (ground, system) =>
            recovery(ground, system, settings),
          ),
        },
        [{ ours: ours(store), peers, floor: null, metrics: ['recovery s'] }],
      );
    }
    await bench.race(
      {
        name: 'event loop busy for 5 s',
        store,
        rounds: () => 1,
        runners: each(bench, [ours(store)], (ground, system) => falseRecovery(ground, system, { ms: 5000 })),
      },
      [{ ours: ours(store), peers: [], floor: null, metrics: ['times begun'] }],
    );
  },

  async http(bench, store) {
    const times = bench.quick ? { warmMs: 1000, ms: 3000 } : { warmMs: 2000, ms: 10_000 };
    for (const { name, kind, clients } of [
      { name: 'POST over HTTP', kind: /** @type {const} */ ('post'), clients: 50 },
      { name: 'GET status over HTTP', kind: /** @type {const} */ ('get'), clients: 1000 },
    ]) {
      const asked = (/** @type {'ours' | 'bare'} */ which) =>
        on(bench, ours(store), (ground) => overHttp(ground, which, { kind, clients, ...times }));
      await bench.race(
        {
          name,
          store,
          rounds: () => (bench.quick ? 1 : 5),
          runners: { [ours(store)]: asked('ours'), 'bare route': asked('bare') },
        },
        [{ ours: ours(store), peers: [], floor: 'bare route', metrics: ['requests/s', 'p50 ms', 'p99 ms'] }],
      );
    }
  },

  async history(bench, store) {
    const { quick, places } = bench;
    const [finished, jobs] = quick ? [30_000, 10_000] : [1_000_000, 200_000];
    const system = ours(store);
    await places.within(system, async (ground) => {
      if (bench.includes(system)) await fillAndDrain(ground, system, { jobs: finished });
      await bench.race(
        {
          name: 'drain behind a history',
          store,
          rounds: () => 2,
          runners: {
            [system]: () => fillAndDrain(ground, system, { jobs }),
            [`${system}, empty`]: on(bench, system, (fresh) => fillAndDrain(fresh, system, { jobs })),
          },
        },
        [{ ours: system, peers: [], floor: `${system}, empty`, metrics: ['jobs/s', 'cpu us/job'] }],
      );
    });
  },

  async held(bench, store) {
    const { quick } = bench;
    const [ms, jobs] = quick ? [3000, 10_000] : [60_000, 60_000];
    const system = ours(store);
    const peers = quick || store === 'sqlite' ? [] : FAST[store];
    await bench.race(
      {
        name: 'drain under an open transaction',
        store,
        rounds: () => (quick ? 1 : 2),
        runners: {
          ...each(bench, [system, ...peers], (ground, one) =>
            drainAfter(ground, one, { jobs, ms, held: true }),
          ),
          [`${system}, undisturbed`]: on(bench, system, (ground) =>
            drainAfter(ground, system, { jobs, ms, held: false }),
          ),
        },
      },
      [{ ours: system, peers, floor: `${system}, undisturbed`, metrics: ['jobs/s', 'cpu us/job'] }],
    );
  },
};

/**
 * A runner on a fresh ground of its own.
 *
 * @param {Bench} bench
 * @param {string} system
 * @param {(ground: Ground) => Promise<Numbers | null>} measure
 */
function on({ places }, system, measure) {
  return () => places.within(system, measure);
}

/**
 * The same measurement of each of these systems.
 *
 * @param {Bench} bench
 * @param {readonly string[]} systems
 * @param {(ground: Ground, system: string) => Promise<Numbers | null>} measure
 */
function each(bench, systems, measure) {
  return Object.fromEntries(
    systems.map((system) => [system, on(bench, system, (ground) => measure(ground, system))]),
  );
}

/** @param {string} system @param {number} jobs */
function shareOf(system, jobs) {
  return Math.ceil(jobs * (SYSTEMS[system]?.share ?? 1));
}
