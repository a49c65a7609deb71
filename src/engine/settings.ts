/** What an operator may set, with its defaults; checked once at start, in `src/main`. */
import { DEFAULT_BACKOFF, DEFAULT_CAPS } from '../domain/policy.ts';
import type { Backoff, LimitPolicy } from '../domain/policy.ts';
import type { NanoUsd, Price } from '../domain/money.ts';

export interface EngineSettings {
  /** How long a silent worker keeps its jobs; swept at half that. */
  leaseMs: number;
  /** Attempts in flight in one worker. */
  concurrency: number;
  /** How long an attempt may go on after its signal before it is settled without it. */
  graceMs: number;
  /** How long a stopping worker lets its attempts go on before it releases them. */
  shutdownMs: number;
  /** Isolated processes of one worker, and so the isolated attempts that it has in flight at most. */
  isolationProcesses: number;
  /** Memory that an isolated process may take before it is ended. */
  isolationMemoryBytes: number;
  /** Bytes of JSON of an inline input. */
  maxInputBytes: number;
  maxUploadBytes: number;
  /** Bytes of an output or a named artifact. */
  maxOutputBytes: number;
  /** Artifacts and evidence up to this many bytes are rows of the store. */
  inlineBytes: number;
  /** How long an idempotency key is kept after the last job of its request ended. */
  idempotencyMs: number;
  caps: LimitPolicy;
  backoff: Backoff;
  /** What models cost: the operator's; a call to one that is not among them has to be bounded by its workflow. */
  prices: readonly Price[];
  /** What all calls of one day (UTC) may cost together; null: no limit. */
  dayLimit: NanoUsd | null;
  /** The most that a request may set as the limit of its job; null: whatever it likes. */
  jobSpendingCap: NanoUsd | null;
  /** How long after a job's end the evidence of its calls to models is kept; null: for ever. */
  evidenceRetentionMs: number | null;
}

export const DEFAULT_SETTINGS: EngineSettings = {
  leaseMs: 10_000,
  concurrency: 100,
  graceMs: 5_000,
  shutdownMs: 5_000,
  isolationProcesses: 4,
  isolationMemoryBytes: 512 * 1024 * 1024,
  maxInputBytes: 256 * 1024,
  maxUploadBytes: 50 * 1024 * 1024,
  maxOutputBytes: 10 * 1024 * 1024,
  inlineBytes: 16 * 1024,
  idempotencyMs: 24 * 3_600_000,
  caps: DEFAULT_CAPS,
  backoff: DEFAULT_BACKOFF,
  prices: [],
  dayLimit: null,
  jobSpendingCap: null,
  evidenceRetentionMs: null,
};
