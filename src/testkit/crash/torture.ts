/**
 * Torture: several APIs and workers on one store are killed with SIGKILL at random moments and at crash points, their start
 * included, stopped, paused past their lease and cut off from their database, which may itself be restarted, while
 * clients go on asking and write down what they were told. Then it ends, the queue gets the time to finish, and the checker
 * reads the store against what clients and workers wrote down.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openFileBlobs } from '../../blobs/file-blobs.ts';
import type { Store } from '../../ports/store.ts';
import { readAttemptLogs } from './attempt-logs.ts';
import { BLOWS, BLOW_NAMES } from './blows.ts';
import type { Arena, BlowName } from './blows.ts';
import { seeded } from './chance.ts';
import { Clients } from './clients.ts';
import { createFleet } from './fleet.ts';
import type { FleetOptions } from './fleet.ts';
import type { Ground } from './ground.ts';
import { drained, judge } from './judge.ts';
import type { Judgement } from './judge.ts';
import { watchLeases } from './lease-watch.ts';
import { LEASE_MS } from './processes.ts';
import { torment } from './torment.ts';

export interface TortureOptions extends Pick<FleetOptions, 'bin' | 'env' | 'apis' | 'workers' | 'oddWorker'> {
  ground: Ground;
  /** Holds large artifacts, the store where it is SQLite, and what workers write down. */
  dataDir: string;
  /** How long blows fall. */
  ms: number;
  /** Makes the same choices in the same order; what they meet is up to the machine. */
  seed: number;
  say: (line: string) => void;
  /** Ends it early, without a judgement. */
  signal?: AbortSignal;
}

export interface TortureResult extends Judgement {
  seconds: number;
  blows: Partial<Record<BlowName, number>>;
  /** How often a process ended itself at a crash point. */
  crashes: Record<string, number>;
  /** Starts that found the database away. */
  refusals: number;
  /** What workers wrote down; `refused` are settlements that came too late and were told so. */
  claims: number;
  settlements: number;
  refused: number;
  /** The longest that a lease was seen past its end. */
  longestOverstayMs: number;
  /** Processes that ended by themselves or did not stop as they should, and what did not come to an end. */
  problems: string[];
}

const KEY = 'a-key-that-only-the-torture-has-0123456789';
/** Lost leases, retries and what was queued have to be done by then, also on a busy machine. */
const DRAIN_MS = 30_000;
/** How long streams may take to see the ends of their jobs. */
const STREAMS_MS = 5000;

/** All of one run. */
interface Run extends Arena {
  clients: Clients;
  store: Store;
  problems: string[];
}

export async function torture(options: TortureOptions): Promise<TortureResult> {
  const closing = new AbortController();
  const close = () => closing.abort();
  options.signal?.addEventListener('abort', close);
  const run = await assemble(options, closing);
  try {
    const started = performance.now();
    const blows = await torment(run, run.clients, { ...options, blows: blowsOn(options.ground) });
    options.signal?.throwIfAborted();
    const seconds = Math.round((performance.now() - started) / 1000);
    return { seconds, blows: Object.fromEntries(blows), ...(await judged(run, options)) };
  } finally {
    options.signal?.removeEventListener('abort', close);
    close();
    await run.watch.stop();
    await run.fleet.kill();
    await run.store.close();
  }
}

/** @param closing ends the blows, as the first problem does */
async function assemble(options: TortureOptions, closing: AbortController): Promise<Run> {
  const { ground, seed } = options;
  const problems: string[] = [];
  const onProblem = (problem: string) => {
    problems.push(problem);
    closing.abort();
  };
  const fleet = createFleet({
    ...options,
    settings: ground.settings,
    key: KEY,
    onProblem,
    mayRefuse: ground.cut !== undefined || ground.restart !== undefined,
    random: seeded(3 * seed),
  });
  const clients = new Clients({ address: () => fleet.address(), key: KEY }, seeded(3 * seed + 1));
  const store = await ground.openStore();
  // a sweeper takes jobs back once it has seen the store for one lease
  const isSwept = () => fleet.members.some(({ service }) => service.steadyMs() > 2 * LEASE_MS);
  const arena = { fleet, ground, random: seeded(3 * seed + 2), pauses: new Set<Promise<void>>(), onProblem };
  return { ...arena, watch: watchLeases(store, { isSwept }), over: closing.signal, clients, store, problems };
}

function blowsOn(ground: Ground): BlowName[] {
  return BLOW_NAMES.filter((name) => {
    const { needs } = BLOWS[name];
    return needs === undefined || ground[needs] !== undefined;
  });
}

async function judged(run: Run, options: TortureOptions): Promise<Omit<TortureResult, 'seconds' | 'blows'>> {
  const { fleet, clients, store, watch } = run;
  options.say('the queue gets the time to finish');
  const quietSince = Date.now();
  const problems = [...run.problems, ...(await comeToRest(run))];
  const blobs = await openFileBlobs({ dir: join(options.dataDir, 'blobs') });
  const workers = await readAttemptLogs(fleet.attemptLogs);
  const overstays = watch.overstays();
  const judgement = await judge({ store, blobs, clients: clients.log, workers, overstays, quietSince });
  return {
    crashes: Object.fromEntries(fleet.crashes),
    refusals: fleet.refusals(),
    claims: workers.claims.length,
    settlements: workers.settlements.length,
    refused: workers.settlements.filter(({ told }) => told === 'lease_lost').length,
    longestOverstayMs: Math.max(0, ...overstays.map(({ lateMs }) => lateMs)),
    problems,
    ...judgement,
  };
}

/** What did not come to an end as it should. */
async function comeToRest({ fleet, clients, store, watch }: Run): Promise<string[]> {
  const problems: string[] = [];
  if (!(await drained(store, DRAIN_MS))) problems.push(`the queue was not finished after ${DRAIN_MS} ms`);
  const late = sleep(STREAMS_MS, 'late', { ref: false });
  if ((await Promise.race([clients.followed(), late])) === 'late') problems.push('event streams stayed open');
  await watch.stop();
  return [...problems, ...(await fleet.stop())];
}
