/**
 * One job in memory, moved by the domain alone: what a store does with a move, without a store. Tests of the domain
 * and of the checker make their histories with it. Chance and time are arguments, so a history is always the same.
 */
import { accept } from '../domain/accept.ts';
import { decide } from '../domain/decide.ts';
import type { Command, Known, Move, Refusal, Rules } from '../domain/decide.ts';
import { DEFAULT_BACKOFF, DEFAULT_CAPS } from '../domain/policy.ts';
import type { RequestedLimits } from '../domain/policy.ts';
import type { Job, ValidationIssue } from '../domain/record.ts';

export const RULES: Rules = { backoff: DEFAULT_BACKOFF, caps: DEFAULT_CAPS };

const NO_SHA256 = '0'.repeat(64);

export interface Machine {
  job: Job;
  /** When it may be claimed; null unless queued. */
  due: number | null;
  /** The last token that was given out. */
  token: number;
}

export interface Asked {
  jobId?: string;
  limits?: RequestedLimits;
  runAt?: number | null;
}

/** A job as it is accepted, or the issues that its limits have. */
export function accepted(asked: Asked, now: number): Machine | ValidationIssue[] {
  const request = { requestedLimits: asked.limits ?? {}, workflowLimits: {}, runAt: asked.runAt ?? null };
  const { accepted: found, issues } = accept(request, RULES.caps, now);
  if (found === null) return issues;
  const job: Job = {
    jobId: asked.jobId ?? 'job_1',
    tenant: 'default',
    workflow: 'demo',
    workflowVersion: '1',
    outputSchemaSha256: NO_SHA256,
    status: 'queued',
    attempt: 0,
    used: 0,
    replays: 0,
    priority: 0,
    labels: {},
    input: { mode: 'success' },
    inputRef: null,
    inputSha256: NO_SHA256,
    limits: found.limits,
    runAt: found.runAt,
    lease: null,
    progress: null,
    calls: [],
    spending: { limit: null, spent: 0, reserved: 0 },
    errors: [],
    events: [found.event],
    artifact: null,
    artifacts: [],
    decision: null,
    createdAt: now,
    updatedAt: now,
    startedAt: null,
    finishedAt: null,
  };
  return { job, due: found.runAt, token: 0 };
}

function known(job: Job): Known {
  const { jobId, status, attempt, used, replays, limits, decision, lease } = job;
  const running = lease === null ? null : { since: lease.since, worker: lease.worker };
  return { jobId, status, attempt, used, replays, limits, decision, running };
}

/** Moves the job where the domain has a move; a claim before its time is `not_due`, as a store has it. */
export function command(machine: Machine, order: Command, now: number): Move | Refusal {
  if (order.type === 'claim' && machine.due !== null && now < machine.due) return { refused: 'not_due' };
  const { move, refusal } = decide(known(machine.job), order, now, RULES);
  if (move === undefined) return refusal;
  apply(machine, move, now);
  return move;
}

function apply(machine: Machine, move: Move, now: number): void {
  const { job } = machine;
  const ended = move.to === 'completed' || move.to === 'dead_letter';
  machine.due = move.due;
  machine.job = {
    ...job,
    status: move.to,
    attempt: move.attempt,
    used: move.used,
    replays: move.replays,
    limits: move.limits,
    outputSchemaSha256: move.outputSchemaSha256 ?? job.outputSchemaSha256,
    spending:
      move.spendingLimit === undefined ? job.spending : { ...job.spending, limit: move.spendingLimit },
    lease: move.to === 'running' ? leaseOf(machine, move, now) : null,
    errors: [...job.errors, ...move.errors],
    events: [...job.events, ...move.events],
    artifact: move.artifact,
    artifacts: [...move.artifacts],
    decision: move.decision,
    updatedAt: now,
    startedAt: job.startedAt ?? (move.to === 'running' ? now : null),
    finishedAt: ended ? now : null,
  };
}

function leaseOf(machine: Machine, move: Move, now: number) {
  machine.token += 1;
  const worker = move.events.find((event) => event.type === 'running')?.worker ?? 'unknown';
  const until = Math.min(now + move.limits.timeoutMs, move.limits.deadlineAt);
  return {
    worker,
    session: `session_${worker}`,
    token: machine.token,
    attempt: move.attempt,
    since: now,
    until,
  };
}
