/** Limits and delays: numbers in, numbers out. */
import type { Limits, ValidationIssue } from './record.ts';

export interface LimitPolicy {
  timeoutMs: number;
  maxAttempts: number;
  /** Counted from acceptance. */
  deadlineMs: number;
}

export const DEFAULT_LIMITS: LimitPolicy = {
  timeoutMs: 60_000,
  maxAttempts: 3,
  deadlineMs: 24 * 3_600_000,
};

/** What an operator lets any job have at most. */
export const DEFAULT_CAPS: LimitPolicy = {
  timeoutMs: 3_600_000,
  maxAttempts: 100,
  deadlineMs: 30 * 24 * 3_600_000,
};

export interface RequestedLimits {
  timeoutMs?: number | undefined;
  maxAttempts?: number | undefined;
  deadlineMs?: number | undefined;
  /** An instant; excludes `deadlineMs`. */
  deadlineAt?: number | undefined;
}

export interface Backoff {
  baseMs: number;
  capMs: number;
}

export const DEFAULT_BACKOFF: Backoff = { baseMs: 250, capMs: 60_000 };

/**
 * Exponential backoff with full jitter: uniform in [0, min(cap, base * 2^(failures-1))), and never less
 * than what the provider asked for in Retry-After.
 * Source: M. Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015.
 * @param failures attempts that failed so far, from 1
 * @param jitter uniform in [0, 1)
 */
export function retryDelayMs(
  failures: number,
  jitter: number,
  retryAfterMs: number,
  backoff: Backoff = DEFAULT_BACKOFF,
): number {
  const ceiling = Math.min(backoff.capMs, backoff.baseMs * 2 ** Math.min(failures - 1, 52));
  return Math.max(Math.floor(ceiling * jitter), Math.ceil(retryAfterMs));
}

/**
 * The limits a job gets: what the request says, else what the workflow says, else the defaults; or the issues
 * that a request past the operator's caps has. Paths are those of the request's `limits`.
 */
export function resolveLimits(
  requested: RequestedLimits,
  workflow: Partial<LimitPolicy>,
  caps: LimitPolicy,
  now: number,
): { limits: Limits; issues: [] } | { limits: null; issues: ValidationIssue[] } {
  const timeoutMs = requested.timeoutMs ?? workflow.timeoutMs ?? DEFAULT_LIMITS.timeoutMs;
  const maxAttempts = requested.maxAttempts ?? workflow.maxAttempts ?? DEFAULT_LIMITS.maxAttempts;
  const deadlineMs =
    requested.deadlineAt === undefined
      ? (requested.deadlineMs ?? workflow.deadlineMs ?? DEFAULT_LIMITS.deadlineMs)
      : requested.deadlineAt - now;
  const deadlinePath = requested.deadlineAt === undefined ? '/limits/deadline_ms' : '/limits/deadline_at';
  const issues = [
    outside('/limits/timeout_ms', timeoutMs, caps.timeoutMs),
    outside('/limits/max_attempts', maxAttempts, caps.maxAttempts),
    outside(deadlinePath, deadlineMs, caps.deadlineMs),
  ].filter((issue) => issue !== null);
  if (requested.deadlineAt !== undefined && requested.deadlineMs !== undefined) {
    issues.push({ path: '/limits/deadline_at', message: 'give deadline_ms or deadline_at, not both' });
  }
  if (issues.length > 0) return { limits: null, issues };
  return { limits: { timeoutMs, maxAttempts, deadlineAt: now + deadlineMs, deadlineMs }, issues: [] };
}

function outside(path: string, value: number, cap: number): ValidationIssue | null {
  const instant = path === '/limits/deadline_at';
  if (value >= 1 && value <= cap && (instant || Number.isInteger(value))) return null;
  if (instant) {
    return { path, message: value < 1 ? 'lies in the past' : `lies more than ${cap} ms ahead` };
  }
  return { path, message: `must be a whole number from 1 to ${cap}, and is ${value}` };
}
