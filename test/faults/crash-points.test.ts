/**
 * At every crash point of the engine a real process ends itself with SIGKILL, while it does what leads there. Others go on,
 * and the record says what has to be true after a death at this very moment.
 *
 * Workers that are to die take one job each, whichever it is: what became of it is found by the worker's name in its history.
 */
import { createHash } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { openFileBlobs } from '../../src/blobs/file-blobs.ts';
import { canonicalJson } from '../../src/domain/json.ts';
import type { Job } from '../../src/domain/record.ts';
import { CRASH_POINTS } from '../../src/engine/crash-points.ts';
import type { CrashPoint } from '../../src/engine/crash-points.ts';
import { demoWorkflow } from '../../src/examples/demo.ts';
import { openClaimcheck } from '../../src/index.ts';
import type { Claimcheck } from '../../src/index.ts';
import type { Store } from '../../src/ports/store.ts';
import { report } from '../../src/testkit/checker/checker.ts';
import { readJobs } from '../../src/testkit/checker/history.ts';
import type { ClientLog, CreateLine } from '../../src/testkit/checker/history.ts';
import { ask } from '../../src/testkit/crash/asking.ts';
import { readAttemptLogs } from '../../src/testkit/crash/attempt-logs.ts';
import { postgresGround, sqliteGround } from '../../src/testkit/crash/ground.ts';
import type { Ground } from '../../src/testkit/crash/ground.ts';
import { drained, judge } from '../../src/testkit/crash/judge.ts';
import { start, tempDir } from '../cli/run.ts';
import type { Started } from '../cli/run.ts';
import { databaseUrl, dropSchema, newSchema } from '../postgres/database.ts';

type Deed = 'create' | 'cancel' | 'replay' | 'attempt' | 'stop' | 'serve' | 'sweep';

interface Case {
  point: CrashPoint;
  /** What leads there. */
  by: Deed;
  /** At which time it dies; the first by default. */
  times?: number;
  /**
   * What it left behind. Of a request: the history of its job when all is over. Of an attempt: the event that ended it. Of a sweep:
   * the state of the job of a dead worker, at once.
   */
  left: string;
}

const LOST = 'requeued_after_restart';
const RUN = 'queued running completed';
const CANCELLED = 'queued cancel_requested dead_letter';

const CASES: readonly Case[] = [
  { point: 'sweep.before', by: 'sweep', times: 2, left: 'running' },
  { point: 'sweep.committed', by: 'sweep', left: 'queued' },
  { point: 'claim.before', by: 'attempt', left: 'nothing' },
  { point: 'claim.committed', by: 'attempt', left: LOST },
  { point: 'attempt.starting', by: 'attempt', left: LOST },
  { point: 'attempt.returned', by: 'attempt', left: LOST },
  { point: 'attempt.kept', by: 'attempt', left: LOST },
  { point: 'settle.before', by: 'attempt', left: LOST },
  { point: 'settle.committed', by: 'attempt', left: 'completed' },
  { point: 'renew.before', by: 'attempt', times: 3, left: LOST },
  { point: 'renew.committed', by: 'attempt', times: 3, left: LOST },
  { point: 'release.before', by: 'stop', left: LOST },
  { point: 'release.committed', by: 'stop', left: 'queued' },
  { point: 'reap.before', by: 'serve', left: LOST },
  { point: 'reap.committed', by: 'serve', left: LOST },
  { point: 'intake.before', by: 'create', left: 'nothing' },
  { point: 'intake.committed', by: 'create', left: RUN },
  { point: 'act.before', by: 'cancel', left: RUN },
  { point: 'act.committed', by: 'cancel', left: CANCELLED },
  { point: 'act.before', by: 'replay', left: CANCELLED },
  { point: 'act.committed', by: 'replay', left: `${CANCELLED} ${RUN}` },
];

/** Who sweeps must be alone, and what clients hand in is for those who go on. Within a phase, processes die side by side. */
const PHASES: readonly { deeds: readonly Deed[]; atOnce: number }[] = [
  { deeds: ['sweep'], atOnce: 1 },
  { deeds: ['serve', 'attempt', 'stop'], atOnce: 6 },
  { deeds: ['create', 'cancel', 'replay'], atOnce: 6 },
];

const KEY = 'a-key-that-only-the-crash-points-have-0123';
const LEASE_MS = 500;
/** Longer than the test: what is opened with it takes nobody's jobs away. */
const NEVER_MS = 3_600_000;
/** Longer than three beats of a worker, and than a look at who runs it takes. */
const JOB_MS = 700;
const LIMITS = { timeoutMs: 30_000, maxAttempts: 20 };
const DRAIN_MS = 20_000;

/** Where the cases of one test take place. */
interface Scene {
  ground: Ground;
  dataDir: string;
  attemptLogs: string;
  /** Hands in and acts; it runs no job. */
  desk: Claimcheck;
  store: Store;
  clients: ClientLog;
  /** The processes that were started, by case and in order. */
  victims: Map<string, Started>;
  /** The worker processes of `serve` that were killed. */
  children: Set<number>;
}

async function openScene(ground: Ground, dataDir: string): Promise<Scene> {
  const attemptLogs = join(dataDir, 'attempts');
  mkdirSync(attemptLogs);
  const desk = await openApp(ground, dataDir, NEVER_MS);
  const store = await ground.openStore();
  onTestFinished(() => store.close());
  const clients: ClientLog = { creates: [], cancels: [], replays: [] };
  return { ground, dataDir, attemptLogs, desk, store, clients, victims: new Map(), children: new Set() };
}

async function openApp({ settings }: Ground, dataDir: string, leaseMs: number): Promise<Claimcheck> {
  const { 'database-url': url, schema = '' } = settings;
  const database = url === undefined ? {} : { databaseUrl: url, schema };
  const app = await openClaimcheck({
    ...database,
    dataDir,
    workflows: [demoWorkflow],
    settings: { leaseMs },
  });
  onTestFinished(() => app.close());
  return app;
}

function nameOf({ point, by }: Case): string {
  return `${point} by ${by}`;
}

function startVictim(scene: Scene, command: string[], one: Case): Started {
  const { dataDir, ground, attemptLogs, victims } = scene;
  const settings = {
    ...ground.settings,
    'data-dir': dataDir,
    concurrency: '1',
    'lease-ms': `${LEASE_MS}`,
    'shutdown-ms': '0',
    'inline-bytes': '0',
    'log-level': 'error',
    'crash-point': `${one.point}:${one.times ?? 1}`,
    'attempt-log': join(attemptLogs, nameOf(one)),
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
  const env = { CLAIMCHECK_BOOTSTRAP_KEY: KEY };
  const victim = start([...command, '--demo', ...flags], { cwd: dataDir, env });
  victims.set(nameOf(one), victim);
  return victim;
}

/** @throws Error where it ends otherwise than by a signal, with what it said */
async function deathOf(victim: Started): Promise<NodeJS.Signals> {
  const { signal, code } = await victim.ended;
  if (signal === null) throw new Error(`it ended with ${code}: ${victim.stdout()} ${victim.stderr()}`);
  return signal;
}

interface Fate {
  died: NodeJS.Signals;
  left: string;
}

/** Each resolves when its process is dead, with how to find what it left once all is over. */
const PROVOKE: Record<Deed, (scene: Scene, one: Case) => Promise<[NodeJS.Signals, (jobs: Job[]) => string]>> =
  {
    async sweep(scene, one) {
      const [job] = (await readJobs(scene.store, 'default')).jobs;
      const died = await deathOf(startApi(scene, one));
      const { status } = await scene.desk.status(job?.jobId ?? '');
      return [died, () => status];
    },

    async attempt(scene, one) {
      await handIn(scene);
      const victim = startVictim(scene, ['work'], one);
      return [await deathOf(victim), (jobs) => endOf(jobs, [victim.process.pid])];
    },

    async stop(scene, one) {
      await handIn(scene);
      const victim = startVictim(scene, ['work'], one);
      const { pid = 0 } = victim.process;
      while (!(await workersOf(scene)).includes(pid)) await sleep(20);
      victim.process.kill('SIGTERM');
      return [await deathOf(victim), (jobs) => endOf(jobs, [pid])];
    },

    /** The worker that runs something and is none of ours belongs to a `serve`. */
    async serve(scene, one) {
      await handIn(scene);
      const victim = startVictim(scene, ['serve', '--port', '0'], one);
      const death = deathOf(victim);
      const dead = death.then(() => true);
      while (!(await Promise.race([dead, sleep(20, false)]))) {
        const own = [...scene.victims.values()].map((other) => other.process.pid);
        const strange = (await workersOf(scene)).filter(
          (pid) => !own.includes(pid) && !scene.children.has(pid),
        );
        for (const pid of strange) {
          scene.children.add(pid);
          process.kill(pid, 'SIGKILL');
        }
      }
      return [await death, (jobs) => endOf(jobs, [...scene.children])];
    },

    async create(scene, one) {
      const input = newInput(scene);
      const line = note(scene, input, 'nothing');
      const { told, died } = await asked(scene, one, '/ai-jobs', { workflow: 'demo', input });
      line.told = told;
      return [
        died,
        (jobs) => historyOf(jobs.find((job) => canonicalJson(job.input) === canonicalJson(input))),
      ];
    },

    async cancel(scene, one) {
      const jobId = await handIn(scene);
      const { told, died } = await asked(scene, one, `/ai-jobs/${jobId}/cancel`, { reason: 'not needed' });
      scene.clients.cancels.push({ jobId, told });
      return [died, (jobs) => historyOf(jobs.find((job) => job.jobId === jobId))];
    },

    async replay(scene, one) {
      const jobId = await handIn(scene);
      await scene.desk.cancel(jobId, { reason: 'not yet' });
      scene.clients.cancels.push({ jobId, told: 'accepted' });
      const { told, died } = await asked(scene, one, `/ai-jobs/${jobId}/replay`, { reason: 'now' });
      scene.clients.replays.push({ jobId, told });
      return [died, (jobs) => historyOf(jobs.find((job) => job.jobId === jobId))];
    },
  };

function historyOf(job: Job | undefined): string {
  return job === undefined ? 'nothing' : job.events.map(({ type }) => type).join(' ');
}

/** How the attempts of these processes ended. */
function endOf(jobs: Job[], pids: readonly (number | undefined)[]): string {
  const ends = jobs.flatMap(({ events }) =>
    events.flatMap(({ type, worker }, index) =>
      type === 'running' && pids.includes(pidOf(worker)) ? (events[index + 1]?.type ?? 'nothing') : [],
    ),
  );
  return [...new Set(ends)].join(' ') || 'nothing';
}

/** A worker's name ends with its process id. */
function pidOf(worker = ''): number {
  return Number(worker.split('-').at(-1));
}

async function workersOf({ store }: Scene): Promise<number[]> {
  const page = await store.jobs.list({
    tenant: 'default',
    filter: { status: 'running' },
    after: null,
    limit: 100,
  });
  const jobs = page.jobs.map(({ jobId }) => store.jobs.job({ tenant: 'default', jobId }));
  return (await Promise.all(jobs)).flatMap((job) => (job?.lease ? [pidOf(job.lease.worker)] : []));
}

/** No two jobs have the same. */
function newInput({ clients }: Scene) {
  return { mode: 'slow', ms: JOB_MS + clients.creates.length };
}

function note({ clients }: Scene, input: ReturnType<typeof newInput>, told: CreateLine['told']): CreateLine {
  const inputSha256 = createHash('sha256').update(canonicalJson(input)).digest('hex');
  const line: CreateLine = { tenant: 'default', told, inputSha256 };
  clients.creates.push(line);
  return line;
}

async function handIn(scene: Scene): Promise<string> {
  const input = newInput(scene);
  const line = note(scene, input, 'accepted');
  const { job_id } = await scene.desk.enqueue('demo', input, { limits: LIMITS });
  line.jobId = job_id;
  return job_id;
}

function startApi(scene: Scene, one: Case): Started {
  return startVictim(scene, ['serve', '--no-worker', '--port', '0'], one);
}

/** Asks a process that dies of it. */
async function asked(scene: Scene, one: Case, path: string, body: unknown) {
  const victim = startApi(scene, one);
  const [, address = ''] = await victim.printed(/listens on (http:\S+)/);
  const { told } = await ask({ key: KEY, address: () => Promise.resolve(address) }, 'POST', path, body);
  expect(told).toBe('nothing');
  return { told, died: await deathOf(victim) };
}

/** Everybody dies; then others go on, and everything is read. */
async function fatesOf(ground: Ground, dataDir: string, cases: readonly Case[]) {
  const scene = await openScene(ground, dataDir);
  await handIn(scene);
  await deathOf(startVictim(scene, ['work'], { point: 'attempt.starting', by: 'attempt', left: LOST }));
  const found = new Map<Case, Awaited<ReturnType<(typeof PROVOKE)[Deed]>>>();
  for (const { deeds, atOnce } of PHASES) {
    const waiting = cases.filter(({ by }) => deeds.includes(by));
    const die = async () => {
      for (let one = waiting.shift(); one !== undefined; one = waiting.shift())
        found.set(one, await PROVOKE[one.by](scene, one));
    };
    await Promise.all(Array.from({ length: atOnce }, die));
  }
  const jobs = await goOn(scene);
  const fates = cases.map((one): [string, Fate] => {
    const [died, left] = found.get(one)!;
    return [nameOf(one), { died, left: left(jobs) }];
  });
  return Object.fromEntries(fates);
}

/** Another process does what is left, and the checker reads it all. */
async function goOn({ ground, dataDir, store, clients, attemptLogs }: Scene): Promise<Job[]> {
  const quietSince = Date.now();
  const survivor = await openApp(ground, dataDir, LEASE_MS);
  survivor.worker().start();
  expect(await drained(store, DRAIN_MS)).toBe(true);
  const blobs = await openFileBlobs({ dir: join(dataDir, 'blobs') });
  const workers = await readAttemptLogs(attemptLogs);
  expect(workers.claims.length).toBeGreaterThan(0);
  const { violations } = await judge({ store, blobs, clients, workers, quietSince, leaseMs: LEASE_MS });
  expect(report(violations)).toBe('');
  return [...(await readJobs(store, 'default')).jobs];
}

function expected(cases: readonly Case[]): Record<string, Fate> {
  return Object.fromEntries(cases.map((one) => [nameOf(one), { died: 'SIGKILL', left: one.left }]));
}

it('every crash point has a case', () => {
  const points = new Set<string>(CASES.map(({ point }) => point));
  expect([...points].toSorted()).toEqual(Object.keys(CRASH_POINTS).toSorted());
});

it('a process dies at each crash point, others go on, and nothing is lost or done twice: PostgreSQL', async () => {
  const schema = newSchema();
  onTestFinished(async () => void (await dropSchema(schema)));
  const ground = postgresGround(await databaseUrl(), schema);
  expect(await fatesOf(ground, tempDir(), CASES)).toEqual(expected(CASES));
}, 60_000);

it('and on SQLite, at those around its writes', async () => {
  const dataDir = tempDir();
  const points: CrashPoint[] = ['intake.committed', 'claim.committed', 'attempt.kept', 'settle.committed'];
  const cases = CASES.filter(({ point }) => points.includes(point));
  expect(await fatesOf(sqliteGround(dataDir), dataDir, cases)).toEqual(expected(cases));
}, 60_000);
