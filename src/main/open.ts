/** Puts store, blobs and engine together: for our own processes (`openParts`) and for an app (`openClaimcheck`). */
import { getRandomValues } from 'node:crypto';
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { monotonicFactory } from 'ulid';
import { openFileBlobs } from '../blobs/file-blobs.ts';
import { createAnnounce } from '../engine/announce.ts';
import type { Announce } from '../engine/announce.ts';
import type { EngineApi } from '../engine/api.ts';
import { withAttemptLog } from '../engine/attempt-log.ts';
import type { WriteAttempts } from '../engine/attempt-log.ts';
import { withCrashPoints } from '../engine/crash-points.ts';
import type { Reached } from '../engine/crash-points.ts';
import { workflowTable } from '../engine/define.ts';
import type { WorkflowTable } from '../engine/define.ts';
import { createDoubts } from '../engine/doubts.ts';
import type { Reconcile } from '../engine/doubts.ts';
import { createEngine } from '../engine/engine.ts';
import { createRetention } from '../engine/retention.ts';
import { DEFAULT_SETTINGS } from '../engine/settings.ts';
import type { EngineSettings } from '../engine/settings.ts';
import { createSweeper } from '../engine/sweeper.ts';
import type { Sweeper } from '../engine/sweeper.ts';
import { systemClock } from '../engine/system-clock.ts';
import { createWakeups } from '../engine/wakeups.ts';
import { createWorker } from '../engine/worker.ts';
import type { Worker, WorkerDeps } from '../engine/worker.ts';
import type { WorkflowDefinition } from '../engine/workflow.ts';
import type { BlobStore } from '../ports/blob-store.ts';
import type { Clock } from '../ports/clock.ts';
import { modelsOver } from '../models/session.ts';
import type { LanguageModel } from '../ports/models.ts';
import type { Store } from '../ports/store.ts';
import type { Log, Telemetry } from '../ports/telemetry.ts';
import type { Wakeups } from '../ports/wakeups.ts';
import { hostId, workerName } from './host.ts';
import type { MakeIsolation } from './isolation.ts';

/** Where a store in PostgreSQL is. */
export interface Database {
  url: string;
  schema: string;
}

export interface PartsOptions {
  /** Holds the files, and the embedded store; made where it is missing. */
  dataDir: string;
  /** Holds the store instead of `dataDir`, where it is set. */
  database?: Database | null;
  workflows: readonly WorkflowDefinition[];
  /** What `model()` is in a workflow's `run`; null where there is none. */
  model: LanguageModel | null;
  /** Says what calls cost of which nobody knows it; null where nobody can. */
  reconcile?: Reconcile | null;
  /** Makes a worker's isolated processes; null where no workflow asks for them. */
  makeIsolation?: MakeIsolation | null;
  telemetry: Telemetry;
  settings?: Partial<EngineSettings>;
  /** An admin key accepted as given. */
  bootstrapKey?: string | null;
  clock?: Clock;
  random?: () => number;
  faults?: FaultHooks;
}

/** What tests of faults hang into a process. */
export interface FaultHooks {
  /** Hears of every crash point, and may end the process there. */
  reached?: Reached | undefined;
  /** Writes down what workers of this process were told. */
  writeAttempts?: WriteAttempts | undefined;
}

/** `onSession` hears the id of each session before it is opened, so that whoever outlives the worker can reap it. */
type WorkerOptions = Partial<Pick<WorkerDeps, 'name' | 'onStuck' | 'onSession'>>;

export interface Parts {
  engine: EngineApi;
  store: Store;
  blobs: BlobStore;
  wakeups: Wakeups;
  announce: Announce;
  workflows: WorkflowTable;
  settings: EngineSettings;
  sweeper: Sweeper;
  createWorker(options?: WorkerOptions): Worker;
  /** Stops the sweeper and closes the store, in bounded time. Workers are stopped by whoever made them. */
  close(): Promise<void>;
}

/** Level by level: Node's own recursive mkdir never returns where a file system takes no directories (such as /proc). */
function makeDirectory(dir: string): void {
  if (existsSync(dir) && statSync(dir).isDirectory()) return;
  if (!existsSync(dirname(dir))) makeDirectory(dirname(dir));
  mkdirSync(dir, { mode: 0o700 });
}

export async function openParts(options: PartsOptions): Promise<Parts> {
  const settings: EngineSettings = { ...DEFAULT_SETTINGS, ...options.settings };
  const clock = options.clock ?? systemClock;
  const random = options.random ?? Math.random;
  const { telemetry, model } = options;
  const workflows = workflowTable(options.workflows);
  makeDirectory(resolve(options.dataDir));
  const wakeups = createWakeups();
  const { faults = {} } = options;
  const store = hooked(await openStore(options, { clock, settings, wakeups }), faults);
  const blobs = await openFileBlobs({ dir: join(options.dataDir, 'blobs') }).catch(async (error: unknown) => {
    await store.close();
    throw error;
  });
  const announce = createAnnounce(telemetry, wakeups);
  const bootstrapKey = options.bootstrapKey ?? null;
  const newId = monotonicFactory(bufferedRandom());
  const engine = createEngine({
    store,
    blobs,
    clock,
    wakeups,
    announce,
    workflows,
    settings,
    bootstrapKey,
    newId,
  });
  const { log } = telemetry;
  const sweeps = createSweeper({ store: store.jobs, clock, random, announce, log, settings });
  const sweeper = together(sweeps, besides(options, { store, blobs, clock, log, settings }));
  return {
    engine,
    store,
    blobs,
    wakeups,
    announce,
    workflows,
    settings,
    sweeper,
    createWorker: ({ name = workerName(), ...hooks } = {}) =>
      createWorker({
        store: store.jobs,
        uploads: store.uploads,
        blobs,
        ledger: store.ledger,
        openModels: modelsOver(model),
        isolation: options.makeIsolation?.() ?? null,
        workflows,
        clock,
        random,
        wakeups,
        telemetry,
        announce,
        settings,
        name,
        host: hostId(),
        reached: faults.reached,
        newSessionId: () => `ses_${newId()}`,
        ...hooks,
      }),
    async close() {
      await sweeper.stop();
      await store.close();
    },
  };
}

interface Besides {
  start(): void;
  stop(): void;
}

/** What else is done in time's course, where it is asked for. */
function besides(
  { reconcile = null }: Pick<PartsOptions, 'reconcile'>,
  deps: Pick<Parts, 'store' | 'blobs' | 'settings'> & { clock: Clock; log: Log },
): Besides[] {
  const { store, blobs, clock, log } = deps;
  const { evidenceRetentionMs: retentionMs } = deps.settings;
  const { ledger, evidence, jobs } = store;
  return [
    ...(reconcile === null ? [] : [createDoubts({ ledger, reconcile, clock, log })]),
    ...(retentionMs === null ? [] : [createRetention({ evidence, jobs, blobs, clock, log, retentionMs })]),
  ];
}

/** It goes on wherever it is swept. */
function together(sweeper: Sweeper, others: readonly Besides[]): Sweeper {
  return {
    start() {
      sweeper.start();
      for (const other of others) other.start();
    },
    async stop() {
      for (const other of others) other.stop();
      await sweeper.stop();
    },
  };
}

/** Uniform in [0, 1), from cryptographic bytes that are fetched many at a time: each fetch is dear. */
function bufferedRandom(): () => number {
  const bytes = new Uint8Array(1024);
  let next = bytes.length;
  return () => {
    if (next === bytes.length) {
      getRandomValues(bytes);
      next = 0;
    }
    return (bytes[next++] ?? 0) / 256;
  };
}

/** The log is the inner one: what it says was told before a crash, too. */
function hooked(store: Store, { reached, writeAttempts }: FaultHooks): Store {
  const logged = writeAttempts === undefined ? store.jobs : withAttemptLog(store.jobs, writeAttempts);
  return { ...store, jobs: reached === undefined ? logged : withCrashPoints(logged, reached) };
}

async function openStore(
  { dataDir, database = null }: PartsOptions,
  { clock, settings, wakeups }: { clock: Clock; settings: EngineSettings; wakeups: Wakeups },
): Promise<Store> {
  const rules = { backoff: settings.backoff, caps: settings.caps };
  // Each is loaded where it is used: nobody needs both drivers.
  if (database === null) {
    const { openSqliteStore } = await import('../stores/sqlite/store.ts');
    return openSqliteStore({ path: join(dataDir, 'claimcheck.db'), rules, now: () => clock.now() });
  }
  const { openPostgresStore } = await import('../stores/postgres/store.ts');
  return openPostgresStore({ ...database, rules, onHint: (hint) => wakeups.emit(hint) });
}
