/**
 * What the record costs on PostgreSQL: the store against a queue written by hand, on the same server with its default
 * durability, interleaved in one run; then the same under a transaction that is held open, after many finished jobs, and how
 * long an idle system takes from an enqueue to the start of its job.
 *
 *   node bench/postgres-store.mjs [--jobs 10000] [--rounds 3] [--finished 100000]
 *
 * Two connections drain at the same time. Rates are jobs a second by the clock, the median of the rounds.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createJiti } from 'jiti';
import { Client, Pool } from 'pg';
import { z } from 'zod';

const { values } = parseArgs({
  options: {
    jobs: { type: 'string', default: '10000' },
    rounds: { type: 'string', default: '3' },
    finished: { type: 'string', default: '100000' },
  },
});
const JOBS = Number(values.jobs);
const ROUNDS = Number(values.rounds);
const FINISHED = Number(values.finished);

const jiti = createJiti(import.meta.url, {
  alias: { claimcheck: new URL('../src/index.ts', import.meta.url).pathname },
});
/** @type {typeof import('../src/stores/postgres/store.ts')} */
const { openPostgresStore } = await jiti.import('../src/stores/postgres/store.ts');
/** @type {typeof import('../src/main/claimcheck.ts')} */
const { openClaimcheck } = await jiti.import('../src/main/claimcheck.ts');
/** @type {typeof import('../test/postgres/server.ts')} */
const { startServer } = await jiti.import('../test/postgres/server.ts');
/** @type {typeof import('../test/postgres/proxy.ts')} */
const { startProxy } = await jiti.import('../test/postgres/proxy.ts');

const HOUR = 3_600_000;
const RULES = {
  backoff: { baseMs: 250, capMs: 60_000 },
  caps: { timeoutMs: HOUR, maxAttempts: 100, deadlineMs: 48 * HOUR },
};
const LANE = { workflow: 'bench', version: '1', outputSchemaSha256: 'f'.repeat(64) };
const INPUT = { text: 'x'.repeat(285) };
const PAYLOAD = JSON.stringify(INPUT);
const ARTIFACT = new TextEncoder().encode(JSON.stringify({ summary: 'y'.repeat(185) }));
const SEPARATOR = '\u001e';

let lastName = 0;
const newName = () => `bench_${++lastName}`;
let lastId = 0;

function newJob() {
  lastId += 1;
  return {
    jobId: `job_01k${String(lastId).padStart(23, '0')}`,
    tenant: 'default',
    workflow: LANE.workflow,
    workflowVersion: LANE.version,
    outputSchemaSha256: LANE.outputSchemaSha256,
    inputJson: PAYLOAD,
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

/**
 * @typedef {object} Queue
 * @property {(count: number) => Promise<unknown>} enqueue
 * @property {(count: number) => Promise<number>} drain claims and settles up to `count`
 * @property {() => Promise<void>} close
 */

/** @param {string} url @param {boolean} inline @returns {Promise<Queue>} */
async function ours(url, inline) {
  const store = await openPostgresStore({ url, schema: newName(), rules: RULES });
  const { jobs } = store;
  await jobs.openSession({ session: 'ses', worker: 'w', host: 'h', leaseMs: HOUR });
  /** @param {{ jobId: string, token: number }} claimed */
  const completion = ({ jobId, token }) => {
    const uri = `artifacts/${jobId}/${token}/output.json`;
    const artifact = {
      uri,
      sha256: 'a'.repeat(64),
      bytes: ARTIFACT.byteLength,
      mediaType: 'application/json',
    };
    const blobs = inline ? [{ uri, bytes: ARTIFACT, mediaType: 'application/json' }] : [];
    return {
      jobId,
      token,
      command: { type: /** @type {const} */ ('complete'), artifact, artifacts: [] },
      blobs,
    };
  };
  return {
    enqueue: (count) => jobs.enqueue([Array.from({ length: count }, newJob)]),
    async drain(count) {
      const claimed = await jobs.claim({
        session: 'ses',
        worker: 'w',
        serial: 1,
        lanes: [LANE],
        limit: count,
      });
      if (claimed.jobs.length > 0) await jobs.settle(claimed.jobs.map(completion));
      return claimed.jobs.length;
    },
    close: () => store.close(),
  };
}

/** One table: insert, mark with SKIP LOCKED, delete. No lease, no record, no history. @param {string} url @returns {Promise<Queue>} */
async function floor(url) {
  const table = newName();
  const pool = new Pool({ connectionString: url, max: 3 });
  pool.on(
    'connect',
    (client) =>
      void client.query('SET plan_cache_mode = force_generic_plan; SET jit = off; SET enable_seqscan = off'),
  );
  await pool.query(
    `CREATE TABLE ${table} (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, payload text, token bigint) WITH (fillfactor = 70)`,
  );
  await pool.query(`CREATE INDEX ON ${table} (id) WHERE token IS NULL`);
  const add = `INSERT INTO ${table} (payload) SELECT * FROM unnest(string_to_array($1, E'\\x1e'))`;
  const take = `UPDATE ${table} SET token = $1 WHERE id = ANY (ARRAY(
    SELECT id FROM ${table} WHERE token IS NULL ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED)) RETURNING id, payload`;
  const end = `DELETE FROM ${table} WHERE id = ANY ($1::bigint[]) AND token = $2`;
  let token = 0;
  return {
    enqueue: (count) =>
      pool.query({ name: 'add', text: add, values: [Array(count).fill(PAYLOAD).join(SEPARATOR)] }),
    async drain(count) {
      token += 1;
      const own = token;
      const { rows } = await pool.query({ name: 'take', text: take, values: [own, count], rowMode: 'array' });
      for (const [, payload] of /** @type {[string, string][]} */ (rows)) JSON.parse(payload);
      const ids = `{${/** @type {[string, string][]} */ (rows).map(([id]) => id).join(',')}}`;
      if (rows.length > 0) await pool.query({ name: 'end', text: end, values: [ids, own] });
      return rows.length;
    },
    close: () => pool.end(),
  };
}

/** @param {number[]} numbers */
function median(numbers) {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;
}

/** @param {Queue} queue @param {number} batch */
async function drainAll(queue, batch) {
  const from = performance.now();
  let drained = 0;
  const loop = async () => {
    for (;;) {
      const count = await queue.drain(batch);
      drained += count;
      if (count === 0) return;
    }
  };
  await Promise.all([loop(), loop()]);
  return drained / ((performance.now() - from) / 1000);
}

/** @param {Queue} queue @param {number} count */
async function fill(queue, count) {
  const from = performance.now();
  for (let done = 0; done < count; done += 500) await queue.enqueue(500);
  return count / ((performance.now() - from) / 1000);
}

/** @param {string} url */
async function compare(url) {
  for (const batch of [500, 50]) {
    const makers = {
      floor: () => floor(url),
      store: () => ours(url, false),
      'store, inline artifact': () => ours(url, true),
    };
    /** @type {Record<string, { enqueue: number[], drain: number[] }>} */
    const rates = {};
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const [name, make] of Object.entries(makers)) {
        const queue = await make();
        const own = (rates[name] ??= { enqueue: [], drain: [] });
        own.enqueue.push(await fill(queue, JOBS));
        own.drain.push(await drainAll(queue, batch));
        await queue.close();
      }
    }
    for (const [name, { enqueue, drain }] of Object.entries(rates)) {
      const ratio = median(drain) / median(rates['floor']?.drain ?? []);
      console.log(
        `batches of ${batch}: ${name}: drain ${Math.round(median(drain))}/s (${ratio.toFixed(2)}), enqueue ${Math.round(median(enqueue))}/s`,
      );
    }
  }
}

/** Enqueues and drains side by side for a while. @param {Queue} queue @param {number} seconds */
async function steady(queue, seconds) {
  await queue.enqueue(2000);
  let drained = 0;
  const from = performance.now();
  while (performance.now() - from < seconds * 1000) {
    const [, count] = await Promise.all([queue.enqueue(200), queue.drain(200)]);
    drained += count;
  }
  return drained / ((performance.now() - from) / 1000);
}

/** @param {string} url */
async function underHeldTransaction(url) {
  const without = await ours(url, false);
  const empty = await steady(without, 20);
  await without.close();
  const client = new Client({ connectionString: url });
  await client.connect();
  const queue = await ours(url, false);
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
  await client.query('SELECT 1');
  const held = await steady(queue, 20);
  await client.query('COMMIT');
  await client.end();
  await queue.close();
  console.log(
    `20 s under a transaction held open: ${Math.round(held)}/s against ${Math.round(empty)}/s (${(held / empty).toFixed(2)})`,
  );
}

/** @param {string} url */
async function afterHistory(url) {
  const fresh = await ours(url, false);
  await fill(fresh, JOBS);
  const empty = await drainAll(fresh, 500);
  await fresh.close();
  const queue = await ours(url, false);
  await fill(queue, FINISHED);
  await drainAll(queue, 500);
  await fill(queue, JOBS);
  const full = await drainAll(queue, 500);
  await queue.close();
  console.log(
    `after ${FINISHED} finished jobs: ${Math.round(full)}/s against ${Math.round(empty)}/s (${(full / empty).toFixed(2)})`,
  );
}

/** From the call of `enqueue` to the first line of the function, in an idle system. @param {string} url @param {string} name */
async function latency(url, name) {
  const dataDir = mkdtempSync(join(tmpdir(), 'claimcheck-bench-'));
  const schema = newName();
  let started = () => {};
  const workflow = {
    name: 'bench',
    version: '1',
    input: z.unknown(),
    output: z.unknown(),
    run: () => {
      started();
      return null;
    },
  };
  const api = await openClaimcheck({ dataDir, databaseUrl: url, schema, workflows: [workflow] });
  const host = await openClaimcheck({ dataDir, databaseUrl: url, schema, workflows: [workflow] });
  host.worker().start();
  await sleep(1500);
  const took = [];
  for (let index = 0; index < 100; index += 1) {
    await sleep(20 + Math.random() * 80);
    const from = performance.now();
    const start = new Promise((resolve) => {
      started = () => resolve(undefined);
    });
    await api.enqueue('bench', null);
    await start;
    took.push(performance.now() - from);
  }
  await Promise.all([host.close(), api.close()]);
  rmSync(dataDir, { recursive: true, force: true });
  took.sort((a, b) => a - b);
  console.log(`enqueue to start, ${name}: p50 ${took[49]?.toFixed(1)} ms, p99 ${took[98]?.toFixed(1)} ms`);
}

const server = await startServer({ fsync: 'on', full_page_writes: 'on' });
try {
  await compare(server.url);
  await afterHistory(server.url);
  await underHeldTransaction(server.url);
  await latency(server.url, 'with the listener');
  const proxy = await startProxy(server.url, { pooler: true });
  await latency(proxy.url, 'by polling');
  proxy.close();
} finally {
  await server.stop();
}
