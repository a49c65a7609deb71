/** The desk behind the API: plain HTTP with a bearer key. */
import { Readable } from 'node:stream';
import type { BriefJson, EventJson, RecordJson, StatusJson } from '../domain/view.ts';
import type { AccountJson } from '../domain/accounts.ts';
import type { CallJson } from '../domain/call-view.ts';
import { usdOf } from '../domain/dollars.ts';
import type { NanoUsd } from '../domain/money.ts';
import type { RequestedLimits } from '../domain/policy.ts';
import type { ValidationIssue } from '../domain/record.ts';
import type { JobRequest } from '../engine/api.ts';
import { Refusal, isTerminal } from './desk.ts';
import type { Desk, KeyJson, ListFilter, ListedJson, TicketJson, UploadJson, WorkflowJson } from './desk.ts';
import { messages } from './event-stream.ts';
import { followSource } from './following.ts';
import type { Patience, Source } from './following.ts';
import { EXIT, Problem } from './problem.ts';

export interface HttpDeskOptions {
  /** Address of the API, with or without a trailing slash. */
  url: string;
  apiKey: string | null;
  /** With a broken event stream. */
  patience?: Partial<Patience>;
}

type Call = (path: string, init?: RequestInit) => Promise<Response>;

const PATIENCE: Patience = { reconnectMs: 500, giveUpMs: 60_000 };

/** A desk that also knows what its server can be asked for. */
interface HttpDesk extends Desk {
  workflows(): Promise<WorkflowJson[]>;
}

export function createHttpDesk(options: HttpDeskOptions): HttpDesk {
  const call = createCall(options);
  const get = async <T>(path: string) => (await (await call(path)).json()) as T;
  const send = async <T>(
    method: string,
    path: string,
    body: unknown,
    headers: Record<string, string> = {},
  ) => {
    const init = {
      method,
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json', ...headers },
    };
    return (await (await call(path, init)).json()) as T;
  };
  const post = <T>(path: string, body: unknown, headers?: Record<string, string>) =>
    send<T>('POST', path, body, headers);
  const bytes = async (path: string) => readable(await call(path));

  return {
    enqueue: (request, idempotencyKey) =>
      post<TicketJson>(
        '/ai-jobs',
        requestJson(request),
        idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey },
      ),
    async upload({ body, mediaType, fileName }) {
      const headers = {
        'content-type': mediaType,
        'content-disposition': `attachment; filename*=UTF-8''${encodeURIComponent(fileName)}`,
      };
      const init = { method: 'POST', headers, body: Readable.toWeb(body), duplex: 'half' };
      return (await (await call('/uploads', init as RequestInit)).json()) as UploadJson;
    },
    status: (jobId) => get<StatusJson>(jobPath(jobId)),
    record: (jobId) => get<RecordJson>(jobPath(jobId, '/record')),
    brief: (jobId) => get<BriefJson>(jobPath(jobId, '/record?view=brief')),
    list: (filter) => get<{ jobs: ListedJson[]; next: string | null }>(`/ai-jobs?${listQuery(filter)}`),
    follow(jobId, watch) {
      const source: Source = {
        open: (seen, signal) => openStream(call, jobId, seen, signal),
        hasEnded: (signal) => hasEnded(call, jobId, signal),
      };
      return followSource(source, { ...PATIENCE, ...options.patience }, watch);
    },
    cancel: (jobId, reason) => post<TicketJson>(jobPath(jobId, '/cancel'), { reason }),
    replay: (jobId, { reason, decisionId, limits, spendingLimit, fromEvidence }) =>
      post<TicketJson>(jobPath(jobId, '/replay'), {
        reason,
        decision_id: decisionId,
        limits: limitsJson(limits, spendingLimit),
        from_evidence: fromEvidence,
      }),
    artifact: (jobId, name) =>
      bytes(jobPath(jobId, name === null ? '/artifact' : `/artifacts/${encodeURIComponent(name)}`)),
    evidence: (jobId, uri) => bytes(jobPath(jobId, `/evidence?uri=${encodeURIComponent(uri)}`)),
    inputFile: (jobId) => bytes(jobPath(jobId, '/input')),
    spending: async () => (await get<{ accounts: AccountJson[] }>('/spending')).accounts,
    setSpendingLimit: ({ scope, name, limit, reason }) =>
      send<AccountJson>('PUT', '/spending/limits', {
        scope,
        name: name ?? undefined,
        usd: limit === null ? null : usdOf(limit),
        reason,
      }),
    settleCall: (jobId, n, { cost, reason }) =>
      post<CallJson>(jobPath(jobId, `/calls/${n}/settle`), { cost_usd: usdOf(cost), reason }),
    createKey: (name, scopes) => post<KeyJson & { key: string }>('/keys', { name, scopes }),
    listKeys: async () => (await get<{ keys: KeyJson[] }>('/keys')).keys,
    revokeKey: async (id) => void (await call(`/keys/${encodeURIComponent(id)}`, { method: 'DELETE' })),
    workflows: async () => (await get<{ workflows: WorkflowJson[] }>('/workflows')).workflows,
    close: () => Promise.resolve(),
  };
}

function createCall({ url, apiKey }: HttpDeskOptions): Call {
  const base = url.replace(/\/+$/, '');
  const authorization: Record<string, string> = apiKey === null ? {} : { authorization: `Bearer ${apiKey}` };
  return async (path, init = {}) => {
    const headers = headersOf({
      accept: 'application/json',
      ...(init.headers as Record<string, string>),
      ...authorization,
    });
    const response = await fetch(`${base}${path}`, { ...init, headers, redirect: 'error' }).catch(
      (error: unknown) => {
        if (init.signal?.aborted === true) throw error;
        throw new Problem(`Nobody answers at ${base}: ${causeOf(error)}.`, EXIT.unavailable, {
          cause: error,
        });
      },
    );
    if (response.ok) return response;
    throw await refusalOf(response, base, apiKey);
  };
}

/** @throws Problem that names the header alone: its value may be a key */
function headersOf(values: Record<string, string>): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(values)) {
    try {
      headers.set(name, value);
    } catch {
      throw new Problem(`The header ${name} cannot carry the text that it was given.`, EXIT.usage);
    }
  }
  return headers;
}

/** The innermost reason of a failed fetch, which itself only says that it failed. */
function causeOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code = (cause as NodeJS.ErrnoException | undefined)?.code;
  if (code === 'ECONNREFUSED') return 'the connection was refused';
  if (code === 'ENOTFOUND') return 'there is no such host';
  return cause instanceof Error ? cause.message : String(cause);
}

interface ProblemJson {
  code?: string;
  title?: string;
  detail?: string;
  errors?: ValidationIssue[];
}

async function refusalOf(response: Response, base: string, apiKey: string | null): Promise<Refusal> {
  const text = await response.text();
  const problem = parseProblem(text);
  if (response.status === 401) {
    const way = apiKey === null ? 'none was given: set CLAIMCHECK_API_KEY' : 'it knows no such live key';
    return new Refusal({ code: 'unauthorized', detail: `${base} wants an API key, and ${way}.` });
  }
  return new Refusal({
    code: problem.code ?? `http_${response.status}`,
    detail:
      problem.detail ?? problem.title ?? `${base} answered ${response.status}, and not as Claimcheck does.`,
    errors: problem.errors ?? [],
    ...(isPassing(response.status) ? { exitCode: EXIT.unavailable } : {}),
  });
}

/** The server is at fault, or overrun: the same request may pass later. */
function isPassing(status: number): boolean {
  return status >= 500 || status === 429;
}

function parseProblem(text: string): ProblemJson {
  try {
    const value: unknown = JSON.parse(text);
    return value !== null && typeof value === 'object' ? value : {};
  } catch {
    return {};
  }
}

/** One stream of the events after `seen`, until it ends or breaks. */
async function openStream(call: Call, jobId: string, seen: number, signal: AbortSignal) {
  const headers: Record<string, string> = { accept: 'text/event-stream' };
  if (seen > 0) headers['last-event-id'] = String(seen);
  return eventsOf(await call(jobPath(jobId, '/events'), { headers, signal }), seen);
}

async function* eventsOf(response: Response, seen: number): AsyncGenerator<EventJson> {
  let latest = seen;
  for await (const data of messages(readable(response))) {
    const event = JSON.parse(data) as EventJson;
    if (event.seq <= latest) continue;
    latest = event.seq;
    yield event;
  }
}

async function hasEnded(call: Call, jobId: string, signal: AbortSignal): Promise<boolean> {
  const { status } = (await (await call(jobPath(jobId), { signal })).json()) as StatusJson;
  return isTerminal(status);
}

function readable(response: Response): Readable {
  return response.body === null ? Readable.from([]) : Readable.fromWeb(response.body);
}

function jobPath(jobId: string, rest = ''): string {
  return `/ai-jobs/${encodeURIComponent(jobId)}${rest}`;
}

function listQuery({ labels, ...filter }: ListFilter): string {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(filter)) {
    if (value !== undefined) query.set(key, String(value));
  }
  for (const [key, value] of Object.entries(labels)) query.set(`label.${key}`, value);
  return query.toString();
}

/** The body of an enqueue; what is undefined is left out by JSON. */
function requestJson({ inputRef, limits, spendingLimit, runAt, ...request }: JobRequest): object {
  return {
    ...request,
    input_ref: inputRef,
    limits: limitsJson(limits, spendingLimit),
    run_at: runAt === undefined ? undefined : new Date(runAt).toISOString(),
  };
}

function limitsJson(
  limits: RequestedLimits | undefined,
  spendingLimit: NanoUsd | undefined,
): object | undefined {
  if (limits === undefined && spendingLimit === undefined) return undefined;
  const { timeoutMs, maxAttempts, deadlineMs, deadlineAt } = limits ?? {};
  return {
    timeout_ms: timeoutMs,
    max_attempts: maxAttempts,
    deadline_ms: deadlineMs,
    deadline_at: deadlineAt === undefined ? undefined : new Date(deadlineAt).toISOString(),
    spending_usd: spendingLimit === undefined ? undefined : usdOf(spendingLimit),
  };
}
