/**
 * What jobs that come in have in common: all but their ids and inputs, mostly. It is sent once for each run of jobs that are alike.
 */
import type { Accepted, NewJob } from '../../domain/accept.ts';
import { toLines } from '../shared/rows.ts';
import { names, numbers, texts } from './columns.ts';

/** A job that is taken, and how. */
export interface Checked {
  job: NewJob;
  accepted: Accepted;
}

/** What a job has in common with those behind it. */
export interface Terms extends Checked {
  labels: string | null;
}

/** One for each run of jobs that are alike, which mostly is one for all, and for each job the place of its own there, from 1. */
export function termsOf(taken: readonly Checked[]): { terms: Terms[]; places: number[] } {
  const terms: Terms[] = [];
  const places = taken.map(({ job, accepted: given }) => {
    const labels = Object.keys(job.labels).length === 0 ? null : JSON.stringify(job.labels);
    const own = { job, accepted: given, labels };
    const last = terms.at(-1);
    if (last === undefined || !areAlike(last, own)) terms.push(own);
    return terms.length;
  });
  return { terms, places };
}

function areAlike(a: Terms, b: Terms): boolean {
  return (
    a.job.tenant === b.job.tenant &&
    a.job.workflow === b.job.workflow &&
    a.job.workflowVersion === b.job.workflowVersion &&
    a.job.outputSchemaSha256 === b.job.outputSchemaSha256 &&
    a.labels === b.labels &&
    a.job.priority === b.job.priority &&
    a.job.inputRef === b.job.inputRef &&
    a.job.spendingLimit === b.job.spendingLimit &&
    a.accepted.runAt === b.accepted.runAt &&
    a.accepted.limits.timeoutMs === b.accepted.limits.timeoutMs &&
    a.accepted.limits.maxAttempts === b.accepted.limits.maxAttempts &&
    a.accepted.limits.deadlineAt === b.accepted.limits.deadlineAt &&
    a.accepted.limits.deadlineMs === b.accepted.limits.deadlineMs
  );
}

/** The terms of all jobs where they share them. */
export function termValues({ job, accepted: { limits, event } }: Terms) {
  return {
    priority: job.priority,
    timeout: limits.timeoutMs,
    max_attempts: limits.maxAttempts,
    deadline_at: limits.deadlineAt,
    deadline: limits.deadlineMs,
    input_ref: job.inputRef,
    event: toLines([event]),
    spending_limit: job.spendingLimit,
  };
}

export function termColumns(terms: readonly Terms[]) {
  const limits = terms.map(({ accepted: given }) => given.limits);
  return {
    priorities: numbers(terms.map(({ job }) => job.priority)),
    timeouts: numbers(limits.map((one) => one.timeoutMs)),
    max_attempts: numbers(limits.map((one) => one.maxAttempts)),
    deadlines_at: numbers(limits.map((one) => one.deadlineAt)),
    deadlines: numbers(limits.map((one) => one.deadlineMs)),
    runs_at: numbers(terms.map(({ accepted: given }) => given.runAt)),
    input_refs: names(terms.map(({ job }) => job.inputRef ?? '')),
    events: texts(terms.map(({ accepted: given }) => toLines([given.event]))),
    labels: texts(terms.map(({ labels }) => labels)),
    spending_limits: numbers(terms.map(({ job }) => job.spendingLimit)),
  };
}
