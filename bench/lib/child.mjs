/** Processes that drive a system: starts them, asks them, and ends them. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { track } from './started.mjs';

/** @import { Mark, OpenOptions } from '../types.ts' */

const DRIVER = join(import.meta.dirname, '..', 'driver.mjs');
const SAID = 2000;
const END_MS = 5000;

/**
 * @typedef {{ jobs: number, fromMs: number, toMs: number, cpuMs: number, p50: number, p95: number, p99: number }} Spent what handing in took, and each call in ms
 * @typedef {{ begun: number, ran: number, firstMs: number }} Counts functions that have begun something that takes long, and that have run; when the first of the former began
 *
 * @typedef {object} Driver a process, with the verbs of driver.mjs
 * @property {(args: OpenOptions) => Promise<void>} open
 * @property {(args: { jobs: number }) => Promise<void>} stock
 * @property {(args: { ms: number, callers: number }) => Promise<Spent>} enqueue
 * @property {(args: { ms: number, batch: number }) => Promise<Spent | null>} enqueueBatches
 * @property {(args: { jobs: number, everyMs: number }) => Promise<void>} trickle
 * @property {(args: { job: string, ms?: number, warm?: number }) => Promise<void>} work
 * @property {() => Promise<number>} drained
 * @property {() => Promise<{ marks: Mark[], waitedMs: number[], peakMb: number }>} report
 * @property {() => Promise<void>} close lets its system close, as long as that takes
 * @property {() => Promise<void>} end ends the process, and what its system had under way with it
 * @property {() => Promise<void>} kill
 * @property {() => Counts} counts as it last told
 * @property {(listener: () => void) => void} onTold
 * @property {Promise<never>} broke rejects where it ends by itself
 *
 * @typedef {{ id?: number, result?: never, error?: string, counts?: Counts }} Message
 */

const VERBS = ['open', 'stock', 'enqueue', 'enqueueBatches', 'trickle', 'work', 'drained', 'report', 'close'];

/**
 * Starts a driver for each of these, opens their systems, and ends them with `body`.
 *
 * @template T
 * @param {string} system
 * @param {readonly OpenOptions[]} options of each process
 * @param {(...drivers: Driver[]) => Promise<T>} body
 * @returns {Promise<T>}
 */
export async function withDrivers(system, options, body) {
  const drivers = options.map(() => start(system));
  try {
    // the first one makes the tables; not every system bears two that do it at the same time
    for (const [index, driver] of drivers.entries())
      await driver.open(/** @type {OpenOptions} */ (options[index]));
    const result = await Promise.race([body(...drivers), ...drivers.map((driver) => driver.broke)]);
    await Promise.all(drivers.map((driver) => driver.end()));
    return result;
  } finally {
    await Promise.all(drivers.map((driver) => driver.kill()));
  }
}

/**
 * Resolves where what the drivers told last satisfies.
 *
 * @param {readonly Driver[]} drivers
 * @param {(counts: Counts[]) => boolean} satisfies
 * @returns {Promise<void>}
 */
export function told(drivers, satisfies) {
  return new Promise((resolve) => {
    const look = () => {
      if (satisfies(drivers.map((driver) => driver.counts()))) resolve();
    };
    for (const driver of drivers) driver.onTold(look);
    look();
  });
}

/** @param {string} system @returns {Driver} */
function start(system) {
  const child = track(fork(DRIVER, [system], { stdio: ['ignore', 'pipe', 'pipe', 'ipc'] }));
  const said = tailOf(child);
  /** @type {Map<number, { resolve: (result: never) => void, reject: (error: Error) => void }>} */
  const asked = new Map();
  let counts = { begun: 0, ran: 0, firstMs: 0 };
  let listener = () => {};
  let ending = false;
  child.on('message', (/** @type {Message} */ { id = 0, result, error, counts: news }) => {
    if (news !== undefined) {
      counts = news;
      return listener();
    }
    const one = asked.get(id);
    asked.delete(id);
    if (error === undefined) one?.resolve(/** @type {never} */ (result));
    else one?.reject(new Error(error));
  });
  const gone = once(child, 'exit').then(([code, signal]) => {
    const error = new Error(`its process ended (${String(signal ?? code)}) ${said()}`.trim());
    for (const { reject } of asked.values()) reject(error);
    return error;
  });
  const broke = gone.then((error) => {
    if (!ending) throw error;
    return new Promise(() => {});
  });
  broke.catch(() => {});
  let last = 0;
  const verb = (/** @type {string} */ what) => (/** @type {unknown} */ args) =>
    new Promise((resolve, reject) => {
      last += 1;
      asked.set(last, { resolve, reject });
      child.send({ id: last, verb: what, args }, (error) => error !== null && reject(error));
    });
  const verbs = /** @type {Driver} */ (
    /** @type {unknown} */ (Object.fromEntries(VERBS.map((what) => [what, verb(what)])))
  );
  const kill = async () => {
    ending = true;
    child.kill('SIGKILL');
    await gone;
  };
  return {
    ...verbs,
    async end() {
      ending = true;
      const timer = setTimeout(() => child.kill('SIGKILL'), END_MS);
      if (child.connected) child.disconnect();
      await gone;
      clearTimeout(timer);
    },
    kill,
    counts: () => counts,
    onTold: (one) => {
      listener = one;
    },
    broke: /** @type {Promise<never>} */ (broke),
  };
}

/** The last that it wrote, for whoever asks why it ended. @param {import('node:child_process').ChildProcess} child */
function tailOf(child) {
  let said = '';
  const keep = (/** @type {Buffer} */ chunk) => {
    said = `${said}${chunk.toString()}`.slice(-SAID);
  };
  child.stdout?.on('data', keep);
  child.stderr?.on('data', keep);
  return () => said.trim();
}
