/**
 * From the call of `enqueue` to the first line of the function, in an idle system: on PostgreSQL with the listener and by
 * polling alone, and within one process on SQLite.
 *
 *   node bench/latency.mjs [--samples 300] [--only listener|polling|sqlite]
 *
 * One sample after the other, with a random pause in between. On PostgreSQL one claimcheck hands in and another runs, each
 * with connections of its own; the server has its default durability.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createJiti } from 'jiti';
import { z } from 'zod';

const { values } = parseArgs({
  options: { samples: { type: 'string', default: '300' }, only: { type: 'string' } },
});
const SAMPLES = Number(values.samples);
const WARM_UP = 30;

const jiti = createJiti(import.meta.url, {
  alias: { claimcheck: new URL('../src/index.ts', import.meta.url).pathname },
});
/** @type {typeof import('../src/main/claimcheck.ts')} */
const { openClaimcheck } = await jiti.import('../src/main/claimcheck.ts');
/** @type {typeof import('../test/postgres/server.ts')} */
const { startServer } = await jiti.import('../test/postgres/server.ts');
/** @type {typeof import('../test/postgres/proxy.ts')} */
const { startProxy } = await jiti.import('../test/postgres/proxy.ts');

/** @typedef {import('../src/main/claimcheck.ts').Claimcheck} Claimcheck */

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

/** @param {string} name @param {{ databaseUrl?: string }} store */
async function measure(name, store) {
  const dataDir = mkdtempSync(join(tmpdir(), 'claimcheck-bench-'));
  const options = { dataDir, workflows: [workflow], ...store };
  const runs = await openClaimcheck(options);
  const asks = store.databaseUrl === undefined ? runs : await openClaimcheck(options);
  runs.worker().start();
  await sleep(1500);
  await sample(asks, WARM_UP);
  const took = await sample(asks, SAMPLES);
  for (const one of new Set([asks, runs])) await one.close();
  rmSync(dataDir, { recursive: true, force: true });
  took.sort((a, b) => a - b);
  const at = (/** @type {number} */ share) =>
    took[Math.min(took.length - 1, Math.floor(took.length * share))]?.toFixed(2);
  console.log(
    `${name}: p50 ${at(0.5)} ms, p95 ${at(0.95)} ms, p99 ${at(0.99)} ms, worst ${took.at(-1)?.toFixed(2)} ms`,
  );
}

/** @param {Claimcheck} asks @param {number} count */
async function sample(asks, count) {
  const took = [];
  for (let index = 0; index < count; index += 1) {
    await sleep(20 + Math.random() * 80);
    const start = new Promise((resolve) => {
      started = () => resolve(undefined);
    });
    const from = performance.now();
    await asks.enqueue('bench', null);
    await start;
    took.push(performance.now() - from);
  }
  return took;
}

const wanted = (/** @type {string} */ name) => values.only === undefined || values.only === name;

if (wanted('sqlite')) await measure('SQLite, one process', {});
if (wanted('listener') || wanted('polling')) {
  const server = await startServer({ fsync: 'on', full_page_writes: 'on' });
  try {
    if (wanted('listener')) await measure('PostgreSQL, with the listener', { databaseUrl: server.url });
    if (wanted('polling')) {
      const proxy = await startProxy(server.url, { pooler: true });
      await measure('PostgreSQL, by polling', { databaseUrl: proxy.url });
      proxy.close();
    }
  } finally {
    await server.stop();
  }
}
