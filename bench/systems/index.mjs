/**
 * Every system that is measured, and what it keeps of a job: what a fair reader needs to know beside its speed.
 *
 * @typedef {object} Listed
 * @property {string} title
 * @property {'ours' | 'peer' | 'floor'} kind
 * @property {'postgres' | 'sqlite' | 'redis'} store
 * @property {string} module in this directory
 * @property {Readonly<Record<string, unknown>>} [preset] options that make it this variant of its module
 * @property {string} keeps what of a finished job can be read afterwards
 * @property {string} lacks what of our record it does not keep
 */

/** @type {Readonly<Record<string, Listed>>} */
export const SYSTEMS = {
  'claimcheck-postgres': {
    title: 'Claimcheck',
    kind: 'ours',
    store: 'postgres',
    module: 'claimcheck.mjs',
    keeps: 'the whole record: input, every event, every error with its attempt, artifacts with their SHA-256',
    lacks: '',
  },
  'claimcheck-sqlite': {
    title: 'Claimcheck',
    kind: 'ours',
    store: 'sqlite',
    module: 'claimcheck.mjs',
    keeps: 'the whole record: input, every event, every error with its attempt, artifacts with their SHA-256',
    lacks: '',
  },
  'graphile-worker': {
    title: 'graphile-worker 0.18.0',
    kind: 'peer',
    store: 'postgres',
    module: 'graphile-worker.mjs',
    keeps: 'nothing: a finished job is deleted',
    lacks: 'the job itself, results, events; of a failing job only the last error',
  },
  'floor-postgres': {
    title: 'by hand',
    kind: 'floor',
    store: 'postgres',
    module: 'floor-postgres.mjs',
    preset: { events: false },
    keeps: 'the input, and when it was finished',
    lacks: 'results, events, errors, leases, retries',
  },
  'floor-postgres-events': {
    title: 'by hand, with events',
    kind: 'floor',
    store: 'postgres',
    module: 'floor-postgres.mjs',
    preset: { events: true },
    keeps: 'the input, and a row for each of three events',
    lacks: 'results, errors, leases, retries',
  },
  'floor-sqlite': {
    title: 'by hand, with events',
    kind: 'floor',
    store: 'sqlite',
    module: 'floor-sqlite.mjs',
    keeps: 'the input, and a row for each of three events',
    lacks: 'results, errors, leases, retries',
  },
};
