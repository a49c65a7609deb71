/**
 * An API and workers of this process on a store that meets with a fault. What its clients asked and were told is written down,
 * as are the lines of its log and the moves that it told of, and in the end the checker reads the store against them.
 */
import { createHash } from 'node:crypto';
import { expect, onTestFinished } from 'vitest';
import { canonicalJson } from '../../src/domain/json.ts';
import type { JsonValue } from '../../src/domain/json.ts';
import type { EngineSettings } from '../../src/engine/settings.ts';
import type { Worker } from '../../src/engine/worker.ts';
import { createApp } from '../../src/http/app.ts';
import { listen } from '../../src/http/listen.ts';
import type { WorkflowDefinition } from '../../src/index.ts';
import { openParts } from '../../src/main/open.ts';
import type { Parts } from '../../src/main/open.ts';
import type { Moved } from '../../src/ports/job-store.ts';
import type { Log, Telemetry } from '../../src/ports/telemetry.ts';
import { report } from '../../src/testkit/checker/checker.ts';
import type { ClientLog, CreateLine, Told } from '../../src/testkit/checker/history.ts';
import type { Api } from '../../src/testkit/crash/asking.ts';
import { drained, judge } from '../../src/testkit/crash/judge.ts';
import type { Judgement } from '../../src/testkit/crash/judge.ts';
import { tempDir } from '../support/claimcheck.ts';

const KEY = 'a-key-that-only-the-fault-tests-have-0123';

const LEASE_MS = 1000;
const SETTINGS = {
  graceMs: 500,
  shutdownMs: 50,
  backoff: { baseMs: 10, capMs: 50 },
} as const satisfies Partial<EngineSettings>;

export interface Reply {
  status: number;
  headers: Headers;
  json: Record<string, unknown>;
}

interface PartyOptions {
  /** Without one, the store is embedded in `dataDir`. */
  url?: string;
  schema?: string;
  workflows: WorkflowDefinition[];
  /** Shared by processes that read each other's files. */
  dataDir?: string;
  leaseMs?: number;
}

export class Party {
  readonly parts: Parts;
  readonly clients: ClientLog = { creates: [], cancels: [], replays: [] };
  readonly #app: ReturnType<typeof createApp>;
  readonly #notes: { lines: string[]; moved: Moved[] };

  /** Open until the test ends. */
  static async open({
    url,
    schema = 'claimcheck',
    workflows,
    dataDir,
    leaseMs = LEASE_MS,
  }: PartyOptions): Promise<Party> {
    const notes = { lines: [] as string[], moved: [] as Moved[] };
    const parts = await openParts({
      dataDir: dataDir ?? (await tempDir()),
      database: url === undefined ? null : { url, schema },
      workflows,
      model: null,
      telemetry: telemetryOf(notes),
      settings: { ...SETTINGS, leaseMs },
      bootstrapKey: KEY,
    });
    onTestFinished(() => parts.close());
    return new Party(parts, notes);
  }

  private constructor(parts: Parts, notes: Party['notes']) {
    this.parts = parts;
    this.#notes = notes;
    this.#app = createApp({ engine: parts.engine, log: silent(), basePath: '' });
  }

  /** What was logged, and told of. */
  get notes(): { readonly lines: string[]; readonly moved: Moved[] } {
    return this.#notes;
  }

  /** Puts the API on a socket until the test ends, for clients that need one. */
  async listen(): Promise<Api> {
    const server = await listen({ app: this.#app, host: '127.0.0.1', port: 0 });
    onTestFinished(() => server.close());
    return { address: () => Promise.resolve(server.url), key: KEY };
  }

  /** A worker that runs until the test ends. */
  startWorker(name?: string): Worker {
    const worker = this.parts.createWorker(name === undefined ? {} : { name });
    worker.start();
    onTestFinished(() => worker.kill());
    return worker;
  }

  async ask(method: string, path: string, body?: unknown, idempotencyKey?: string): Promise<Reply> {
    const response = await this.#app.request(path, {
      method,
      headers: {
        authorization: `Bearer ${KEY}`,
        'content-type': 'application/json',
        ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const { status, headers } = response;
    return { status, headers, json: (await response.json()) as Reply['json'] };
  }

  async create(
    input: JsonValue,
    { idempotencyKey, ...asked }: { idempotencyKey?: string; limits?: object; workflow?: string } = {},
  ): Promise<Reply> {
    const inputSha256 = createHash('sha256').update(canonicalJson(input)).digest('hex');
    const line: CreateLine = {
      tenant: 'default',
      told: 'nothing',
      inputSha256,
      ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    };
    this.clients.creates.push(line);
    const body = { workflow: 'test', input, ...asked };
    const reply = await this.ask('POST', '/ai-jobs', body, idempotencyKey);
    line.told = toldOf(reply);
    if (line.told === 'accepted') line.jobId = reply.json['job_id'] as string;
    return reply;
  }

  /** A job that is accepted. */
  async accepted(input: JsonValue, limits: object = {}, workflow = 'test'): Promise<string> {
    const { status, json } = await this.create(input, { limits, workflow });
    expect(status).toBe(202);
    return json['job_id'] as string;
  }

  async cancel(jobId: string): Promise<Reply> {
    const line = { jobId, told: 'nothing' as Told };
    this.clients.cancels.push(line);
    const reply = await this.ask('POST', `/ai-jobs/${jobId}/cancel`, { reason: 'not needed' });
    line.told = toldOf(reply);
    return reply;
  }

  async replay(jobId: string, decisionId: string): Promise<Reply> {
    const line = { jobId, decisionId, told: 'nothing' as Told };
    this.clients.replays.push(line);
    const body = { reason: 'again', decision_id: decisionId };
    const reply = await this.ask('POST', `/ai-jobs/${jobId}/replay`, body);
    line.told = toldOf(reply);
    return reply;
  }

  async record(jobId: string): Promise<Record<string, unknown>> {
    return (await this.ask('GET', `/ai-jobs/${jobId}/record`)).json;
  }

  async brief(jobId: string): Promise<Record<string, unknown>> {
    return (await this.ask('GET', `/ai-jobs/${jobId}/record?view=brief`)).json;
  }

  /** Waits for the end of a job, and gives its brief record. */
  async ended(jobId: string): Promise<Record<string, unknown>> {
    await expect.poll(() => this.statusOf(jobId), { timeout: 20_000 }).toMatch(/^(completed|dead_letter)$/);
    return this.brief(jobId);
  }

  /** `away` where the API cannot say. */
  async statusOf(jobId: string): Promise<unknown> {
    return (await this.ask('GET', `/ai-jobs/${jobId}`)).json['status'];
  }
}

/** Nothing is unfinished, and no invariant is broken. @param parties all whose clients asked for anything */
export async function judged(...parties: [Party, ...Party[]]): Promise<Judgement> {
  return judgedBy(parties[0], {
    creates: parties.flatMap((party) => party.clients.creates),
    cancels: parties.flatMap((party) => party.clients.cancels),
    replays: parties.flatMap((party) => party.clients.replays),
  });
}

export async function judgedBy({ parts }: Party, clients: ClientLog): Promise<Judgement> {
  const { store, blobs, settings } = parts;
  const quietSince = Date.now();
  expect(await drained(store, 20_000)).toBe(true);
  const { leaseMs, graceMs } = settings;
  const judgement = await judge({ store, blobs, clients, quietSince, leaseMs, graceMs });
  expect(report(judgement.violations)).toBe('');
  return judgement;
}

function toldOf({ status }: Reply): Told {
  return status < 300 ? 'accepted' : status < 500 ? 'refused' : 'nothing';
}

function telemetryOf({ lines, moved }: Party['notes']): Telemetry {
  const note = (fields: object, message: string) => void lines.push(`${message} ${JSON.stringify(fields)}`);
  const log: Log = { debug: () => {}, info: () => {}, warn: note, error: note, child: () => log };
  return { log, moved: (one) => void moved.push(one) };
}

function silent(): Log {
  const log: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {}, child: () => log };
  return log;
}
