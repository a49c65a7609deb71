/**
 * The crash loop: an API process and a worker process on one SQLite store are killed with SIGKILL at random moments,
 * their start included, and started again, while clients go on asking and write down what they were told. Then the
 * kills end, the queue gets the time to finish, and the checker reads the store against the clients' log.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openFileBlobs } from '../../blobs/file-blobs.ts';
import { DEFAULT_BACKOFF, DEFAULT_CAPS } from '../../domain/policy.ts';
import { openSqliteStore } from '../../stores/sqlite/store.ts';
import { Clients } from './clients.ts';
import { drained, judge } from './judge.ts';
import type { Judgement } from './judge.ts';
import { apiService, workerService } from './processes.ts';
import type { Service } from './service.ts';

export interface CrashLoopOptions {
  /** The script that runs `claimcheck`. */
  bin: string;
  /** How long to kill and to ask; longer where the machine is too slow for a few dozen jobs in this time. */
  ms: number;
  /** Makes the same choices in the same order; what they meet is up to the machine. */
  seed: number;
  /** The environment of the processes; settings of Claimcheck in it are left out. */
  env: Record<string, string | undefined>;
  /** Keeps the data directory and says where it is. */
  keep?: boolean;
  say: (line: string) => void;
}

export interface CrashLoopResult extends Judgement {
  kills: number;
  /** Processes that ended by themselves or did not stop as they should. */
  problems: string[];
}

const KEY = 'a-key-that-only-the-crash-loop-has-0123';
/** How long streams may take to see the ends of their jobs. */
const STREAMS_MS = 5000;
/** Lost leases, retries and what was queued have to be done by then, also on a busy machine. */
const DRAIN_MS = 20_000;
const CLIENTS = 4;
/** A slow machine goes on for longer until there is something to look at. */
const LEAST_JOBS = 50;

export async function crashLoop(options: CrashLoopOptions): Promise<CrashLoopResult> {
  const { ms, say, keep = false } = options;
  const dataDir = await mkdtemp(join(tmpdir(), 'claimcheck-crash-'));
  const problems: string[] = [];
  const random = seeded(options.seed);
  const processes = { ...options, dataDir, key: KEY, onProblem: (problem: string) => problems.push(problem) };
  const services: Services = { api: apiService(processes), worker: workerService(processes) };
  const { api, worker } = services;
  try {
    api.start();
    worker.start();
    const clients = new Clients({ address: () => api.address(), key: KEY }, random);
    const kills = await torment(services, clients, ms, random);
    say(`${kills} kills are done; the queue gets the time to finish`);
    const quietSince = Date.now();
    const store = await openSqliteStore({ dataDir, rules: { backoff: DEFAULT_BACKOFF, caps: DEFAULT_CAPS } });
    try {
      if (!(await drained(store, DRAIN_MS)))
        problems.push(`the queue was not finished ${DRAIN_MS} ms after the last kill`);
      const late = sleep(STREAMS_MS, 'late', { ref: false });
      if ((await Promise.race([clients.followed(), late])) === 'late')
        problems.push('event streams stayed open');
      await stopped(api, worker, problems);
      const blobs = await openFileBlobs({ dir: join(dataDir, 'blobs') });
      return { kills, problems, ...(await judge({ store, blobs, clients: clients.log, quietSince })) };
    } finally {
      await store.close();
    }
  } finally {
    await Promise.all([api.kill(), worker.kill()]);
    if (keep) say(`kept ${dataDir}`);
    else await rm(dataDir, { recursive: true, force: true });
  }
}

interface Services {
  api: Service;
  worker: Service;
}

/** Lets clients ask while processes are killed, and leaves both processes up. @throws Error where one ends by itself */
async function torment(
  services: Services,
  clients: Clients,
  ms: number,
  random: () => number,
): Promise<number> {
  const over = new AbortController();
  try {
    await up(services);
    // the first blow surely meets a running attempt
    await clients.runLong();
    await services.worker.kill();
    services.worker.start();
    const end = performance.now() + ms;
    const enough = (now: number) => now > end && (clients.acknowledged() >= LEAST_JOBS || now > end + 2 * ms);
    const asking = Array.from({ length: CLIENTS }, () => clients.run(over.signal));
    const killing = killUntil(enough, services, random, over.signal).finally(() => over.abort());
    const [kills] = await Promise.all([killing, ...asking]);
    await up(services);
    return kills + 1;
  } finally {
    over.abort();
  }
}

async function killUntil(
  enough: (now: number) => boolean,
  services: Services,
  random: () => number,
  over: AbortSignal,
): Promise<number> {
  const { api, worker } = services;
  let kills = 0;
  while (!enough(performance.now())) {
    await sleep(200 + random() * 1600, undefined, { signal: over });
    const victims = [[api], [worker], [worker], [api, worker]][Math.floor(random() * 4)] ?? [];
    await Promise.all(victims.map((victim) => victim.kill()));
    over.throwIfAborted();
    for (const victim of victims) victim.start();
    kills += victims.length;
  }
  return kills;
}

async function up({ api, worker }: Services): Promise<void> {
  await Promise.all([api.address(), worker.address()]);
}

async function stopped(api: Service, worker: Service, problems: string[]): Promise<void> {
  const codes = await Promise.all([api.stop(), worker.stop()]);
  if (codes.some((code) => code !== 0))
    problems.push(`api and worker stopped with exit codes ${codes.join(' and ')}`);
}

/** A linear congruential generator (Numerical Recipes): plenty for choosing whom to kill. */
function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
