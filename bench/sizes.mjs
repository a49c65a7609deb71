/**
 * How much of everything a run measures. A full run takes its time; a quick one ends within minutes, so it repeats little, lets those
 * peers take part only that are near the top of a race, and keeps every number of jobs small.
 *
 * @typedef {object} Sizes
 * @property {number} rounds how often a measurement is repeated, where its case does not say otherwise
 * @property {number} slowRounds the same, of a peer that takes long
 * @property {boolean} all whether every peer takes part everywhere
 * @property {{ ms: number }} enqueue
 * @property {{ jobs: number, warm: number }} drain `warm`: besides, before the clock starts, for each process
 * @property {{ jobs: number, rounds: number }} latency
 * @property {{ jobs: number, ms: number, rounds: number }} inFlight
 * @property {{ rounds: number, limitMs: number }} recovery
 * @property {{ warmMs: number, ms: number, rounds: number }} http
 * @property {{ finished: number, jobs: number, warm: number, rounds: number }} history
 * @property {{ ms: number, stretch: number, jobs: number, warm: number, rounds: number }} held
 */

/** @type {Readonly<Record<'full' | 'quick', Sizes>>} */
export const SIZES = {
  full: {
    rounds: 5,
    slowRounds: 3,
    all: true,
    enqueue: { ms: 5000 },
    drain: { jobs: 60_000, warm: 10_000 },
    latency: { jobs: 500, rounds: 3 },
    inFlight: { jobs: 5000, ms: 5000, rounds: 3 },
    recovery: { rounds: 3, limitMs: 90_000 },
    http: { warmMs: 2000, ms: 10_000, rounds: 5 },
    history: { finished: 1_000_000, jobs: 200_000, warm: 10_000, rounds: 2 },
    held: { ms: 60_000, stretch: 20_000, jobs: 60_000, warm: 10_000, rounds: 2 },
  },
  quick: {
    rounds: 2,
    slowRounds: 1,
    all: false,
    enqueue: { ms: 1000 },
    drain: { jobs: 8000, warm: 4000 },
    latency: { jobs: 100, rounds: 1 },
    inFlight: { jobs: 5000, ms: 5000, rounds: 1 },
    recovery: { rounds: 1, limitMs: 40_000 },
    http: { warmMs: 500, ms: 2000, rounds: 1 },
    history: { finished: 20_000, jobs: 8000, warm: 4000, rounds: 1 },
    held: { ms: 2000, stretch: 8000, jobs: 8000, warm: 4000, rounds: 1 },
  },
};
