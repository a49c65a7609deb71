/**
 * One process of one system: `node bench/driver.mjs NAME`, started and told what to do by lib/child.mjs.
 *
 * All systems, ours among them, are driven by this program, so that each pays the same for being measured. It speaks over the
 * channel to its parent: `{ id, verb, args }` is answered by `{ id, result }` or `{ id, error }`, and while jobs run it tells
 * every few milliseconds how many of their functions have begun and have run.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { cpuMs, nowMs } from './lib/clock.mjs';
import { payload, payloads } from './lib/payloads.mjs';
import { percentiles } from './lib/stats.mjs';
import { SYSTEMS } from './systems/index.mjs';

/** @import { Mark, OpenOptions, Run, System, SystemModule } from './types.ts' */

const MARK_EVERY = 100;
const TELL_MS = 5;
const LOOK_MS = 2;
const BATCH = 1000;
const ARTIFACT = { summary: 'a'.repeat(1010) };

const name = process.argv[2] ?? '';
/** @type {System} */
let system;
/** @type {Mark[]} */
const marks = [];
/** From handing a job in to the start of its function. @type {number[]} */
const waitedMs = [];
const counts = { begun: 0, ran: 0, firstMs: 0 };

function mark() {
  marks.push({ atMs: nowMs(), ran: counts.ran, cpuMs: cpuMs() });
}

function begin() {
  if (counts.begun === 0) {
    counts.firstMs = nowMs();
    mark();
  }
  counts.begun += 1;
}

function count() {
  counts.ran += 1;
  if (counts.ran % MARK_EVERY === 0) mark();
}

/** What the jobs do, by name. @type {Record<string, (ms: number, warm: number) => Run>} */
const FUNCTIONS = {
  nothing: () => () => {
    count();
    return null;
  },
  artifact: () => () => {
    count();
    return ARTIFACT;
  },
  latency:
    () =>
    ({ sentMs = 0 }) => {
      waitedMs.push(nowMs() - sentMs);
      count();
      return null;
    },
  /** The first `warm` of them end at once. */
  sleep: (ms, warm) => async () => {
    if (counts.ran >= warm) {
      begin();
      await sleep(ms);
    }
    count();
    return null;
  },
  /** Keeps the whole process busy. */
  spin: (ms) => () => {
    begin();
    tell();
    const untilMs = nowMs() + ms;
    while (nowMs() < untilMs);
    count();
    return null;
  },
};

let told = '';
function tell() {
  const news = JSON.stringify(counts);
  if (news === told) return;
  told = news;
  process.send?.({ counts });
}

const verbs = {
  /** @param {OpenOptions} options */
  async open(options) {
    const { module: file, preset } = SYSTEMS[name] ?? failed(`there is no system ${name}`);
    const found = /** @type {SystemModule} */ (await import(`./systems/${file}`));
    system = await found.open({ ...preset, ...options });
  },

  /** Hands in `jobs` in the fastest way there is. @param {{ jobs: number }} args */
  async stock({ jobs }) {
    for (let left = jobs; left > 0; left -= BATCH) {
      const batch = payloads(Math.min(left, BATCH));
      await (system.enqueueMany?.(batch) ?? Promise.all(batch.map((one) => system.enqueue(one))));
    }
  },

  /** For `ms`, `callers` hand in one job after the other, each waiting for its own answer. @param {{ ms: number, callers: number }} args */
  async enqueue({ ms, callers }) {
    const spent = await spending(ms, callers, () => system.enqueue(payload()));
    return { ...spent, jobs: spent.tookMs.length, ...percentiles(spent.tookMs) };
  },

  /** For `ms`, one caller hands in batches; null where the system takes none. @param {{ ms: number, batch: number }} args */
  async enqueueBatches({ ms, batch }) {
    const { enqueueMany } = system;
    if (enqueueMany === null) return null;
    const spent = await spending(ms, 1, () => enqueueMany(payloads(batch)));
    return { ...spent, jobs: spent.tookMs.length * batch, ...percentiles(spent.tookMs) };
  },

  /** Hands in one job every so often. @param {{ jobs: number, everyMs: number }} args */
  async trickle({ jobs, everyMs }) {
    for (let sent = 0; sent < jobs; sent += 1) {
      await Promise.all([system.enqueue({ ...payload(), sentMs: nowMs() }), sleep(everyMs)]);
    }
  },

  /** @param {{ job: string, ms?: number, warm?: number }} args */
  async work({ job, ms = 0, warm = 0 }) {
    const make = FUNCTIONS[job] ?? failed(`there is no function ${job}`);
    mark();
    setInterval(tell, TELL_MS).unref();
    await system.work(make(ms, warm));
  },

  /** Resolves once nothing is left, with the moment at which that was seen. */
  async drained() {
    while (!(await system.isDrained())) await sleep(LOOK_MS);
    mark();
    return nowMs();
  },

  report: async () => ({ marks, waitedMs, peakMb: process.resourceUsage().maxRSS / 1024 }),

  close: async () => {
    await system.close();
  },
};

/**
 * `callers` call again and again for `ms`; the calls under way then are waited for and counted.
 *
 * @param {number} ms
 * @param {number} callers
 * @param {() => Promise<unknown>} call
 */
async function spending(ms, callers, call) {
  /** @type {number[]} */
  const tookMs = [];
  const from = { ms: nowMs(), cpuMs: cpuMs() };
  const caller = async () => {
    for (let startMs = nowMs(); startMs < from.ms + ms; startMs = nowMs()) {
      await call();
      tookMs.push(nowMs() - startMs);
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  return { fromMs: from.ms, toMs: nowMs(), cpuMs: cpuMs() - from.cpuMs, tookMs };
}

/** @param {string} message @returns {never} */
function failed(message) {
  throw new Error(message);
}

/** @typedef {{ id: number, verb: keyof typeof verbs, args: never }} Asked */

process.on('message', (/** @type {Asked} */ { id, verb, args }) => {
  verbs[verb](args).then(
    (result) => process.send?.({ id, result }),
    (error) => process.send?.({ id, error: error instanceof Error ? error.message : String(error) }),
  );
});
process.on('disconnect', () => process.exit());
