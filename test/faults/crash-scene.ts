/** The scene of the crash cases: one store, a desk that hands jobs in, and the processes that die. */
import { createHash } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { canonicalJson } from '../../src/domain/json.ts';
import type { CrashPoint } from '../../src/engine/crash-points.ts';
import { demoWorkflow } from '../../src/examples/demo.ts';
import { openClaimcheck } from '../../src/index.ts';
import type { Claimcheck } from '../../src/index.ts';
import type { Store } from '../../src/ports/store.ts';
import type { ClientLog, CreateLine } from '../../src/testkit/checker/history.ts';
import { ask } from '../../src/testkit/crash/asking.ts';
import type { Ground } from '../../src/testkit/crash/ground.ts';
import { start } from '../cli/run.ts';
import type { Started } from '../cli/run.ts';

export const LEASE_MS = 500;

const KEY = 'a-key-that-only-the-crash-points-have-0123';
/** Longer than the test: what is opened with it takes nobody's jobs away. */
const NEVER_MS = 3_600_000;
/** Longer than three beats of a worker, and than a look at who runs it takes. */
const JOB_MS = 700;
const LIMITS = { timeoutMs: 60_000, maxAttempts: 20 };

export interface Scene {
  ground: Ground;
  dataDir: string;
  attemptLogs: string;
  /** Hands in and acts; it runs no job. */
  desk: Claimcheck;
  store: Store;
  clients: ClientLog;
  victims: Started[];
  /** The worker processes of `serve` that were killed. */
  children: Set<number>;
  /** The job of a worker that died before all others. */
  orphan: string | null;
}

/** Where and when a process ends itself. */
export interface Death {
  point: CrashPoint;
  /** At which time; the first by default. */
  times?: number;
}

export async function openScene(ground: Ground, dataDir: string): Promise<Scene> {
  const attemptLogs = join(dataDir, 'attempts');
  mkdirSync(attemptLogs);
  const desk = await openApp(ground, dataDir, NEVER_MS);
  const store = await ground.openStore();
  onTestFinished(() => store.close());
  const clients: ClientLog = { creates: [], cancels: [], replays: [] };
  return {
    ground,
    dataDir,
    attemptLogs,
    desk,
    store,
    clients,
    victims: [],
    children: new Set(),
    orphan: null,
  };
}

export async function openApp(
  { settings }: Ground,
  dataDir: string,
  leaseMs = LEASE_MS,
): Promise<Claimcheck> {
  const { 'database-url': url, schema = '' } = settings;
  const database = url === undefined ? {} : { databaseUrl: withoutName(url), schema };
  const app = await openClaimcheck({
    ...database,
    dataDir,
    workflows: [demoWorkflow],
    settings: { leaseMs },
  });
  onTestFinished(() => app.close());
  return app;
}

/** The connections that bear the processes' name are cut. */
function withoutName(url: string): string {
  return url.replace(/[?&]application_name=[^&]*/, '');
}

export function startVictim(
  scene: Scene,
  command: string[],
  { point, times = 1 }: Death,
  leaseMs = LEASE_MS,
): Started {
  const { dataDir, ground, attemptLogs, victims } = scene;
  const settings = {
    ...ground.settings,
    'data-dir': dataDir,
    concurrency: '1',
    'lease-ms': `${leaseMs}`,
    'shutdown-ms': '0',
    'inline-bytes': '0',
    'log-level': 'error',
    'crash-point': `${point}:${times}`,
    'attempt-log': join(attemptLogs, `${victims.length}`),
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
  const env = { CLAIMCHECK_BOOTSTRAP_KEY: KEY };
  const victim = start([...command, '--demo', ...flags], { cwd: dataDir, env });
  victims.push(victim);
  return victim;
}

export function startApi(scene: Scene, death: Death): Started {
  return startVictim(scene, ['serve', '--no-worker', '--port', '0'], death);
}

/** @throws Error where it ends otherwise than by a signal, with what it said */
export async function deathOf(victim: Started): Promise<NodeJS.Signals> {
  const { signal, code } = await victim.ended;
  if (signal === null) throw new Error(`it ended with ${code}: ${victim.stdout()} ${victim.stderr()}`);
  return signal;
}

/** Asks a process that dies of it. */
export async function asked(scene: Scene, death: Death, path: string, body: unknown) {
  const victim = startApi(scene, death);
  const [, address = ''] = await victim.printed(/listens on (http:\S+)/);
  const { told } = await ask({ key: KEY, address: () => Promise.resolve(address) }, 'POST', path, body);
  expect(told).toBe('nothing');
  return { told, died: await deathOf(victim) };
}

/** No two jobs have the same. */
export function newInput({ clients }: Scene, ms = JOB_MS) {
  return { mode: 'slow', ms: ms + clients.creates.length };
}

export function note(
  { clients }: Scene,
  input: ReturnType<typeof newInput>,
  told: CreateLine['told'],
): CreateLine {
  const inputSha256 = createHash('sha256').update(canonicalJson(input)).digest('hex');
  const line: CreateLine = { tenant: 'default', told, inputSha256 };
  clients.creates.push(line);
  return line;
}

export async function handIn(scene: Scene, ms?: number): Promise<string> {
  const input = newInput(scene, ms);
  const line = note(scene, input, 'accepted');
  const { job_id } = await scene.desk.enqueue('demo', input, { limits: LIMITS });
  line.jobId = job_id;
  return job_id;
}

/** The processes whose workers run something now. */
export async function workersOf({ store }: Scene): Promise<number[]> {
  const running = { tenant: 'default', filter: { status: 'running' }, after: null, limit: 100 } as const;
  const { jobs } = await store.jobs.list(running);
  const records = jobs.map(({ jobId }) => store.jobs.job({ tenant: 'default', jobId }));
  return (await Promise.all(records)).flatMap((job) => (job?.lease ? [pidOf(job.lease.worker)] : []));
}

/** A worker's name ends with its process id. */
export function pidOf(worker = ''): number {
  return Number(worker.split('-').at(-1));
}
