/**
 * How much of everything a run measures. A full run takes its time; a quick one ends within minutes, so it repeats little, lets those
 * peers take part only that are near the top of a race, and keeps every number of jobs small.
 *
 * @typedef {object} Sizes
 * @property {number} rounds how often a measurement is repeated, where its case does not say otherwise
 * @property {number} slowRounds the same at most, of a peer that takes long
 * @property {boolean} all whether every peer takes part everywhere
 * @property {{ ms: number }} enqueue
 * @property {{ jobs: number, warm: number }} drain `warm`: besides, before the clock starts, for each process
 * @property {{ jobs: number, rounds: number }} latency
 * @property {{ jobs: number, warm: number, ms: number, rounds: number }} inFlight
 * @property {{ rounds: number, limitMs: number }} recovery
 * @property {{ warm: number, ms: number, rounds: number }} http `warm`: answers before they are counted
 * @property {{ finished: number, jobs: number, warm: number, rounds: number }} history
 * @property {{ ms: number, stretch: number, jobs: number, warm: number, rounds: number }} held
 * @property {{ calls: number, streams: number, rounds: number }} models `streams`: all at once, in one worker
 */

/** @type {Readonly<Record<'full' | 'quick', Sizes>>} */
export const SIZES = {
  full: {
    rounds: 3,
    slowRounds: 1,
    all: true,
    enqueue: { ms: 2000 },
    drain: { jobs: 30_000, warm: 30_000 },
    latency: { jobs: 250, rounds: 2 },
    inFlight: { jobs: 5000, warm: 30_000, ms: 5000, rounds: 3 },
    recovery: { rounds: 3, limitMs: 90_000 },
    http: { warm: 20_000, ms: 2000, rounds: 7 },
    history: { finished: 1_000_000, jobs: 200_000, warm: 10_000, rounds: 3 },
    held: { ms: 60_000, stretch: 20_000, jobs: 30_000, warm: 10_000, rounds: 2 },
    models: { calls: 2000, streams: 1000, rounds: 3 },
  },
  quick: {
    rounds: 2,
    slowRounds: 1,
    all: false,
    enqueue: { ms: 1000 },
    drain: { jobs: 8000, warm: 4000 },
    latency: { jobs: 100, rounds: 1 },
    inFlight: { jobs: 5000, warm: 4000, ms: 5000, rounds: 1 },
    recovery: { rounds: 1, limitMs: 40_000 },
    http: { warm: 10_000, ms: 2000, rounds: 2 },
    history: { finished: 20_000, jobs: 8000, warm: 4000, rounds: 1 },
    held: { ms: 2000, stretch: 8000, jobs: 8000, warm: 4000, rounds: 1 },
    models: { calls: 300, streams: 1000, rounds: 1 },
  },
};
