/**
 * The machine. What is known of a job, a command and the time go in; the move comes out, or the reason why there
 * is none. It has no clock, no randomness and no store: whoever applies a move does so only where nobody has moved
 * the job since it was read.
 *
 * A move is what changes, never the whole record: the next state, the events that mark it (a state change and
 * its event are one write), the error or the artifact that goes with it, the budget, and the decision that it
 * opens or takes.
 */
import { usdOf } from './dollars.ts';
import { FAILURES, type ErrorCode } from './failures.ts';
import type { JsonValue } from './json.ts';
import type { NanoUsd } from './money.ts';
import { resolveLimits, retryDelayMs } from './policy.ts';
import type { Backoff, LimitPolicy, RequestedLimits } from './policy.ts';
import type {
  ArtifactRef,
  Decision,
  ErrorEntry,
  EventType,
  Evidence,
  JobEvent,
  Limits,
  NamedArtifact,
  Status,
  ValidationIssue,
} from './record.ts';

/** As much of a job as a decision needs. */
export interface Known {
  jobId: string;
  status: Status;
  attempt: number;
  used: number;
  replays: number;
  limits: Limits;
  decision: Decision | null;
  /** Since when it runs and under whom; null unless running. */
  running: { since: number; worker: string } | null;
}

/** How an attempt failed, as its worker saw it. */
export interface Failure {
  code: ErrorCode;
  elapsedMs: number;
  /** Replaces the code's fixed sentence; only for sentences that were written to be shown: by a workflow's author, or by us. */
  message?: string;
  limitMs?: number;
  retryAfterMs?: number;
  issues?: ValidationIssue[];
  evidence?: Evidence[];
  /** The line of a classification that gave the code: `models-v1/rate_limited`. */
  rule?: string;
}

export type Command =
  | { type: 'claim'; worker: string }
  | { type: 'complete'; artifact: ArtifactRef; artifacts: NamedArtifact[] }
  | { type: 'fail'; failure: Failure; jitter: number }
  | { type: 'release' }
  /** The holder of the lease does not run it: the answer to its claim was lost. */
  | { type: 'disown' }
  /** Something that the attempt needs asked for a pause before the attempt had it: nothing failed, and nothing is spent. */
  | { type: 'hold'; delayMs: number; reason: string }
  | { type: 'lose' }
  | { type: 'overdue'; jitter: number }
  | { type: 'expire' }
  | { type: 'cancel'; actor: string; reason: string }
  | ReplayCommand;

export interface ReplayCommand {
  type: 'replay';
  actor: string;
  reason: string;
  /** The decision this replay takes; without it, whichever is open. */
  decisionId?: string | undefined;
  limits?: ReplayLimits | undefined;
  /** Every call to a model is answered by a stored response, and none is made. */
  fromEvidence?: true | undefined;
  /** Pins another output schema of the same workflow version. */
  outputSchemaSha256?: string | undefined;
}

/** What a replay changes of the limits; the others stay. */
interface ReplayLimits extends RequestedLimits {
  /** Null lifts it. */
  spendingLimit?: NanoUsd | null | undefined;
}

/**
 * Whether a job that waits may be what took its worker down: 0 where nothing speaks for it, 1 where it was lost with its
 * worker in its first attempt, 2 where that was so in a later one.
 */
export type Suspicion = 0 | 1 | 2;

export interface Move {
  from: Status;
  to: Status;
  events: readonly JobEvent[];
  attempt: number;
  used: number;
  replays: number;
  /** When it may be claimed; set exactly when `to` is queued. */
  due: number | null;
  errors: readonly ErrorEntry[];
  artifact: ArtifactRef | null;
  artifacts: readonly NamedArtifact[];
  /** The decision as it stands after the move. */
  decision: Decision | null;
  limits: Limits;
  /** Null where it stays as it was. */
  suspicion: Suspicion | null;
  outputSchemaSha256?: string;
  /** Unset where it stays as it was; null: no limit any more. */
  spendingLimit?: NanoUsd | null;
}

export type Refusal =
  | {
      refused:
        | 'lease_lost'
        | 'not_queued'
        | 'not_due'
        | 'already_ended'
        | 'not_dead_letter'
        | 'decision_taken';
    }
  | { refused: 'invalid'; issues: ValidationIssue[] };

export type Decided = { move: Move; refusal?: never } | { move?: never; refusal: Refusal };

export interface Rules {
  backoff: Backoff;
  caps: LimitPolicy;
}

export const DISOWNED = 'given back by a worker that did not run it';

export function decide(known: Known, command: Command, now: number, rules: Rules): Decided {
  if (command.type === 'claim') return claim(known, command.worker, now);
  if (command.type === 'expire') return expire(known, now);
  if (command.type === 'cancel') return cancel(known, command.actor, command.reason, now);
  if (command.type === 'replay') return replay(known, command, now, rules.caps);
  return known.status === 'running'
    ? { move: end(known, command, now, rules.backoff) }
    : refuse('lease_lost');
}

// --- waiting ---------------------------------------------------------------------------------------

function claim(known: Known, worker: string, now: number): Decided {
  if (known.status !== 'queued') return refuse('not_queued');
  if (now >= known.limits.deadlineAt) return expire(known, now);
  const move = unchanged(known);
  move.to = 'running';
  move.attempt += 1;
  move.used += 1;
  move.events = [{ type: 'running', from: 'queued', to: 'running', at: now, attempt: move.attempt, worker }];
  return { move };
}

function expire(known: Known, now: number): Decided {
  if (known.status !== 'queued') return refuse('not_queued');
  if (now < known.limits.deadlineAt) return refuse('not_due');
  return { move: die(known, { code: 'deadline_exceeded', elapsedMs: 0 }, now) };
}

// --- running ---------------------------------------------------------------------------------------

type EndCommand = Exclude<Command, { type: 'claim' | 'expire' | 'cancel' | 'replay' }>;

function end(known: Known, command: EndCommand, now: number, backoff: Backoff): Move {
  switch (command.type) {
    case 'complete':
      return complete(known, command.artifact, command.artifacts, now);
    case 'fail':
      return fail(known, command.failure, command.jitter, now, backoff);
    case 'release':
      return release(known, 'released by a worker that shut down', now);
    case 'disown':
      return release(known, DISOWNED, now);
    case 'hold':
      return hold(known, command.delayMs, command.reason, now);
    case 'lose':
      return lose(known, now);
    case 'overdue':
      return fail(known, overdueFailure(known, now), command.jitter, now, backoff);
  }
}

function complete(known: Known, artifact: ArtifactRef, artifacts: NamedArtifact[], now: number): Move {
  const move = unchanged(known);
  move.to = 'completed';
  move.artifact = artifact;
  move.artifacts = artifacts;
  move.events = [stamped(known, now, 'completed', 'completed')];
  return move;
}

function fail(known: Known, failure: Failure, jitter: number, now: number, backoff: Backoff): Move {
  const { retry } = FAILURES[failure.code];
  if (retry === 'never' || known.used >= known.limits.maxAttempts) return die(known, failure, now);
  const delayMs = retryDelayMs(known.used, jitter, failure.retryAfterMs ?? 0, backoff);
  return requeue(known, failure, now, retry === 'at_once' ? now : now + delayMs);
}

function lose(known: Known, now: number): Move {
  const failure: Failure = { code: 'worker_lost', elapsedMs: elapsed(known, now) };
  if (known.used >= known.limits.maxAttempts) return die(known, failure, now);
  return requeue(known, failure, now, now);
}

/** A retry that would start after the deadline is no retry: the job dies now, not after the wait. */
function requeue(known: Known, failure: Failure, now: number, due: number): Move {
  if (due >= known.limits.deadlineAt) return die(known, failure, now, 'deadline_exceeded');
  const lost = failure.code === 'worker_lost';
  const type = lost ? 'requeued_after_restart' : 'queued';
  return {
    ...unchanged(known),
    to: 'queued',
    due,
    suspicion: lost ? suspicionOf(known) : 0,
    errors: [errorEntry(known, failure, now)],
    events: [stamped(known, now, type, 'queued', { code: failure.code, ...(due > now ? { due } : {}) })],
  };
}

/** Attempts that failed before this one was lost count like lost ones: the less is left, the more caution is due. */
function suspicionOf({ used }: Known): Suspicion {
  return used > 1 ? 2 : 1;
}

function release(known: Known, reason: string, now: number): Move {
  return {
    ...unchanged(known),
    to: 'queued',
    used: known.used - 1,
    due: now,
    events: [stamped(known, now, 'queued', 'queued', { reason })],
  };
}

/** As a release, until a time. A hold of no length would be claimed, and held, as fast as a worker can. */
function hold(known: Known, delayMs: number, reason: string, now: number): Move {
  const due = now + Math.max(1, Math.ceil(delayMs));
  const failure: Failure = { code: 'upstream_unavailable', elapsedMs: elapsed(known, now) };
  if (due >= known.limits.deadlineAt) return die(known, failure, now, 'deadline_exceeded');
  return {
    ...unchanged(known),
    to: 'queued',
    used: known.used - 1,
    due,
    events: [stamped(known, now, 'queued', 'queued', { due, reason })],
  };
}

function overdueFailure(known: Known, now: number): Failure {
  const late = now >= known.limits.deadlineAt;
  return {
    code: late ? 'deadline_exceeded' : 'timeout',
    elapsedMs: elapsed(known, now),
    ...(late ? {} : { limitMs: known.limits.timeoutMs }),
  };
}

// --- persons ---------------------------------------------------------------------------------------

function cancel(known: Known, actor: string, reason: string, now: number): Decided {
  if (known.status === 'completed' || known.status === 'dead_letter') return refuse('already_ended');
  const dead = die(known, { code: 'cancelled', elapsedMs: elapsed(known, now) }, now);
  const asked = stamped(known, now, 'cancel_requested', known.status, { actor, reason });
  const events = [asked, ...dead.events.map((event) => ({ ...event, actor, reason }))];
  return { move: { ...dead, events } };
}

function replay(known: Known, command: ReplayCommand, now: number, caps: LimitPolicy): Decided {
  const open = known.decision?.open === true ? known.decision : null;
  if (command.decisionId !== undefined && command.decisionId !== open?.decisionId)
    return refuse('decision_taken');
  if (known.status !== 'dead_letter' || open === null) return refuse('not_dead_letter');
  const renewed = renewedLimits(known.limits, command.limits ?? {}, caps, now);
  if (renewed.limits === null) return { refusal: { refused: 'invalid', issues: renewed.issues } };
  const { actor, reason } = command;
  const spendingLimit = command.limits?.spendingLimit;
  const events = [stamped(known, now, 'queued', 'queued', { actor, reason, ...replayDetail(command) })];
  if (renewed.limits.deadlineAt !== known.limits.deadlineAt) {
    const detail = { deadline_at: new Date(renewed.limits.deadlineAt).toISOString() };
    events.push({
      ...stamped(known, now, 'deadline_extended', 'queued', { actor, detail }),
      from: 'queued',
    });
  }
  return {
    move: {
      ...unchanged(known),
      to: 'queued',
      due: now,
      suspicion: 0,
      used: 0,
      replays: known.replays + 1,
      limits: renewed.limits,
      decision: { ...open, open: false, choice: 'replay', actor, reason, takenAt: now },
      events,
      ...(command.outputSchemaSha256 === undefined ? {} : { outputSchemaSha256: command.outputSchemaSha256 }),
      ...(spendingLimit === undefined ? {} : { spendingLimit }),
    },
  };
}

/** What the next life has besides other limits of time and attempts. */
function replayDetail({ limits, fromEvidence }: ReplayCommand): { detail?: JsonValue } {
  const spendingLimit = limits?.spendingLimit;
  const detail = {
    ...(spendingLimit === undefined ? {} : { spending_usd: spendingLimit && usdOf(spendingLimit) }),
    ...(fromEvidence === true ? { from_evidence: true } : {}),
  };
  return Object.keys(detail).length === 0 ? {} : { detail };
}

/** A replay keeps the limits it does not name; a deadline that has passed is counted anew from now. */
function renewedLimits(kept: Limits, requested: RequestedLimits, caps: LimitPolicy, now: number) {
  const named = requested.deadlineMs !== undefined || requested.deadlineAt !== undefined;
  const resolved = resolveLimits(requested, kept, uncapped(kept, requested, caps), now);
  if (resolved.limits === null || named || kept.deadlineAt <= now) return resolved;
  return { ...resolved, limits: { ...resolved.limits, deadlineAt: kept.deadlineAt } };
}

/** What a job already has stays allowed, also where the caps were lowered since. */
function uncapped(kept: Limits, requested: RequestedLimits, caps: LimitPolicy): LimitPolicy {
  return {
    timeoutMs: requested.timeoutMs === undefined ? Math.max(caps.timeoutMs, kept.timeoutMs) : caps.timeoutMs,
    maxAttempts:
      requested.maxAttempts === undefined ? Math.max(caps.maxAttempts, kept.maxAttempts) : caps.maxAttempts,
    deadlineMs: Math.max(caps.deadlineMs, kept.deadlineMs),
  };
}

// --- leaves ----------------------------------------------------------------------------------------

/** To dead letter, with its cause and the decision that it opens; `instead` names the code that the deadline forces. */
function die(known: Known, failure: Failure, now: number, instead?: ErrorCode): Move {
  const code = instead ?? failure.code;
  return {
    ...unchanged(known),
    to: 'dead_letter',
    errors: [errorEntry(known, failure, now, instead)],
    decision: { decisionId: decisionId(known), open: true, code },
    events: [stamped(known, now, 'dead_letter', 'dead_letter', { code })],
  };
}

/** One decision a death: its id follows from the job's and the number of lives before. */
function decisionId(known: Known): string {
  return `dec_${known.jobId.replace(/^job_/, '')}_${known.replays + 1}`;
}

function errorEntry(known: Known, failure: Failure, now: number, instead?: ErrorCode): ErrorEntry {
  const { code, message, retryAfterMs: _, ...seen } = failure;
  const shown = instead ?? code;
  const cause = seen.rule === undefined ? code : `${code} (${seen.rule})`;
  return {
    attempt: known.attempt,
    code: shown,
    message: instead === undefined && message !== undefined ? message : FAILURES[shown].message,
    at: now,
    ...seen,
    ...(instead === undefined
      ? {}
      : { rule: `no retry could start before the deadline; the attempt failed with ${cause}` }),
  };
}

const NONE: readonly never[] = [];

function unchanged(known: Known): Move {
  return {
    from: known.status,
    to: known.status,
    attempt: known.attempt,
    used: known.used,
    replays: known.replays,
    limits: known.limits,
    decision: known.decision,
    due: null,
    suspicion: null,
    errors: NONE,
    artifact: null,
    artifacts: NONE,
    events: NONE,
  };
}

type EventDetails = Omit<JobEvent, 'type' | 'from' | 'to' | 'at' | 'attempt' | 'worker'>;

function stamped(known: Known, at: number, type: EventType, to: Status, details?: EventDetails): JobEvent {
  const { status: from, attempt, running } = known;
  const event: JobEvent =
    running === null
      ? { type, from, to, at, attempt }
      : { type, from, to, at, attempt, worker: running.worker };
  return details === undefined ? event : { ...event, ...details };
}

function elapsed(known: Known, now: number): number {
  return known.running === null ? 0 : Math.max(0, now - known.running.since);
}

function refuse(refused: Exclude<Refusal['refused'], 'invalid'>): Decided {
  return { refusal: { refused } };
}
