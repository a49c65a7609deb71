/**
 * The nouns of a job's record. Instants are milliseconds since 1970 (UTC), durations end in `Ms`.
 * How a record is shown to a reader (snake case, ISO dates) is `view.ts`.
 */
import type { ErrorCode } from './failures.ts';
import type { JsonValue } from './json.ts';
import type { ModelCall } from './model-call.ts';
import type { NanoUsd } from './money.ts';

export type Status = 'queued' | 'running' | 'completed' | 'dead_letter';

export type EventType =
  | 'queued'
  | 'running'
  | 'completed'
  | 'dead_letter'
  | 'requeued_after_restart'
  | 'cancel_requested'
  | 'decision'
  | 'deadline_extended'
  | 'erased';

/** One line of a record's history. Its `seq` is its place in the history, counted from 1. */
export interface JobEvent {
  type: EventType;
  from: Status | null;
  to: Status;
  at: number;
  attempt: number;
  code?: ErrorCode;
  /** When a queued job may be claimed, where that is later than `at`. */
  due?: number;
  worker?: string;
  actor?: string;
  reason?: string;
  detail?: JsonValue;
}

export interface Evidence {
  kind: 'raw_output' | 'error' | 'model_response';
  uri: string;
  sha256: string;
  bytes: number;
}

export interface ValidationIssue {
  /** JSON Pointer (RFC 6901) into the value that was checked. */
  path: string;
  message: string;
}

export interface ErrorEntry {
  attempt: number;
  code: ErrorCode;
  /** A fixed, safe sentence: nothing a provider, a prompt or an input said. */
  message: string;
  at: number;
  elapsedMs: number;
  limitMs?: number;
  issues?: ValidationIssue[];
  evidence?: Evidence[];
  rule?: string;
}

export interface ArtifactRef {
  uri: string;
  sha256: string;
  bytes: number;
  mediaType: string;
}

export interface NamedArtifact extends ArtifactRef {
  name: string;
}

/** What a person has to decide about a dead letter; used once. */
export interface Decision {
  decisionId: string;
  open: boolean;
  code: ErrorCode;
  /** Set when it was taken. */
  choice?: 'replay';
  actor?: string;
  reason?: string;
  takenAt?: number;
}

/** The three limits of a job. `deadlineMs` is what the deadline was counted from, kept for a replay. */
export interface Limits {
  timeoutMs: number;
  maxAttempts: number;
  deadlineAt: number;
  deadlineMs: number;
}

export interface Lease {
  worker: string;
  session: string;
  /** Fences every write of the attempt; only grows. */
  token: number;
  attempt: number;
  since: number;
  /** When the lease may be taken away: the session's expiry or the attempt's hard stop, the earlier. */
  until: number;
}

export interface Progress {
  /** From 0 to 1. */
  fraction: number;
  note: string | null;
  at: number;
}

/** What a job's calls to models cost. Nothing is begun that would take `spent` and `reserved` together past `limit`. */
export interface JobSpending {
  /** The job's own; null: none. */
  limit: NanoUsd | null;
  spent: NanoUsd;
  /** Held for calls that are under way, and for those of which nobody knows what they cost. */
  reserved: NanoUsd;
}

/** A job as a store gives it back, in one snapshot: the lease and its `running` event included. */
export interface Job {
  jobId: string;
  tenant: string;
  workflow: string;
  workflowVersion: string;
  outputSchemaSha256: string;
  status: Status;
  /** Claims so far; never falls. */
  attempt: number;
  /** Claims minus releases since the last replay: what `limits.maxAttempts` bounds. */
  used: number;
  /** How many times a person had it run again. */
  replays: number;
  priority: number;
  labels: Readonly<Record<string, string>>;
  input: JsonValue;
  inputRef: string | null;
  inputSha256: string;
  limits: Limits;
  runAt: number;
  lease: Lease | null;
  progress: Progress | null;
  errors: ErrorEntry[];
  events: JobEvent[];
  artifact: ArtifactRef | null;
  artifacts: NamedArtifact[];
  decision: Decision | null;
  /** Oldest first, those of all attempts. */
  calls: ModelCall[];
  spending: JobSpending;
  createdAt: number;
  updatedAt: number;
  startedAt: number | null;
  finishedAt: number | null;
}

/** The six keys of a status, before they are shown, and the length of the history they stand for. */
export interface StatusView {
  jobId: string;
  workflow: string;
  status: Status;
  attempt: number;
  artifact: ArtifactRef | null;
  error: { code: ErrorCode; message: string; attempt: number } | null;
  updatedAt: number;
  /** Number of events: grows with every change, so it names a version of the status. */
  seq: number;
}
