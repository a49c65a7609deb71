/**
 * What the record costs: the store against two queues written by hand, in the same SQLite and with the same
 * durability, interleaved in one run.
 *
 *   node bench/sqlite-store.mjs [--jobs 10000] [--rounds 3] [--finished 200000]
 *
 * Each number is the median of the rounds: jobs a second by the clock, their ratio to the floor, and the
 * microseconds of processor time that a job costs.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createJiti } from 'jiti';
import { floor, sameTables } from './sqlite-by-hand.mjs';

const { values } = parseArgs({
  options: {
    jobs: { type: 'string', default: '10000' },
    rounds: { type: 'string', default: '3' },
    finished: { type: 'string', default: '200000' },
  },
});
const JOBS = Number(values.jobs);
const ROUNDS = Number(values.rounds);
const FINISHED = Number(values.finished);

/** @type {typeof import('../src/stores/sqlite/store.ts')} */
const { openSqliteStore } = await createJiti(import.meta.url).import('../src/stores/sqlite/store.ts');

const HOUR = 3_600_000;
const RULES = {
  backoff: { baseMs: 250, capMs: 60_000 },
  caps: { timeoutMs: HOUR, maxAttempts: 100, deadlineMs: 48 * HOUR },
};
const LANE = { workflow: 'bench', version: '1', outputSchemaSha256: 'f'.repeat(64) };
const INPUT = { text: 'x'.repeat(285) };
const PAYLOAD = JSON.stringify(INPUT);
const ARTIFACT = new TextEncoder().encode(JSON.stringify({ summary: 'y'.repeat(185) }));

/** @type {string[]} */
const directories = [];
let lastId = 0;

function directory() {
  const made = mkdtempSync(join(tmpdir(), 'claimcheck-bench-'));
  directories.push(made);
  return made;
}

function newId() {
  lastId += 1;
  return `job_01k${String(lastId).padStart(23, '0')}`;
}

function newJob() {
  return {
    jobId: newId(),
    tenant: 'default',
    workflow: LANE.workflow,
    workflowVersion: LANE.version,
    outputSchemaSha256: LANE.outputSchemaSha256,
    inputJson: JSON.stringify(INPUT),
    inputRef: null,
    inputSha256: 'a'.repeat(64),
    requestedLimits: {},
    workflowLimits: {},
    runAt: null,
    priority: 0,
    labels: {},
    idempotency: null,
  };
}

/** @typedef {import('./sqlite-by-hand.mjs').Queue} Queue */

/**
 * @param {{ blobs: boolean, finished: number }} options
 * @returns {Promise<Queue>}
 */
async function ours({ blobs, finished }) {
  const store = await openSqliteStore({ path: join(directory(), 'store.db'), rules: RULES });
  const { jobs } = store;
  await jobs.openSession({ session: 'ses_bench', worker: 'bench-1', host: 'bench', leaseMs: HOUR });
  const claim = { session: 'ses_bench', worker: 'bench-1', serial: 1, lanes: [LANE] };
  /** @type {Queue} */
  const queue = {
    async enqueue(count) {
      await jobs.enqueue(Array.from({ length: count }, () => [newJob()]));
    },
    async drain(count) {
      const claimed = await jobs.claim({ ...claim, limit: count });
      await jobs.settle(claimed.jobs.map((job) => settlement(job, blobs)));
      return claimed.jobs.length;
    },
    close: () => store.close(),
  };
  for (let left = finished; left > 0; left -= 1000) {
    await queue.enqueue(1000);
    await queue.drain(1000);
  }
  return queue;
}

/**
 * @param {{ jobId: string, token: number }} job
 * @param {boolean} inline
 */
function settlement({ jobId, token }, inline) {
  const uri = `artifacts/${jobId}/${token}/output.json`;
  const mediaType = 'application/json';
  const artifact = { uri, sha256: 'b'.repeat(64), bytes: ARTIFACT.byteLength, mediaType };
  return {
    jobId,
    token,
    command: { type: /** @type {const} */ ('complete'), artifact, artifacts: [] },
    blobs: inline ? [{ uri, mediaType, bytes: ARTIFACT }] : [],
  };
}

/**
 * Enqueues and drains JOBS jobs in batches.
 *
 * @param {Queue} queue
 * @param {number} batch
 */
async function measure(queue, batch) {
  const enqueue = await timed(async () => {
    for (let done = 0; done < JOBS; done += batch) await queue.enqueue(batch);
  });
  const drain = await timed(async () => {
    for (let done = 0; done < JOBS; done += batch) await queue.drain(batch);
  });
  return { enqueue, drain };
}

/** @param {() => Promise<void>} work */
async function timed(work) {
  const cpu = process.cpuUsage();
  const start = performance.now();
  await work();
  const ms = performance.now() - start;
  const { user, system } = process.cpuUsage(cpu);
  return { rate: (JOBS * 1000) / ms, cpuUs: (user + system) / JOBS };
}

/** @param {number[]} numbers */
function median(numbers) {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;
}

/** @returns {Promise<Queue>} */
async function byHand() {
  const path = join(directory(), 'store.db');
  await (await openSqliteStore({ path, rules: RULES })).close();
  return sameTables(path, { newId, payload: PAYLOAD, artifact: ARTIFACT });
}

/** @type {Record<string, Queue>} */
const queues = {
  floor: floor(join(directory(), 'floor.db'), PAYLOAD),
  'our tables by hand': await byHand(),
  'store, artifact elsewhere': await ours({ blobs: false, finished: 0 }),
  'store, inline artifact': await ours({ blobs: true, finished: 0 }),
  [`store after ${FINISHED} jobs`]: await ours({ blobs: true, finished: FINISHED }),
};

/** @typedef {Awaited<ReturnType<typeof measure>>} Measured */

for (const batch of [500, 50]) {
  /** @type {Record<string, Measured[]>} */
  const seen = {};
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const [name, queue] of Object.entries(queues)) {
      const measured = await measure(queue, batch);
      // The first round warms up.
      if (round > 0) seen[name] = [...(seen[name] ?? []), measured];
    }
  }
  report(batch, seen);
}

/**
 * @param {number} batch
 * @param {Record<string, Measured[]>} seen
 */
function report(batch, seen) {
  console.log(`\nbatches of ${batch}`);
  /** @type {(name: string, what: 'enqueue' | 'drain', key: 'rate' | 'cpuUs') => number} */
  const of = (name, what, key) => median((seen[name] ?? []).map((one) => one[what][key]));
  for (const name of Object.keys(seen)) {
    const cells = /** @type {const} */ (['enqueue', 'drain']).map((what) => {
      const rate = of(name, what, 'rate');
      const ratio = (rate / of('floor', what, 'rate')).toFixed(2);
      return `${what} ${Math.round(rate)}/s (${ratio}) ${of(name, what, 'cpuUs').toFixed(1)} us`.padEnd(36);
    });
    console.log(`  ${name.padEnd(28)} ${cells.join(' ')}`);
  }
}

for (const queue of Object.values(queues)) await queue.close();
for (const made of directories) rmSync(made, { recursive: true, force: true });
