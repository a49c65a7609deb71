/**
 * Every system that is measured, and what it keeps of a job: what a fair reader needs to know beside its speed.
 *
 * @typedef {object} Listed
 * @property {'ours' | 'peer' | 'floor'} kind
 * @property {'postgres' | 'sqlite' | 'redis'} store
 * @property {string} module in this directory
 * @property {Readonly<Record<string, unknown>>} [preset] options that make it this variant of its module
 * @property {'everysec' | 'always'} [appendFsync] of its Redis server
 * @property {number} [share] of the jobs that it is given, where it is too slow for all of them; a rate does not tell the difference
 * @property {string} keeps what of a finished job can be read afterwards
 * @property {string} lacks what of our record it does not keep
 */

const RECORD =
  'the whole record: input, every event, every error with its attempt, artifacts with their SHA-256';
const RESULT = 'the job with its last state and its result';
const NO_HISTORY = 'events, the errors of earlier attempts, artifacts';

/** @type {Readonly<Record<string, Listed>>} */
export const SYSTEMS = {
  'claimcheck-postgres': {
    kind: 'ours',
    store: 'postgres',
    module: 'claimcheck.mjs',
    keeps: RECORD,
    lacks: '',
  },
  'claimcheck-sqlite': {
    kind: 'ours',
    store: 'sqlite',
    module: 'claimcheck.mjs',
    keeps: RECORD,
    lacks: '',
  },
  'graphile-worker': {
    kind: 'peer',
    store: 'postgres',
    module: 'graphile-worker.mjs',
    keeps: 'nothing: a finished job is deleted',
    lacks: 'the job itself, its result, events; of a failing job only the last error',
  },
  'pg-boss': {
    kind: 'peer',
    store: 'postgres',
    module: 'pg-boss.mjs',
    keeps: `${RESULT}, for 7 days`,
    lacks: NO_HISTORY,
  },
  'bullmq-postgres': {
    kind: 'peer',
    store: 'postgres',
    module: 'bullmq.mjs',
    share: 0.1,
    keeps: RESULT,
    lacks: `${NO_HISTORY} (its event stream is cut at about 10,000)`,
  },
  dbos: {
    kind: 'peer',
    store: 'postgres',
    module: 'dbos.mjs',
    share: 0.05,
    keeps: `${RESULT}; the results of steps`,
    lacks: NO_HISTORY,
  },
  openworkflow: {
    kind: 'peer',
    store: 'postgres',
    module: 'openworkflow.mjs',
    share: 0.03,
    keeps: `${RESULT}; the attempts of steps, of which there are none here`,
    lacks: NO_HISTORY,
  },
  'bullmq-redis-everysec': {
    kind: 'peer',
    store: 'redis',
    module: 'bullmq.mjs',
    appendFsync: 'everysec',
    keeps: `${RESULT}; up to a second of it is lost with the power`,
    lacks: `${NO_HISTORY} (its event stream is cut at about 10,000)`,
  },
  'bullmq-redis-always': {
    kind: 'peer',
    store: 'redis',
    module: 'bullmq.mjs',
    appendFsync: 'always',
    keeps: RESULT,
    lacks: `${NO_HISTORY} (its event stream is cut at about 10,000)`,
  },
  plainjob: {
    kind: 'peer',
    store: 'sqlite',
    module: 'plainjob.mjs',
    share: 0.3,
    keeps: 'the job with its last state',
    lacks: `results, ${NO_HISTORY}`,
  },
  liteque: {
    kind: 'peer',
    store: 'sqlite',
    module: 'liteque.mjs',
    share: 0.1,
    keeps: 'nothing: a finished job is deleted',
    lacks: `the job itself, results, ${NO_HISTORY}`,
  },
  'floor-postgres': {
    kind: 'floor',
    store: 'postgres',
    module: 'floor-postgres.mjs',
    preset: { events: false },
    keeps: 'the input, and when it was finished',
    lacks: 'results, events, errors, leases, retries',
  },
  'floor-postgres-events': {
    kind: 'floor',
    store: 'postgres',
    module: 'floor-postgres.mjs',
    preset: { events: true },
    keeps: 'the input, and a row for each of three events',
    lacks: 'results, errors, leases, retries',
  },
  'floor-sqlite': {
    kind: 'floor',
    store: 'sqlite',
    module: 'floor-sqlite.mjs',
    keeps: 'the input, and a row for each of three events',
    lacks: 'results, errors, leases, retries',
  },
};
