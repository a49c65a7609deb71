/** A process that drives one system: starts it, asks it, and ends it. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

/** @import { Mark, OpenOptions } from '../types.ts' */

const DRIVER = join(import.meta.dirname, '..', 'driver.mjs');
const SAID = 4000;
const CLOSE_MS = 10_000;

/**
 * @typedef {object} Spent
 * @property {number} fromMs
 * @property {number} toMs
 * @property {number} cpuMs
 * @property {number} jobs
 *
 * @typedef {object} Verbs what the driver answers
 * @property {(args: OpenOptions) => Promise<void>} open
 * @property {(args: { jobs: number }) => Promise<void>} fill
 * @property {(args: { jobs: number, callers: number }) => Promise<Spent & { p50: number, p95: number, p99: number }>} enqueue
 * @property {(args: { jobs: number, batch: number }) => Promise<Spent | null>} enqueueBatches
 * @property {(args: { jobs: number, everyMs: number }) => Promise<void>} trickle
 * @property {(args: { job: string, ms?: number }) => Promise<void>} work
 * @property {() => Promise<number>} drained
 * @property {() => Promise<{ marks: Mark[], waitedMs: number[], peakMb: number }>} report
 *
 * @typedef {Verbs & {
 *   pid: number,
 *   ran: () => number,
 *   onRan: (listener: () => void) => void,
 *   kill: () => Promise<void>,
 *   close: () => Promise<void>,
 * }} Driver
 *
 * @typedef {{ id?: number, result?: never, error?: string, ran?: number }} Message
 */

/** Those that run now, so that an interrupted bench can end them. @type {Set<import('node:child_process').ChildProcess>} */
const children = new Set();

export function killChildren() {
  for (const child of children) child.kill('SIGKILL');
}

/**
 * Starts a driver and opens its system.
 *
 * @param {string} name
 * @param {OpenOptions} options
 * @returns {Promise<Driver>}
 */
export async function startDriver(name, options) {
  const child = fork(DRIVER, [name], { stdio: ['ignore', 'pipe', 'pipe', 'ipc'] });
  children.add(child);
  let said = '';
  const keep = (/** @type {Buffer} */ chunk) => {
    said = `${said}${chunk.toString()}`.slice(-SAID);
  };
  child.stdout?.on('data', keep);
  child.stderr?.on('data', keep);
  /** @type {Map<number, { resolve: (result: never) => void, reject: (error: Error) => void }>} */
  const asked = new Map();
  let ran = 0;
  let onRan = () => {};
  child.on('message', (/** @type {Message} */ message) => {
    if (message.ran !== undefined) {
      ran = message.ran;
      onRan();
      return;
    }
    const one = asked.get(message.id ?? 0);
    asked.delete(message.id ?? 0);
    if (message.error === undefined) one?.resolve(/** @type {never} */ (message.result));
    else one?.reject(new Error(`${name}: ${message.error}`));
  });
  const gone = once(child, 'exit').then(([code, signal]) => {
    children.delete(child);
    const how = `${name} ended (${String(signal ?? code)}): ${said.trimEnd()}`;
    for (const { reject } of asked.values()) reject(new Error(how));
  });

  let last = 0;
  /** @type {(verb: string) => (args?: object) => Promise<never>} */
  const verb = (what) => (args) =>
    new Promise((resolve, reject) => {
      last += 1;
      asked.set(last, { resolve, reject });
      child.send({ id: last, verb: what, args });
    });
  const kill = async () => {
    child.kill('SIGKILL');
    await gone;
  };
  /** @type {Driver} */
  const driver = {
    open: verb('open'),
    fill: verb('fill'),
    enqueue: verb('enqueue'),
    enqueueBatches: verb('enqueueBatches'),
    trickle: verb('trickle'),
    work: verb('work'),
    drained: verb('drained'),
    report: verb('report'),
    pid: child.pid ?? 0,
    ran: () => ran,
    onRan: (listener) => {
      onRan = listener;
    },
    kill,
    /** Lets it end in its own time, within bounds: some systems wait for their polls. */
    async close() {
      const closing = verb('close')().catch(() => {});
      const timer = setTimeout(() => child.kill('SIGKILL'), CLOSE_MS);
      await Promise.race([closing, gone]);
      child.disconnect();
      await gone;
      clearTimeout(timer);
    },
  };
  try {
    await driver.open(options);
  } catch (error) {
    await kill();
    throw error;
  }
  return driver;
}
