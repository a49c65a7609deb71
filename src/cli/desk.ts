/** Where a command asks: the API over HTTP, or the store opened in this very process. Both answer the same. */
import type { Readable } from 'node:stream';
import type { BriefJson, EventJson, RecordJson, StatusJson } from '../domain/view.ts';
import type { AccountJson } from '../domain/accounts.ts';
import type { CallJson } from '../domain/call-view.ts';
import type { NanoUsd } from '../domain/money.ts';
import type { ErrorCode } from '../domain/failures.ts';
import type { Status, ValidationIssue } from '../domain/record.ts';
import type { Scope } from '../domain/scopes.ts';
import type { JobRequest, ReplayRequest, SpendingLimitRequest } from '../engine/api.ts';
import { EXIT, Problem } from './problem.ts';
import type { ExitCode } from './problem.ts';

export interface TicketJson {
  job_id: string;
  status: Status;
  status_url: string;
}

export interface UploadJson {
  input_ref: string;
  sha256: string;
  bytes: number;
  media_type: string;
}

export interface WorkflowJson {
  name: string;
  version: string;
  input_file: 'none' | 'optional' | 'required';
  /** JSON Schema of the input, where the workflow's schema can be said in it. */
  input_schema: object | null;
}

export interface ListedJson extends StatusJson {
  workflow: string;
}

export interface ListFilter {
  status?: Status | undefined;
  workflow?: string | undefined;
  code?: ErrorCode | undefined;
  labels: Record<string, string>;
  after?: string | undefined;
  limit?: number | undefined;
}

export interface KeyJson {
  id: string;
  name: string;
  scopes: string[];
  created_at: string;
  revoked_at: string | null;
}

/** Every verb rejects with `Refusal` where it was refused, and with `Problem` where nobody answered. */
export interface Desk {
  enqueue(request: JobRequest, idempotencyKey: string | undefined): Promise<TicketJson>;
  upload(file: { body: Readable; mediaType: string; fileName: string }): Promise<UploadJson>;
  status(jobId: string): Promise<StatusJson>;
  record(jobId: string): Promise<RecordJson>;
  brief(jobId: string): Promise<BriefJson>;
  list(filter: ListFilter): Promise<{ jobs: ListedJson[]; next: string | null }>;
  /**
   * The job's events from its first, then those that come, until it has ended. `onLost` hears once of each time that the
   * server does not answer any more; it is asked again for a while.
   */
  follow(jobId: string, watch: { signal: AbortSignal; onLost: () => void }): AsyncIterable<EventJson>;
  cancel(jobId: string, reason: string): Promise<TicketJson>;
  replay(jobId: string, request: ReplayRequest): Promise<TicketJson>;
  /** The main artifact where `name` is null. */
  artifact(jobId: string, name: string | null): Promise<Readable>;
  /** A piece of evidence that the record refers to. */
  evidence(jobId: string, uri: string): Promise<Readable>;
  /** The file that the job's `input_ref` names. */
  inputFile(jobId: string): Promise<Readable>;
  /** Today's accounts and their limits. */
  spending(): Promise<AccountJson[]>;
  setSpendingLimit(request: SpendingLimitRequest): Promise<AccountJson>;
  /** Says what a call of unknown billing cost. */
  settleCall(jobId: string, n: number, said: { cost: NanoUsd; reason: string }): Promise<CallJson>;
  /** `key` is shown this once. */
  createKey(name: string, scopes?: readonly Scope[]): Promise<KeyJson & { key: string }>;
  listKeys(): Promise<KeyJson[]>;
  /** Refused where there is no such key, or it was revoked before. */
  revokeKey(id: string): Promise<void>;
  close(): Promise<void>;
}

/** The codes by which a request itself is wrong, and not only comes too late. */
const WRONG_REQUEST: readonly string[] = [
  'invalid_request',
  'unknown_workflow',
  'unknown_input_ref',
  'too_large',
  'unauthorized',
  'forbidden',
];

/** What was asked for was refused, with the stable code, the sentence and the paths of the API. */
export class Refusal extends Problem {
  readonly code: string;
  readonly errors: readonly ValidationIssue[];

  constructor(params: {
    code: string;
    detail: string;
    errors?: readonly ValidationIssue[];
    /** By the code where it is not given. */
    exitCode?: ExitCode;
  }) {
    const { code, detail, errors = [] } = params;
    super(detail, params.exitCode ?? (WRONG_REQUEST.includes(code) ? EXIT.usage : EXIT.failed));
    this.code = code;
    this.errors = errors;
  }
}

export function isTerminal(status: Status): boolean {
  return status === 'completed' || status === 'dead_letter';
}
