/**
 * `npm run torture -- --minutes 10`: APIs and workers on one database are killed, paused and cut off for as long as it is
 * told, the database is restarted now and then, and every job is checked against what clients and workers were told.
 * Exit code 1 where an invariant is broken or a process did what nobody asked of it. The database is a PostgreSQL server of
 * the run's own.
 *
 *   --store sqlite     on SQLite instead
 *   --seed N           makes the same choices again
 *   --keep             leaves the data directory (and with it the SQLite store) for a look
 *   --json             prints the summary as JSON on stdout, and all else on stderr
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { createJiti } from 'jiti';
import { ROOT } from './launcher/paths.mjs';

/** @typedef {typeof import('../src/testkit/crash/torture.ts')} Torture */
/** @typedef {typeof import('../src/testkit/crash/ground.ts')} Grounds */
/** @typedef {import('../src/testkit/crash/torture.ts').TortureResult} Result */

const USAGE =
  'Usage: npm run torture -- [--minutes N] [--seed N] [--store sqlite|postgres] [--keep] [--json]';
const PROCESSES = { apis: 3, workers: 5 };

const options = readOptions();
const say = (/** @type {string} */ line) => (options.json ? console.error(line) : console.log(line));
const dataDir = mkdtempSync(join(tmpdir(), 'claimcheck-torture-'));
const interruption = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => interruption.abort());

try {
  const { result, stop } = await run();
  await stop();
  tell(result);
  process.exitCode = result.violations.length + result.problems.length === 0 ? 0 : 1;
} catch (error) {
  const isInterrupted = interruption.signal.aborted;
  say(isInterrupted ? 'interrupted; nothing was judged' : `it came to no end: ${String(error)}`);
  process.exitCode = isInterrupted ? 130 : 1;
} finally {
  if (options.keep) say(`kept ${dataDir}`);
  else rmSync(dataDir, { recursive: true, force: true });
}

function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        minutes: { type: 'string', default: '10' },
        seed: { type: 'string', default: String(Date.now() % 1_000_000) },
        store: { type: 'string', default: 'postgres' },
        keep: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
      },
    });
    const { store, keep, json } = values;
    const [minutes, seed] = [Number(values.minutes), Number(values.seed)];
    if (!(minutes > 0) || !Number.isInteger(seed) || !['sqlite', 'postgres'].includes(store))
      throw new Error();
    return { minutes, seed, store, keep, json };
  } catch {
    console.error(USAGE);
    process.exit(2);
  }
}

async function run() {
  /** @type {Torture} */
  const { torture } = await built('torture');
  const { ground, stop } = await (options.store === 'sqlite' ? sqlite() : postgres());
  try {
    say(`seed ${options.seed}, on ${ground.name}: ${PROCESSES.apis} APIs, ${PROCESSES.workers} workers`);
    const oddWorker = ground.name === 'postgres' ? anHourAhead() : null;
    const result = await torture({
      bin: join(ROOT, 'bin/claimcheck'),
      env: process.env,
      ...PROCESSES,
      ...(oddWorker === null ? {} : { oddWorker }),
      ground,
      dataDir,
      ms: options.minutes * 60_000,
      seed: options.seed,
      say,
      signal: interruption.signal,
    });
    return { result, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function sqlite() {
  /** @type {Grounds} */
  const { sqliteGround } = await built('ground');
  return { ground: sqliteGround(dataDir), stop: async () => {} };
}

async function postgres() {
  /** @type {Grounds} */
  const { postgresGround } = await built('ground');
  /** @type {typeof import('../test/postgres/server.ts')} */
  const { startServer } = await createJiti(import.meta.url).import('../test/postgres/server.ts');
  const server = await startServer();
  const restart = (/** @type {number} */ awayMs) => server.restart('immediate', awayMs);
  return { ground: postgresGround(server.url, 'claimcheck', restart), stop: () => server.stop() };
}

/**
 * @template Module
 * @param {string} name
 * @returns {Promise<Module>}
 */
async function built(name) {
  return /** @type {Module} */ (
    await import(pathToFileURL(join(ROOT, `dist/testkit/crash/${name}.js`)).href)
  );
}

/** The environment of a process whose wall clock is an hour ahead, where libfaketime is installed. */
function anHourAhead() {
  try {
    const preload = execFileSync('faketime', ['-f', '+1h', 'sh', '-c', 'echo "$LD_PRELOAD"'], {
      encoding: 'utf8',
    });
    say("one worker's wall clock is an hour ahead");
    return { LD_PRELOAD: preload.trim(), FAKETIME: '+1h', FAKETIME_DONT_FAKE_MONOTONIC: '1' };
  } catch {
    say('faketime is not installed: no worker has a wall clock of its own');
    return null;
  }
}

/** @param {Result} result */
function tell(result) {
  const { violations, problems, ...counts } = result;
  if (options.json)
    console.log(JSON.stringify({ seed: options.seed, store: options.store, ...result }, null, 2));
  for (const [name, count] of Object.entries(counts))
    say(`${name}: ${typeof count === 'object' ? listed(count) : count}`);
  for (const problem of problems) say(`problem: ${problem}`);
  for (const { invariant, jobId, message } of violations)
    say(`invariant ${invariant}: ${jobId ?? 'no job'} ${message}`);
  say(violations.length + problems.length === 0 ? 'every invariant holds' : 'FAILED');
}

/** @param {Record<string, number>} counts */
function listed(counts) {
  return Object.entries(counts)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ');
}
