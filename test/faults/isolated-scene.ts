/**
 * The scene of the isolation tests: a queue of the built package, since its processes load the built one too, what its
 * clients were told, and the verdict of the checker at the end.
 */
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { openFileBlobs } from '../../src/blobs/file-blobs.ts';
import { canonicalJson } from '../../src/domain/json.ts';
import type { JsonValue } from '../../src/domain/json.ts';
import { DEFAULT_BACKOFF, DEFAULT_CAPS } from '../../src/domain/policy.ts';
import type { Claimcheck, ClaimcheckOptions, EnqueueOptions, RecordJson } from '../../src/index.ts';
import { openPostgresStore } from '../../src/stores/postgres/store.ts';
import { openSqliteStore } from '../../src/stores/sqlite/store.ts';
import { report } from '../../src/testkit/checker/checker.ts';
import { blobReader } from '../../src/testkit/checker/history.ts';
import type { ClientLog } from '../../src/testkit/checker/history.ts';
import { judge } from '../../src/testkit/crash/judge.ts';
import { databaseUrl, dropSchema, newSchema } from '../postgres/database.ts';
import { apart, beside } from './isolated-workflows.ts';

const MODULE = fileURLToPath(new URL('isolated-workflows.ts', import.meta.url));

export const { openClaimcheck } = (await import(new URL('../../dist/index.js', import.meta.url).href)) as {
  openClaimcheck: (options: ClaimcheckOptions) => Promise<Claimcheck>;
};

const LEASE_MS = 1000;
export const GRACE_MS = 200;
const SETTINGS = { leaseMs: LEASE_MS, graceMs: GRACE_MS, shutdownMs: 200, backoff: { baseMs: 1, capMs: 5 } };
const POLL_MS = 20;

export interface Scene {
  queue: Claimcheck;
  dataDir: string;
  database: { url: string; schema: string } | null;
  /** Hands in a job of the isolated workflow, or of the other. */
  ask(mode: string, options?: EnqueueOptions, workflow?: string): Promise<string>;
  ended(jobId: string): Promise<RecordJson>;
  output(jobId: string): Promise<unknown>;
  /** What was kept to explain the last error, as text. */
  evidence(jobId: string): Promise<string>;
  /** In which process the job runs; once it has said so. */
  pid(jobId: string): Promise<number>;
  cancel(jobId: string): Promise<void>;
  /** Takes the jobs of a session away, as a sweep does once its lease has run out. */
  reap(session: string): Promise<void>;
  /** What the checker finds, as lines; nothing where every invariant holds. Closes the queue. */
  verdict(): Promise<string>;
}

export async function openScene(
  options: Partial<ClaimcheckOptions> & { postgres?: boolean } = {},
): Promise<Scene> {
  const { postgres = false, ...more } = options;
  const dataDir = await mkdtemp(join(tmpdir(), 'claimcheck-isolation-'));
  const database = postgres ? { url: await databaseUrl(), schema: newSchema() } : null;
  const queue = await openClaimcheck({
    dataDir,
    ...(database === null ? {} : { databaseUrl: database.url, schema: database.schema }),
    workflows: [apart, beside],
    workflowsModule: MODULE,
    ...more,
    settings: { ...SETTINGS, ...more.settings },
  });
  const clients: ClientLog = { creates: [], cancels: [], replays: [] };
  const rules = { backoff: DEFAULT_BACKOFF, caps: DEFAULT_CAPS };
  const store = await (database === null
    ? openSqliteStore({ path: join(dataDir, 'claimcheck.db'), rules })
    : openPostgresStore({ ...database, rules }));
  const blobs = await openFileBlobs({ dir: join(dataDir, 'blobs') });
  const read = blobReader(store, blobs);

  return {
    queue,
    dataDir,
    database,
    async ask(mode, asked = {}, workflow = 'apart') {
      const input: JsonValue = { mode, number: clients.creates.length };
      const { job_id: jobId } = await queue.enqueue(workflow, input, asked);
      const inputSha256 = createHash('sha256').update(canonicalJson(input)).digest('hex');
      clients.creates.push({ tenant: 'default', told: 'accepted', inputSha256, jobId });
      return jobId;
    },
    async ended(jobId) {
      await queue.wait(jobId, { waitMs: 100_000 });
      return queue.record(jobId);
    },
    output: async (jobId) => json((await queue.artifact(jobId)).stream()),
    async evidence(jobId) {
      const { errors } = await queue.record(jobId);
      const kept = await Promise.all((errors.at(-1)?.evidence ?? []).map(({ uri }) => read(uri)));
      return kept.map((bytes) => Buffer.from(bytes ?? '').toString()).join('\n');
    },
    async pid(jobId) {
      for (;;) {
        const found = /^pid (\d+)$/.exec((await queue.record(jobId)).progress?.note ?? '');
        if (found !== null) return Number(found[1]);
        await sleep(POLL_MS);
      }
    },
    async cancel(jobId) {
      await queue.cancel(jobId, { reason: 'no longer needed' });
      clients.cancels.push({ jobId, told: 'accepted' });
    },
    reap: async (session) => void (await store.jobs.reapSession({ session })),
    async verdict() {
      await queue.close();
      const judged = await judge({
        store,
        blobs,
        clients,
        quietSince: Date.now(),
        leaseMs: LEASE_MS,
        graceMs: GRACE_MS,
      });
      await store.close();
      if (database !== null) await dropSchema(database.schema);
      await rm(dataDir, { recursive: true, force: true });
      return report(judged.violations);
    },
  };
}

/** The scene's settings as flags of a command. */
export function flagsOf({ dataDir, database }: Scene): string[] {
  const all = {
    'data-dir': dataDir,
    ...(database === null ? {} : { 'database-url': database.url, schema: database.schema }),
    workflows: MODULE,
    'lease-ms': LEASE_MS,
    'grace-ms': GRACE_MS,
    'log-level': 'error',
  };
  return Object.entries(all).flatMap(([name, value]) => [`--${name}`, String(value)]);
}

/** The processes that a process has started, and has now. */
export async function childrenOf(pid: number): Promise<number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return text.split(' ').filter(Boolean).map(Number);
}

/** Resolves when the process is no more. */
export async function gone(pid: number): Promise<void> {
  while (isAlive(pid)) await sleep(POLL_MS);
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
