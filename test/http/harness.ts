/** The API on a real store in a directory of its own, with a worker that a test starts when it wants one. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import type { EngineApi } from '../../src/engine/api.ts';
import type { EngineSettings } from '../../src/engine/settings.ts';
import type { WorkflowDefinition } from '../../src/engine/workflow.ts';
import type { AppOptions } from '../../src/http/app.ts';
import { createApp } from '../../src/http/app.ts';
import { listen } from '../../src/http/listen.ts';
import type { Listening, SocketLimits } from '../../src/http/listen.ts';
import { openParts } from '../../src/main/open.ts';
import type { Parts } from '../../src/main/open.ts';
import type { Log } from '../../src/ports/telemetry.ts';

export const KEY = 'bootstrap-key-of-the-tests-0123456789';
export const CALLER = { tenant: 'default', actor: 'local:test' };

const echo: WorkflowDefinition = {
  name: 'echo',
  version: '1',
  input: z.unknown(),
  output: z.unknown(),
  inputFile: 'optional',
  async run(context) {
    const { input } = context;
    if (isObject(input) && typeof input['save'] === 'string') {
      const media = typeof input['media'] === 'string' ? input['media'] : 'text/plain';
      await context.saveArtifact(input['save'], 'named bytes', media);
    }
    if (isObject(input) && input['fail'] === true) throw new Error('a secret that no caller sees');
    return { value: input ?? null };
  },
};

const picky: WorkflowDefinition = {
  name: 'picky',
  version: '1',
  input: z.strictObject({ mode: z.enum(['a', 'b']) }),
  output: z.object({ ok: z.string() }),
  run: () => ({ wrong: true }),
};

/** Runs until its signal fires. */
const endless: WorkflowDefinition = {
  name: 'endless',
  version: '1',
  input: z.unknown(),
  output: z.unknown(),
  run: ({ signal }) =>
    new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    }),
};

interface LogLine {
  level: string;
  fields: Record<string, unknown>;
  message: string;
}

export interface Api {
  parts: Parts;
  dataDir: string;
  log: LogLine[];
  /** Sends a request with the bootstrap key; an object as `json` becomes a JSON body. */
  ask(path: string, init?: RequestInit & { json?: unknown }): Promise<Response>;
  fetch(request: Request): Promise<Response>;
  listen(sockets?: Partial<SocketLimits>): Promise<Listening>;
  /** Hands in a job and gives its id. */
  enqueue(body: object): Promise<string>;
  startWorker(): void;
  close(): Promise<void>;
}

export interface ApiOptions extends Partial<Omit<AppOptions, 'engine' | 'log'>> {
  /** Besides those that every test has. */
  workflows?: WorkflowDefinition[];
  settings?: Partial<EngineSettings>;
  /** Changes the engine that the surface sees. */
  wrap?: (engine: EngineApi) => EngineApi;
}

export async function openApi({
  workflows = [],
  settings = {},
  wrap,
  ...app
}: ApiOptions = {}): Promise<Api> {
  const dataDir = mkdtempSync(join(tmpdir(), 'claimcheck-http-'));
  const log: LogLine[] = [];
  const parts = await openParts({
    dataDir,
    workflows: [echo, picky, endless, ...workflows],
    model: null,
    telemetry: { log: collector([], 'off'), moved: () => {} },
    bootstrapKey: KEY,
    settings,
  });
  const hono = createApp({ engine: wrap?.(parts.engine) ?? parts.engine, log: collector(log), ...app });
  const closers: (() => Promise<void>)[] = [];
  const fetch = async (request: Request) => hono.fetch(request);
  const ask: Api['ask'] = (path, init = {}) =>
    fetch(new Request(`http://claimcheck.test${path}`, withKey(init)));
  return {
    parts,
    dataDir,
    log,
    fetch,
    ask,
    async listen(sockets = {}) {
      const listening = await listen({ app: hono, host: '127.0.0.1', port: 0, sockets });
      closers.push(() => listening.close());
      return listening;
    },
    async enqueue(body) {
      const answer = await ask('/ai-jobs', { json: body });
      if (answer.status !== 202) throw new Error(`not accepted: ${await answer.text()}`);
      return ((await answer.json()) as { job_id: string }).job_id;
    },
    startWorker() {
      const worker = parts.createWorker();
      worker.start();
      closers.push(() => worker.stop());
    },
    async close() {
      await Promise.all(closers.map((close) => close()));
      await parts.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

export function withKey({ json, ...init }: RequestInit & { json?: unknown }, key = KEY): RequestInit {
  const headers = new Headers(init.headers);
  if (!headers.has('authorization')) headers.set('authorization', `Bearer ${key}`);
  if (json === undefined) return { ...init, headers };
  if (!headers.has('content-type')) headers.set('content-type', 'application/json');
  return { method: 'POST', ...init, headers, body: JSON.stringify(json) };
}

/** The body of a problem, once it is seen to be one. */
export async function problemOf(
  answer: Response,
): Promise<{ status: number; code: string; detail: string; errors: { path: string; message: string }[] }> {
  if (answer.headers.get('content-type') !== 'application/problem+json') {
    throw new Error(`no problem: ${answer.status} ${await answer.text()}`);
  }
  return (await answer.json()) as never;
}

export async function ended(api: Api, jobId: string): Promise<Record<string, unknown>> {
  for (;;) {
    const answer = await api.ask(`/ai-jobs/${jobId}?wait=20`);
    const status = (await answer.json()) as Record<string, unknown>;
    if (status['status'] === 'completed' || status['status'] === 'dead_letter') return status;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function collector(lines: LogLine[], mode: 'on' | 'off' = 'on'): Log {
  const add = (level: string) => (fields: object, message: string) => {
    if (mode === 'on') lines.push({ level, fields: fields as Record<string, unknown>, message });
  };
  return {
    debug: add('debug'),
    info: add('info'),
    warn: add('warn'),
    error: add('error'),
    child: () => collector(lines, mode),
  };
}

export function deferred<T = void>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
