/**
 * What surfaces call: one facade over intake, readers, decisions, uploads and keys. Expected refusals are
 * values with a stable `code`; a surface only renders them.
 */
import type { Readable } from 'node:stream';
import type { SpendingAccount } from '../domain/accounts.ts';
import type { ErrorCode } from '../domain/failures.ts';
import type { Scope } from '../domain/scopes.ts';
import type { ArtifactRef, Job, Status, StatusView, ValidationIssue } from '../domain/record.ts';
import type { ModelCall } from '../domain/model-call.ts';
import type { NanoUsd } from '../domain/money.ts';
import type { RequestedLimits } from '../domain/policy.ts';
import type { LiveText } from './live-text.ts';

/** Who asks: an API key or a person at the machine. */
export interface Caller {
  tenant: string;
  /** For the history: `key:<id>`, `bootstrap` or `local:<user>`. */
  actor: string;
  /** What a key is good for; absent where there is none, and everything is allowed. */
  scopes?: readonly string[];
}

/** Who came with an API key, and what it is good for. */
export interface KeyHolder extends Caller {
  scopes: readonly string[];
}

/** A request in the engine's words; instants in ms. Unknown fields and JSON types were checked by the surface. */
export interface JobRequest {
  workflow: string;
  /** The newest version by default. */
  version?: string | undefined;
  /** Undefined where the request has none. */
  input?: unknown;
  inputRef?: string | undefined;
  limits?: RequestedLimits | undefined;
  /** What all its calls to models may cost together; as the workflow says by default. */
  spendingLimit?: NanoUsd | undefined;
  runAt?: number | undefined;
  priority?: number | undefined;
  labels?: Record<string, string> | undefined;
}

export type RefusalCode =
  | 'invalid_request'
  | 'forbidden'
  | 'unknown_workflow'
  | 'unknown_input_ref'
  | 'not_found'
  | 'artifact_not_ready'
  | 'already_ended'
  | 'not_dead_letter'
  | 'decision_taken'
  | 'call_not_unknown'
  | 'evidence_expired'
  | 'idempotency_key_reused'
  | 'too_large';

export interface Refused {
  ok: false;
  code: RefusalCode;
  /** A sentence that says what is wrong and the way out. */
  detail: string;
  errors: ValidationIssue[];
}

export type Result<T> = { ok: true; value: T } | Refused;

export interface Ticket {
  jobId: string;
  status: Status;
}

export interface OpenedArtifact {
  ref: ArtifactRef;
  /** A name that is safe to offer for saving. */
  fileName: string;
  stream(): Readable;
}

export interface ListQuery {
  status?: Status | undefined;
  workflow?: string | undefined;
  code?: ErrorCode | undefined;
  labels?: Record<string, string> | undefined;
  after?: string | undefined;
  limit?: number | undefined;
}

export interface ReplayRequest {
  reason: string;
  /** The decision this replay takes; whichever is open by default. */
  decisionId?: string | undefined;
  limits?: RequestedLimits | undefined;
  /** What all its calls to models may cost, what they have cost included. */
  spendingLimit?: NanoUsd | undefined;
  /** Stored responses answer its calls to models; the provider is not called. */
  fromEvidence?: boolean | undefined;
}

export interface SpendingLimitRequest {
  scope: 'workflow' | 'day';
  /** The workflow's; null for the day. */
  name: string | null;
  limit: NanoUsd | null;
  reason: string;
}

export interface KeyView {
  id: string;
  name: string;
  scopes: string[];
  createdAt: number;
  revokedAt: number | null;
}

export interface WorkflowView {
  name: string;
  version: string;
  inputFile: 'none' | 'optional' | 'required';
  /** What it takes as `input`; null where the schema's library cannot say it as JSON Schema. */
  inputJsonSchema: object | null;
}

export interface EngineApi {
  enqueue(
    caller: Caller,
    request: JobRequest,
    options?: {
      idempotencyKey?: string | undefined;
      /** The caller's own transaction, in which the job is written. Workers hear of it once that commits. */
      tx?: unknown;
    },
  ): Promise<Result<Ticket>>;
  /** All or none; paths of errors start with `/jobs/<index>`. */
  enqueueBatch(
    caller: Caller,
    requests: JobRequest[],
    options?: { idempotencyKey?: string | undefined },
  ): Promise<Result<Ticket[]>>;

  status(caller: Caller, jobId: string): Promise<Result<StatusView>>;
  /**
   * Resolves when the status's `seq` differs from `seq` (the one it has at the call, where none is given), at once where it is terminal, and in any case
   * after `waitMs` or when `signal` fires.
   */
  waitForChange(
    caller: Caller,
    jobId: string,
    options: { seq?: number | undefined; waitMs: number; signal: AbortSignal },
  ): Promise<Result<StatusView>>;
  job(caller: Caller, jobId: string): Promise<Result<Job>>;
  /** What streamed answers of running attempts say so far, where this process hears of it. Whoever asks has read the job. */
  liveText: LiveText;
  list(caller: Caller, query: ListQuery): Promise<Result<{ jobs: StatusView[]; next: string | null }>>;

  /** The main artifact where `name` is null. */
  openArtifact(caller: Caller, jobId: string, name: string | null): Promise<Result<OpenedArtifact>>;
  /** A piece of evidence that the job's record refers to by `uri`. */
  openEvidence(caller: Caller, jobId: string, uri: string): Promise<Result<OpenedArtifact>>;
  /** The file that the job's `input_ref` names. */
  openInputFile(caller: Caller, jobId: string): Promise<Result<OpenedArtifact>>;

  cancel(caller: Caller, jobId: string, reason: string): Promise<Result<Ticket>>;
  replay(caller: Caller, jobId: string, request: ReplayRequest): Promise<Result<Ticket>>;

  /** Today's accounts with their limits: the deployment's, and every workflow's that has one or made calls. */
  spending(caller: Caller): Promise<SpendingAccount[]>;
  /** Sets what a workflow, or all of them together, may cost in a day (UTC), from now on; null lifts it. */
  setSpendingLimit(caller: Caller, request: SpendingLimitRequest): Promise<Result<SpendingAccount>>;
  /** Says what a call of unknown billing cost. */
  settleCall(
    caller: Caller,
    jobId: string,
    n: number,
    request: { cost: NanoUsd; reason: string },
  ): Promise<Result<ModelCall>>;

  /** Streams a file to durable storage. `too_large` past the limit, and nothing is kept. */
  upload(
    caller: Caller,
    file: {
      body: AsyncIterable<Uint8Array>;
      mediaType: string;
      fileName: string | null;
      signal?: AbortSignal | undefined;
    },
  ): Promise<Result<{ inputRef: string; sha256: string; bytes: number; mediaType: string }>>;

  /** Who holds this bearer token, or null. Constant-time; a token with wrong check digits costs no look-up. */
  authenticate(token: string): Promise<KeyHolder | null>;
  /** `key` is shown this once. It may do everything where no scopes are named. */
  createKey(caller: Caller, name: string, scopes?: readonly Scope[]): Promise<{ key: string; view: KeyView }>;
  listKeys(caller: Caller): Promise<KeyView[]>;
  revokeKey(caller: Caller, id: string): Promise<boolean>;

  /** The known workflows: of each name the newest version first. */
  workflows(): WorkflowView[];
  /** Resolves where store and blobs take writes. */
  ready(): Promise<void>;
}
