/**
 * The scene of a fault test on PostgreSQL: a schema and a data directory of its own, for workers in this process and in
 * others, what clients were told, and the verdict of the checker at the end.
 */
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { onTestFinished, vi } from 'vitest';
import { canonicalJson } from '../../src/domain/json.ts';
import type { JsonValue } from '../../src/domain/json.ts';
import type { Job } from '../../src/domain/record.ts';
import type { EngineSettings } from '../../src/engine/settings.ts';
import { demoWorkflow } from '../../src/examples/index.ts';
import { openParts } from '../../src/main/open.ts';
import type { Parts } from '../../src/main/open.ts';
import { createTelemetry } from '../../src/main/telemetry.ts';
import type { Clock } from '../../src/ports/clock.ts';
import { report } from '../../src/testkit/checker/checker.ts';
import type { ClientLog } from '../../src/testkit/checker/history.ts';
import { judge } from '../../src/testkit/crash/judge.ts';
import { serve, start } from '../cli/run.ts';
import type { Server, Started } from '../cli/run.ts';
import { databaseUrl, dropSchema, newSchema } from '../postgres/database.ts';
import { tempDir } from '../support/claimcheck.ts';
import { deed, glutton, stalling } from './workflows.ts';

/** Processes start, end and start again, beside whatever else the machine does. */
vi.setConfig({ testTimeout: 120_000 });

export const LEASE_MS = 1000;
const SETTINGS: Partial<EngineSettings> = {
  leaseMs: LEASE_MS,
  graceMs: 200,
  shutdownMs: 200,
  backoff: { baseMs: 20, capMs: 100 },
};
const WORKFLOWS = fileURLToPath(new URL('workflows.ts', import.meta.url));
/** A busy machine takes its time to start processes again. */
const WAIT_MS = 90_000;
const POLL_MS = 50;
const CALLER = { tenant: 'default', actor: 'local:test' };

export interface Asked {
  limits?: { timeoutMs?: number; maxAttempts?: number; deadlineMs?: number };
  runAt?: number;
}

export interface Scene {
  /** A store without a worker, whose sweeper stands still: to look at, and to enqueue. */
  parts: Parts;
  dataDir: string;
  /** Another process of the same kind, as far as the database can tell: a store, a sweeper and workers of its own. */
  open(options?: { settings?: Partial<EngineSettings>; clock?: Clock }): Promise<Parts>;
  /** A process of `work`. Settings are flags, on top of the scene's. */
  work(options?: SpawnOptions): Started;
  /** A process of `serve`, with its worker where `settings` do not say otherwise. */
  serve(args?: readonly string[], options?: SpawnOptions): Promise<Server>;
  enqueue(workflow: string, input: JsonValue, asked?: Asked, by?: Parts): Promise<string>;
  /** Writes down that a client was told so, and gives back the id. */
  accepted(input: JsonValue, jobId: string): string;
  cancel(jobId: string): Promise<void>;
  job(jobId: string): Promise<Job>;
  /** The job, once it has ended. */
  ended(jobId: string): Promise<Job>;
  /** What an artifact of the job holds; its main one by default. */
  read(jobId: string, name?: string): Promise<Buffer>;
  /** What the checker finds, as lines; nothing where every invariant holds. */
  verdict(): Promise<string>;
}

interface SpawnOptions {
  env?: Record<string, string>;
  settings?: Readonly<Record<string, string | number>>;
}

export async function openScene(): Promise<Scene> {
  const schema = newSchema();
  const database = { url: await databaseUrl(), schema };
  const dataDir = await tempDir();
  onTestFinished(async () => void (await dropSchema(schema)));
  const clients: ClientLog = { creates: [], cancels: [], replays: [] };

  const open: Scene['open'] = async ({ settings = {}, clock } = {}) => {
    const opened = await openParts({
      dataDir,
      database,
      workflows: [stalling, deed, glutton, demoWorkflow],
      model: null,
      telemetry: createTelemetry({ level: 'silent', process: 'test' }),
      settings: { ...SETTINGS, ...settings },
      ...(clock === undefined ? {} : { clock }),
    });
    onTestFinished(() => opened.close());
    return opened;
  };
  const parts = await open();

  async function job(jobId: string): Promise<Job> {
    const found = await parts.store.jobs.job({ tenant: CALLER.tenant, jobId });
    if (found === null) throw new Error(`there is no job ${jobId}`);
    return found;
  }

  function accepted(input: JsonValue, jobId: string): string {
    const inputSha256 = createHash('sha256').update(canonicalJson(input)).digest('hex');
    clients.creates.push({ tenant: CALLER.tenant, told: 'accepted', inputSha256, jobId });
    return jobId;
  }

  const variables = {
    CLAIMCHECK_DATABASE_URL: database.url,
    CLAIMCHECK_SCHEMA: schema,
    CLAIMCHECK_DATA_DIR: dataDir,
  };
  const whereWith = (env: Record<string, string>) => ({ cwd: dataDir, env: { ...variables, ...env } });

  return {
    parts,
    dataDir,
    open,
    job,
    work({ env = {}, settings = {} } = {}) {
      return start(['work', '--demo', ...flagsOf(settings)], whereWith(env));
    },
    serve(args = [], { env = {}, settings = {} } = {}) {
      return serve(['--demo', ...args, ...flagsOf(settings)], whereWith(env));
    },
    accepted,
    async enqueue(workflow, input, asked = {}, by = parts) {
      const ticket = await by.engine.enqueue(CALLER, { workflow, input, ...asked });
      if (!ticket.ok) throw new Error(ticket.detail);
      return accepted(input, ticket.value.jobId);
    },
    async cancel(jobId) {
      const { ok } = await parts.engine.cancel(CALLER, jobId, 'no longer needed');
      clients.cancels.push({ jobId, told: ok ? 'accepted' : 'refused' });
    },
    async ended(jobId) {
      for (const until = performance.now() + WAIT_MS; ; await sleep(POLL_MS)) {
        const seen = await job(jobId);
        if (seen.status === 'completed' || seen.status === 'dead_letter') return seen;
        if (performance.now() > until) throw new Error(`it does not end: ${JSON.stringify(seen.events)}`);
      }
    },
    async read(jobId, name) {
      const opened = await parts.engine.openArtifact(CALLER, jobId, name ?? null);
      if (!opened.ok) throw new Error(opened.detail);
      return Buffer.concat(await opened.value.stream().toArray());
    },
    async verdict() {
      const { store, blobs } = parts;
      const judged = await judge({ store, blobs, clients, quietSince: Date.now(), leaseMs: LEASE_MS });
      return report(judged.violations);
    },
  };
}

const FLAGS = {
  workflows: WORKFLOWS,
  'lease-ms': LEASE_MS,
  'grace-ms': 200,
  'shutdown-ms': 200,
  'backoff-base-ms': 20,
  'backoff-cap-ms': 100,
  'log-level': 'warn',
};

function flagsOf(settings: Readonly<Record<string, string | number>>): string[] {
  return Object.entries({ ...FLAGS, ...settings }).flatMap(([name, value]) => [`--${name}`, `${value}`]);
}
