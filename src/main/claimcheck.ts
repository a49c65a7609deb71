/** Claimcheck inside an app's own process: the same store, the same record and the same answers as over HTTP. */
import { userInfo } from 'node:os';
import type { Readable } from 'node:stream';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { ALLOWED_USD, nanoOf } from '../domain/dollars.ts';
import type { NanoUsd } from '../domain/money.ts';
import type { RequestedLimits } from '../domain/policy.ts';
import type { Scope } from '../domain/scopes.ts';
import type { ValidationIssue } from '../domain/record.ts';
import { artifactJson, recordJson, statusJson } from '../domain/view.ts';
import type { ArtifactJson, RecordJson, StatusJson } from '../domain/view.ts';
import type { Caller, RefusalCode, ReplayRequest, Result, Ticket } from '../engine/api.ts';
import type { Reconcile } from '../engine/doubts.ts';
import { DEFAULT_TENANT } from '../engine/engine.ts';
import { DEFAULT_SETTINGS } from '../engine/settings.ts';
import type { EngineSettings } from '../engine/settings.ts';
import type { WorkflowDefinition } from '../engine/workflow.ts';
import type { App, AppOptions } from '../http/app.ts';
import type { Clock } from '../ports/clock.ts';
import type { LanguageModel } from '../ports/models.ts';
import type { Telemetry } from '../ports/telemetry.ts';
import { isolationMaker, refuseInIsolation, tryIsolation } from './isolation.ts';
import type { MakeIsolation } from './isolation.ts';
import { isKeyText } from './key-text.ts';
import { openParts } from './open.ts';
import { openProblem } from './open-store.ts';
import { checkOptions, pathOf } from './options.ts';
import type { Parts } from './open.ts';
import { pricesOf } from './prices.ts';
import type { ModelPrice } from './prices.ts';
import { SETTINGS, allowedOf } from './setting-table.ts';
import { SILENT } from './silent.ts';

export interface ClaimcheckOptions {
  /** Holds the files, and the embedded store; made where it is missing. `.claimcheck` by default. */
  dataDir?: string;
  /** `postgres://...`: a PostgreSQL database that holds the store instead. */
  databaseUrl?: string;
  /** Schema of the store in that database; made where it is missing. `claimcheck` by default. */
  schema?: string;
  workflows: readonly WorkflowDefinition[];
  /**
   * The module that exports those with `isolation: 'process'`, TypeScript or JavaScript: a path or a file URL. Their processes
   * load it, so it should open nothing as it is loaded.
   */
  workflowsModule?: string | URL;
  /** What `model()` is in a workflow's `run`: a language model of the AI SDK, v6. */
  model?: LanguageModel;
  /** What models cost, as a price file has it; those of `settings` otherwise. A call to a model without a price is not made. */
  prices?: readonly ModelPrice[];
  /** What all calls to models may cost together in one day (UTC); a limit that a person sets replaces it. */
  dayLimitUsd?: number;
  /** Is asked what calls cost of which nobody knows it: those whose attempt was killed, or whose stream broke. */
  reconcile?: Reconcile;
  settings?: Partial<EngineSettings>;
  /** An admin key for `fetch`, accepted as given: 32 or more printable ASCII characters. Others are made with `createKey`. */
  bootstrapKey?: string;
  /** Path under which `fetch` is mounted, e.g. `/queue`; status URLs start with it. */
  basePath?: string;
  /** Who the history names for what this process does; the user of the machine by default. */
  actor?: string;
  /** `silent` by default: an app has a log of its own. Lines go to stderr. */
  logLevel?: 'silent' | 'error' | 'warn' | 'info' | 'debug';
  clock?: Clock;
  random?: () => number;
}

export interface JobLimits extends RequestedLimits {
  /** What all calls of the job to models may cost together, in dollars; as the workflow says by default. */
  spendingUsd?: number | undefined;
}

export interface ReplayOptions {
  reason: string;
  /** The decision that this replay takes; whichever is open by default. */
  decisionId?: string;
  limits?: JobLimits;
  /** Its calls to models are answered by the responses that earlier attempts stored, and no provider is called. */
  fromEvidence?: boolean;
}

export interface EnqueueOptions {
  inputRef?: string;
  limits?: JobLimits;
  /** When it may first run. */
  runAt?: Date;
  priority?: number;
  labels?: Record<string, string>;
  /** The same key with an equal request gives the same ticket, and no second job. */
  idempotencyKey?: string;
  /**
   * A client of the package `pg` that is within a transaction on the same database: the job is written there, is seen and
   * started once that commits, and never was where it is rolled back. Only with `databaseUrl`.
   */
  tx?: { query(query: object): Promise<unknown> };
}

export interface TicketJson {
  job_id: string;
  status: 'queued';
  status_url: string;
}

export interface LocalWorker {
  start(): void;
  /** Resolves in bounded time: attempts under way get a grace, the rest are released. */
  stop(): Promise<void>;
  /** Ends at once, as if its process were killed. For tests of recovery. */
  kill(): void;
}

export interface Claimcheck {
  /** @throws ClaimcheckError with the code that HTTP would answer */
  enqueue<InputSchema extends StandardSchemaV1, OutputSchema extends StandardSchemaV1>(
    workflow: WorkflowDefinition<InputSchema, OutputSchema>,
    input: StandardSchemaV1.InferInput<InputSchema>,
    options?: EnqueueOptions,
  ): Promise<TicketJson>;
  enqueue(workflow: string, input?: unknown, options?: EnqueueOptions): Promise<TicketJson>;
  status(jobId: string): Promise<StatusJson>;
  /** Resolves with the terminal status, or with the one it has after `waitMs` or when `signal` fires. Without them, waits for the end. */
  wait(jobId: string, options?: { waitMs?: number; signal?: AbortSignal }): Promise<StatusJson>;
  record(jobId: string): Promise<RecordJson>;
  /** The main artifact, or a named one. */
  artifact(jobId: string, name?: string): Promise<ArtifactJson & { stream(): Readable }>;
  upload(
    body: AsyncIterable<Uint8Array> | Uint8Array,
    mediaType: string,
    fileName?: string,
  ): Promise<{ input_ref: string }>;
  /** Gives the status as it is then: a dead letter, `cancelled`. */
  cancel(jobId: string, request: { reason: string }): Promise<StatusJson>;
  replay(jobId: string, request: ReplayOptions): Promise<TicketJson>;
  /** A worker in this process; call `start`. `close` stops it. */
  worker(options?: { name?: string }): LocalWorker;
  /** A new API key for `fetch`, shown this once. It may do everything where no scopes are named. */
  createKey(name: string, scopes?: readonly Scope[]): Promise<string>;
  /** The HTTP API as a standard fetch handler. */
  fetch(request: Request): Promise<Response>;
  /** Stops the workers and closes the store, in bounded time. */
  close(): Promise<void>;
}

/** A request that was refused; `code` and `errors` are those of the HTTP problem. */
export class ClaimcheckError extends Error {
  override readonly name = 'ClaimcheckError';
  readonly code: RefusalCode;
  readonly errors: ValidationIssue[];

  constructor(code: RefusalCode, detail: string, errors: ValidationIssue[]) {
    super(detail);
    this.code = code;
    this.errors = errors;
  }
}

const OPTIONS: readonly (keyof ClaimcheckOptions)[] = [
  ...([
    'workflows',
    'workflowsModule',
    'dataDir',
    'databaseUrl',
    'schema',
    'model',
    'settings',
    'bootstrapKey',
  ] as const),
  ...(['prices', 'dayLimitUsd', 'reconcile'] as const),
  ...(['basePath', 'actor', 'logLevel', 'clock', 'random'] as const),
];
const DEFAULT_DATA_DIR = '.claimcheck';
const DEFAULT_SCHEMA = 'claimcheck';

/** Opens the store in `databaseUrl`, or else the embedded one in `dataDir`. Several processes may have the same one open. */
export async function openClaimcheck(options: ClaimcheckOptions): Promise<Claimcheck> {
  refuseInIsolation();
  checkOptions(options, OPTIONS);
  const { bootstrapKey, settings, clock, random, databaseUrl, schema = DEFAULT_SCHEMA } = options;
  if (bootstrapKey !== undefined && !isKeyText(bootstrapKey, SETTINGS.bootstrapKey.minLength)) {
    throw new TypeError(`openClaimcheck: \`bootstrapKey\` needs ${allowedOf(SETTINGS.bootstrapKey)}`);
  }
  const telemetry = await telemetryOf(options);
  const dataDir = options.dataDir ?? DEFAULT_DATA_DIR;
  const database = databaseUrl === undefined ? null : { url: databaseUrl, schema };
  const makeIsolation = await isolationOf(options, telemetry);
  const parts = await openParts({
    dataDir,
    database,
    workflows: options.workflows,
    model: options.model ?? null,
    makeIsolation,
    telemetry,
    bootstrapKey: bootstrapKey ?? null,
    reconcile: options.reconcile ?? null,
    settings: { ...settings, ...moneyOf(options) },
    ...(clock === undefined ? {} : { clock }),
    ...(random === undefined ? {} : { random }),
  }).catch((error: unknown) => {
    throw openProblem(error, { dataDir, database });
  });
  parts.sweeper.start();
  const basePath = options.basePath ?? '';
  const limits = { uploadBytes: parts.settings.maxUploadBytes };
  const caller = { tenant: DEFAULT_TENANT, actor: options.actor ?? `local:${userInfo().username}` };
  return {
    ...jobVerbs(parts, caller, basePath),
    ...workerVerbs(parts),
    fetch: fetchOf({ engine: parts.engine, log: telemetry.log, basePath, limits }),
  };
}

/** The logger is loaded where there is something to be logged. */
async function telemetryOf({ logLevel }: ClaimcheckOptions): Promise<Telemetry> {
  const level = logLevel ?? 'silent';
  if (level === 'silent') return SILENT;
  const { createTelemetry } = await import('./telemetry.ts');
  return createTelemetry({ level, process: 'app' });
}

/** HTTP is loaded by the first request: a process that only works, or hands in, does without it. */
function fetchOf(options: AppOptions): Claimcheck['fetch'] {
  let app: Promise<App> | null = null;
  const load = () => import('../http/app.ts').then(({ createApp }) => createApp(options));
  return async (request) => {
    app ??= load().catch((error: unknown) => {
      app = null; // the next request tries again
      throw error;
    });
    return (await app).fetch(request);
  };
}

/** @throws TypeError that names the option that is wrong */
function moneyOf({ prices, dayLimitUsd }: ClaimcheckOptions): Partial<EngineSettings> {
  return {
    ...(prices === undefined ? {} : { prices: pricesOf(prices) }),
    ...(dayLimitUsd === undefined ? {} : { dayLimit: amountOf('dayLimitUsd', dayLimitUsd) }),
  };
}

/** @throws TypeError that names what is no amount of dollars */
function amountOf(name: string, usd: unknown): NanoUsd {
  const nano = nanoOf(usd);
  if (nano === null) throw new TypeError(`\`${name}\` takes ${ALLOWED_USD}`);
  return nano;
}

/** @throws TypeError where the workflows that ask for a process of their own cannot be run in one */
async function isolationOf(
  { workflows, workflowsModule, settings }: ClaimcheckOptions,
  { log }: Telemetry,
): Promise<MakeIsolation | null> {
  const source = workflowsModule === undefined ? null : { module: pathOf(workflowsModule), demo: false };
  const make = await isolationMaker({
    source,
    workflows,
    settings: { ...DEFAULT_SETTINGS, ...settings },
    log,
  });
  if (make !== null) await tryIsolation(make);
  return make;
}

function jobVerbs({ engine }: Parts, caller: Caller, basePath: string) {
  const ticketJson = ({ jobId }: Ticket): TicketJson => ({
    job_id: jobId,
    status: 'queued',
    status_url: `${basePath}/ai-jobs/${jobId}`,
  });
  return {
    async enqueue(workflow: string | WorkflowDefinition, input?: unknown, options: EnqueueOptions = {}) {
      const isName = typeof workflow === 'string';
      const { limits, spendingLimit } = limitsOf(options.limits);
      // Named one by one: copying what is not there costs more than all of the rest.
      const request = {
        workflow: isName ? workflow : workflow.name,
        version: isName ? undefined : workflow.version,
        input,
        inputRef: options.inputRef,
        limits,
        spendingLimit,
        runAt: options.runAt?.getTime(),
        priority: options.priority,
        labels: options.labels,
      };
      return ticketJson(unwrap(await engine.enqueue(caller, request, options)));
    },
    status: async (jobId: string) => statusJson(unwrap(await engine.status(caller, jobId))),
    async wait(
      jobId: string,
      { waitMs = Number.POSITIVE_INFINITY, signal = NEVER }: { waitMs?: number; signal?: AbortSignal } = {},
    ) {
      const end = performance.now() + waitMs;
      for (;;) {
        const leftMs = Math.max(0, end - performance.now());
        const view = unwrap(await engine.waitForChange(caller, jobId, { waitMs: leftMs, signal }));
        const ended = view.status === 'completed' || view.status === 'dead_letter';
        if (ended || signal.aborted || performance.now() >= end) return statusJson(view);
      }
    },
    record: async (jobId: string) => recordJson(unwrap(await engine.job(caller, jobId))),
    async artifact(jobId: string, name?: string) {
      const opened = unwrap(await engine.openArtifact(caller, jobId, name ?? null));
      return { ...(artifactJson(opened.ref) as ArtifactJson), stream: () => opened.stream() };
    },
    async upload(body: AsyncIterable<Uint8Array> | Uint8Array, mediaType: string, fileName?: string) {
      const chunks = body instanceof Uint8Array ? oneChunk(body) : body;
      const file = { body: chunks, mediaType, fileName: fileName ?? null };
      return { input_ref: unwrap(await engine.upload(caller, file)).inputRef };
    },
    async cancel(jobId: string, { reason }: { reason: string }) {
      unwrap(await engine.cancel(caller, jobId, reason));
      return statusJson(unwrap(await engine.status(caller, jobId)));
    },
    replay: async (jobId: string, { limits, ...request }: ReplayOptions) =>
      ticketJson(unwrap(await engine.replay(caller, jobId, { ...request, ...limitsOf(limits) }))),
    createKey: async (name: string, scopes?: readonly Scope[]) =>
      (await engine.createKey(caller, name, scopes)).key,
  };
}

/** The engine keeps money apart from the limits of time and attempts. */
function limitsOf(limits: JobLimits | undefined): Pick<ReplayRequest, 'limits' | 'spendingLimit'> {
  if (limits === undefined) return {};
  const { spendingUsd, ...others } = limits;
  const spendingLimit = spendingUsd === undefined ? undefined : amountOf('limits.spendingUsd', spendingUsd);
  return { limits: others, spendingLimit };
}

const NEVER = new AbortController().signal;

function workerVerbs(parts: Parts): Pick<Claimcheck, 'worker' | 'close'> {
  const workers = new Set<LocalWorker>();
  return {
    worker(options = {}) {
      const worker = parts.createWorker(options);
      workers.add(worker);
      return worker;
    },
    async close() {
      await Promise.all([...workers].map((worker) => worker.stop()));
      await parts.close();
    },
  };
}

async function* oneChunk(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes;
}

function unwrap<T>(result: Result<T>): T {
  if (result.ok) return result.value;
  throw new ClaimcheckError(result.code, result.detail, result.errors);
}
