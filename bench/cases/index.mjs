/** The cases by name: which races they run, between whom, and what of them is judged. */
import { SYSTEMS } from '../systems/index.mjs';
import { drainAfter } from './burden.mjs';
import { fillAndDrain } from './drain.mjs';
import { handIn } from './enqueue.mjs';
import { overHttp } from './http.mjs';
import { inFlight } from './in-flight.mjs';
import { byPolling, latency } from './latency.mjs';
import { callModels } from './models.mjs';
import { falseRecovery, recovery } from './recovery.mjs';

/** @import { Sides } from '../lib/judge.mjs' */
/** @import { Ground, Places } from '../lib/places.mjs' */
/** @import { Numbers, Race } from '../lib/race.mjs' */
/** @import { Sizes } from '../sizes.mjs' */

/**
 * @typedef {'postgres' | 'sqlite'} Store
 * @typedef {Pick<Race, 'name' | 'store' | 'runners'> & Partial<Race>} Wanted
 *
 * @typedef {object} Bench
 * @property {Places} places
 * @property {Sizes} sizes
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
const ONCE = { rounds: () => 1 };
const ours = (/** @type {Store} */ store) => `claimcheck-${store}`;

/** @type {Readonly<Record<string, Case>>} */
export const CASES = {
  async enqueue(bench, store) {
    const { all, enqueue } = bench.sizes;
    const peers = all ? PEERS[store] : FAST[store];
    const redis = store === 'postgres' ? REDIS : [];
    const systems = [ours(store), ...peers, ...redis, FLOOR[store]];
    for (const { how, callers, aim } of [
      { how: '1 caller', callers: 1, aim: false },
      { how: '50 callers', callers: 50, aim: true },
      { how: 'batches of 1,000', callers: /** @type {const} */ ('batches'), aim: false },
    ]) {
      const sides = { ours: ours(store), floor: FLOOR[store], metrics: ['jobs/s', 'cpu us/job'] };
      const name = `enqueue, ${how}`;
      await bench.race(
        {
          name,
          store,
          ...(all || aim ? {} : ONCE),
          runners: each(bench, systems, (ground, system) => handIn(ground, system, { callers, ...enqueue })),
        },
        [
          { ...sides, peers },
          ...(redis.length > 0 ? [{ ...sides, peers: redis, as: `${name}, against Redis` }] : []),
        ],
      );
    }
  },

  async drain(bench, store) {
    const { all, drain } = bench.sizes;
    for (const processes of [1, 2]) {
      for (const job of /** @type {const} */ (['nothing', 'artifact'])) {
        const whole = all || (processes === 1 && job === 'nothing');
        const peers = whole ? PEERS[store] : FAST[store];
        const redis = whole && store === 'postgres' ? REDIS : [];
        const others = whole ? [...redis, ...OTHER_FLOORS[store]] : [];
        const systems = [ours(store), ...peers, FLOOR[store], ...others];
        const name = `drain, ${processes === 1 ? '1 process' : '2 processes'}, ${job === 'nothing' ? 'no output' : '1 KB each'}`;
        await bench.race(
          {
            name,
            store,
            ...(whole ? {} : ONCE),
            runners: each(bench, systems, (ground, system) =>
              fillAndDrain(ground, system, { ...shareOf(system, drain), processes, job }),
            ),
          },
          [
            {
              ours: ours(store),
              peers,
              floor: FLOOR[store],
              metrics: ['jobs/s', 'in and out/s', 'cpu us/job'],
            },
          ],
        );
      }
    }
  },

  async latency(bench, store) {
    const { all, latency: size } = bench.sizes;
    const system = ours(store);
    const servers = all ? PEERS.postgres : FAST.postgres;
    // where the store is a file, the goal is a third of what a server takes
    const peers = store === 'postgres' ? servers : ['graphile-worker'];
    const others = all ? { postgres: REDIS, sqlite: PEERS.sqlite } : { postgres: [], sqlite: FAST.sqlite };
    /** @type {Record<string, (ground: Ground) => Promise<Numbers>>} */
    const particular = {
      ...(store === 'postgres'
        ? { '1 process': (ground) => latency(ground, system, { ...size, apart: false }) }
        : {}),
      ...(store === 'postgres' && all ? { polling: (ground) => byPolling(ground, system, size) } : {}),
    };
    await bench.race(
      {
        name: 'latency',
        store,
        rounds: () => size.rounds,
        runners: {
          ...each(bench, [system, ...peers, ...others[store]], (ground, one) => latency(ground, one, size)),
          ...Object.fromEntries(
            Object.entries(particular).map(([how, measure]) => [
              `${system}, ${how}`,
              on(bench, system, measure),
            ]),
          ),
        },
      },
      [{ ours: system, peers, floor: null, metrics: ['p50 ms', 'p95 ms', 'p99 ms'] }],
    );
  },

  async 'in-flight'(bench, store) {
    const { all, inFlight: size } = bench.sizes;
    const system = ours(store);
    const justStarted = (/** @type {Ground} */ ground) => inFlight(ground, system, { ...size, warm: 0 });
    // no other queue in a file can do it
    const peers =
      store === 'sqlite' ? ['graphile-worker'] : all ? [...PEERS.postgres, ...REDIS] : FAST.postgres;
    await bench.race(
      {
        name: '5,000 in flight',
        store,
        rounds: () => size.rounds,
        runners: {
          ...each(bench, [system, ...peers], (ground, one) =>
            inFlight(ground, one, { ...size, warm: shareOf(one, size).warm }),
          ),
          [`${system}, just started`]: on(bench, system, justStarted),
        },
      },
      [
        { ours: system, peers, floor: size.ms / 1000, metrics: ['wall s'] },
        { ours: system, peers, floor: null, metrics: ['cpu s', 'peak MB', 'writes/s'] },
      ],
    );
  },

  /** All at the same time: they mostly wait. */
  async recovery(bench, store) {
    const { all, recovery: size } = bench.sizes;
    const peers = all ? [...PEERS[store], ...(store === 'postgres' ? REDIS : [])] : [];
    const afterKill = (/** @type {'default' | 'shortest'} */ settings) =>
      bench.race(
        {
          name: `recovery after kill -9, ${settings} settings`,
          store,
          rounds: () => size.rounds,
          together: true,
          limitMs: size.limitMs,
          runners: each(bench, [ours(store), ...peers], (ground, system) =>
            recovery(ground, system, settings),
          ),
        },
        [{ ours: ours(store), peers, floor: null, metrics: ['recovery s'] }],
      );
    const whileBusy = () =>
      bench.race(
        {
          name: 'event loop busy for 5 s',
          store,
          ...ONCE,
          runners: each(bench, [ours(store)], (ground, system) =>
            falseRecovery(ground, system, { ms: 5000 }),
          ),
        },
        [{ ours: ours(store), peers: [], floor: null, metrics: ['times begun'] }],
      );
    await afterKill('default');
    await Promise.all([afterKill('shortest'), whileBusy()]);
  },

  async http(bench, store) {
    const { http: size } = bench.sizes;
    for (const { name, kind, clients } of [
      { name: 'POST over HTTP', kind: /** @type {const} */ ('post'), clients: 200 },
      { name: 'GET status over HTTP', kind: /** @type {const} */ ('get'), clients: 1000 },
    ]) {
      const asked = (/** @type {'ours' | 'bare'} */ which) =>
        on(bench, ours(store), (ground) => overHttp(ground, which, { kind, clients, ...size }));
      await bench.race(
        {
          name,
          store,
          rounds: () => size.rounds,
          runners: { [ours(store)]: asked('ours'), 'bare route': asked('bare') },
        },
        [
          {
            ours: ours(store),
            peers: [],
            floor: 'bare route',
            metrics: ['requests/s', 'server cpu us/request', 'p50 ms', 'p99 ms'],
          },
        ],
      );
    }
  },

  async history(bench, store) {
    const { finished, rounds, ...size } = bench.sizes.history;
    const system = ours(store);
    await bench.places.within(system, async (ground) => {
      if (bench.includes(system)) await fillAndDrain(ground, system, { jobs: finished, warm: 0 });
      await bench.race(
        {
          name: 'drain behind a history',
          store,
          rounds: () => rounds,
          runners: {
            [system]: () => fillAndDrain(ground, system, size),
            [`${system}, empty`]: on(bench, system, (fresh) => fillAndDrain(fresh, system, size)),
          },
        },
        [{ ours: system, peers: [], floor: `${system}, empty`, metrics: ['jobs/s', 'cpu us/job'] }],
      );
    });
  },

  async held(bench, store) {
    const size = bench.sizes.held;
    const system = ours(store);
    await bench.race(
      {
        name: 'drain under an open transaction',
        store,
        rounds: () => size.rounds,
        runners: {
          [system]: on(bench, system, (ground) => drainAfter(ground, system, { ...size, held: true })),
          [`${system}, undisturbed`]: on(bench, system, (ground) =>
            drainAfter(ground, system, { ...size, held: false }),
          ),
        },
      },
      [{ ours: system, peers: [], floor: `${system}, undisturbed`, metrics: ['jobs/s', 'cpu us/job'] }],
    );
  },

  /** The floor is the SDK alone. */
  async models(bench, store) {
    const { all, models } = bench.sizes;
    const { calls, streams, rounds } = models;
    const system = ours(store);
    if (!all && store !== 'sqlite') return;
    for (const { name, ...how } of [
      { name: 'calls of a model, 20 at once', kind: /** @type {const} */ ('generate'), calls, atOnce: 20 },
      {
        name: '1,000 streams of a model at once',
        kind: /** @type {const} */ ('stream'),
        calls: streams,
        atOnce: streams,
        chunkDelayMs: 250,
      },
    ]) {
      const by = (/** @type {'ours' | 'bare'} */ which) =>
        on(bench, system, (ground) => callModels(ground, which, how));
      await bench.race(
        { name, store, rounds: () => rounds, runners: { [system]: by('ours'), 'the SDK alone': by('bare') } },
        [
          {
            ours: system,
            peers: [],
            floor: 'the SDK alone',
            metrics: ['calls/s', 'wall s', 'client us/call', 'peak MB'],
          },
        ],
      );
    }
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

/** @param {string} system @param {{ jobs: number, warm: number }} size */
function shareOf(system, { jobs, warm }) {
  const share = SYSTEMS[system]?.share ?? 1;
  return { jobs: Math.ceil(jobs * share), warm: Math.ceil(warm * share) };
}
