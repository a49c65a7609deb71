/**
 * The durable truth about jobs, as verbs of the domain. A store decides nothing: it hands what it knows, its own
 * clock's time and the command to `decide` (or `accept`), and applies the move where nobody has moved the job since.
 * Every verb is one transaction or several whole ones; a state is never written without its event.
 *
 * Every verb rejects with `StoreUnavailableError` where the store cannot be reached or stays busy (nothing was
 * changed, or the caller cannot know: a settlement may be sent again, since its token is spent by the first), and
 * with `StorageFullError` where the disk is full.
 */
import type { NewRequest } from '../domain/accept.ts';
import type { Command, Refusal, ReplayCommand, Suspicion } from '../domain/decide.ts';
import type { ErrorCode } from '../domain/failures.ts';
import type { JsonValue } from '../domain/json.ts';
import type {
  EventType,
  Job,
  Limits,
  Progress,
  Status,
  StatusView,
  ValidationIssue,
} from '../domain/record.ts';

export class StoreUnavailableError extends Error {
  override readonly name = 'StoreUnavailableError';
}

export class StorageFullError extends Error {
  override readonly name = 'StorageFullError';
}

/** What jobs have in common that one worker may claim together. */
export interface Lane {
  workflow: string;
  version: string;
  outputSchemaSha256: string;
}

export interface ClaimedJob extends Lane {
  jobId: string;
  tenant: string;
  input: JsonValue;
  inputRef: string | null;
  labels: Readonly<Record<string, string>>;
  limits: Limits;
  attempt: number;
  used: number;
  token: number;
  /** As it waited, before this attempt. */
  suspicion: Suspicion;
}

/** How many jobs of each suspicion a claim may bring, of all that it brings; without it, as many as there are. */
export type Suspects = Readonly<Record<Exclude<Suspicion, 0>, number>>;

/** One transition that was written, for logs and wake-ups. */
export interface Moved {
  jobId: string;
  tenant: string;
  workflow: string;
  event: EventType;
  status: Status;
  attempt: number;
  code: ErrorCode | null;
  worker: string | null;
  /** The session whose running attempt this ended from outside (a cancel), to wake it. */
  revokedSession: string | null;
  /** When the job may next be claimed; set where `status` is queued. */
  due: number | null;
}

export interface InlineBlob {
  uri: string;
  bytes: Uint8Array;
  mediaType: string;
}

/** The end of an attempt, fenced by its token. */
export interface Settlement {
  jobId: string;
  token: number;
  command: Extract<Command, { type: 'complete' | 'fail' | 'release' | 'hold' }>;
  /** Small artifacts and evidence, written in the same transaction. */
  blobs: readonly InlineBlob[];
}

export type Settled = { moved: Moved; refused?: never } | { moved?: never; refused: 'lease_lost' };

export type Enqueued =
  | {
      outcome: 'accepted';
      jobIds: string[] /** True where an idempotency key answered. */;
      repeated: boolean;
      moved: Moved[];
    }
  | { outcome: 'idempotency_key_reused' }
  | { outcome: 'invalid'; index: number; issues: ValidationIssue[] };

export type Acted =
  | { outcome: 'moved'; moved: Moved }
  | { outcome: 'refused'; refusal: Refusal }
  | { outcome: 'not_found' };

export interface JobFilter {
  status?: Status | undefined;
  workflow?: string | undefined;
  /** The code of the last error of a dead letter. */
  code?: ErrorCode | undefined;
  labels?: Readonly<Record<string, string>> | undefined;
}

export interface ClaimParams {
  session: string;
  worker: string;
  serial: number;
  lanes: Lane[];
  limit: number;
  suspects?: Suspects | undefined;
}

export interface Claimed {
  lost: boolean;
  now: number;
  jobs: ClaimedJob[];
  moved: Moved[];
}

export interface StandingClaim {
  /** Never settles where it was withdrawn before. */
  claimed: Promise<Claimed>;
  /** @returns false where it has been made: what it brought is in `claimed` */
  withdraw(): boolean;
}

export interface Swept {
  moved: Moved[];
  /** True where the limit was reached and another sweep has work at once. */
  more: boolean;
}

export interface JobStore {
  /**
   * Writes jobs with their first event. Each request is one caller's: all of its jobs or none, and the other callers' are not
   * touched by its refusal. A known idempotency key with the same request digest answers with the first request's jobs and
   * writes nothing. It is known until some time after the last of them has ended (see `sweep`).
   */
  enqueue(requests: readonly NewRequest[]): Promise<Enqueued[]>;

  /**
   * Writes one caller's jobs within the caller's own transaction, where the store has transactions to share: they are there
   * once it commits, and never where it does not. `tx` is what the store's own driver calls a client.
   */
  enqueueWithin?(tx: unknown, request: NewRequest): Promise<Enqueued>;

  /** Registers a worker's boot. Its lease lasts `leaseMs` from each renewal by the store's clock. */
  openSession(params: { session: string; worker: string; host: string; leaseMs: number }): Promise<void>;

  /**
   * Extends the session and reads which of its attempts were taken away (cancelled, or settled from outside). They are
   * told again with every renewal until one names their tokens in `heard`, so that an answer may be lost. `lost` where
   * the session was reaped: its attempts are no longer its own, and it never revives.
   */
  renew(params: {
    session: string;
    heard: readonly number[];
  }): Promise<{ lost: boolean; revoked: { jobId: string; token: number }[] }>;

  /**
   * Brings a session in line with what its worker knows, after calls that were not answered. Leases under other tokens
   * than those in `held` are released without spending an attempt: nobody runs those jobs. Claims of this session up to
   * `serial` that arrive later get nothing. `gone`: those of `held` that are no leases of the session. `lost` as for `renew`.
   */
  reconcile(params: {
    session: string;
    serial: number;
    held: readonly number[];
  }): Promise<{ lost: boolean; gone: number[]; moved: Moved[] }>;

  /** Ends a session that holds no lease; one that still holds some stays until it expires or is reaped. */
  closeSession(params: { session: string }): Promise<void>;

  /**
   * Gives up to `limit` due jobs of these lanes to a live session: by priority, then in order of arrival, lanes and
   * tenants in turn. Jobs found past their deadline go to dead letter instead (in `moved`). A
   * session that was reaped gets `lost` and nothing. `serial` counts the claims of the session's worker, from 1.
   */
  claim(params: ClaimParams): Promise<Claimed>;

  /**
   * The claim of an idle worker: it is made in the transaction of the next enqueue of this process that brings something for its
   * lanes, so that this job starts one commit sooner. Where a store has it, it is a hint like any other: what comes in elsewhere is not seen.
   */
  standBy?: (params: ClaimParams) => StandingClaim;

  /** Ends attempts. Each is refused by itself, as `lease_lost`, where its token is not the job's current one. */
  settle(settlements: Settlement[]): Promise<Settled[]>;

  /** Says how far an attempt is; false where the token is not the job's current one. */
  progress(params: { jobId: string; token: number; progress: Omit<Progress, 'at'> }): Promise<boolean>;

  /** A person's command. Of several at once, the first wins and the others are refused. */
  act(params: {
    tenant: string;
    jobId: string;
    command: Extract<Command, { type: 'cancel' }> | ReplayCommand;
  }): Promise<Acted>;

  /**
   * What time does to jobs: waiting ones past their deadline die, due ones become claimable, attempts past their hard
   * stop (timeout or deadline, plus `graceMs`) are settled, and, where `reap` is set, sessions past their expiry are reaped and
   * their jobs recovered. Idempotency keys whose last job ended `idempotencyMs` ago are forgotten.
   * `jitter` is uniform in [0, 1) for each retry.
   */
  sweep(params: {
    reap: boolean;
    graceMs: number;
    idempotencyMs: number;
    limit: number;
    jitter: () => number;
  }): Promise<Swept>;

  /** Recovers the jobs of a session whose process is known to have ended. */
  reapSession(params: { session: string }): Promise<Moved[]>;

  /** For each that is asked for, in order; null where its tenant has no such job. */
  statuses(asked: { tenant: string; jobId: string }[]): Promise<(StatusView | null)[]>;

  job(params: { tenant: string; jobId: string }): Promise<Job | null>;

  /** Newest first; `after` is the last job id of the page before. */
  list(params: {
    tenant: string;
    filter: JobFilter;
    after: string | null;
    limit: number;
  }): Promise<{ jobs: StatusView[]; next: string | null }>;

  /** The bytes of a small artifact or evidence that was written with a settlement, or null. */
  inlineBlob(params: { uri: string }): Promise<InlineBlob | null>;

  /**
   * When the next waiting job becomes due, by the store's clock, as a delay from now; null where none waits. Sooner where a claim would
   * see then what the last one could not.
   */
  nextDueInMs(): Promise<number | null>;

  /** Resolves where the store answers and its disk takes writes. */
  ping(): Promise<void>;
}
