/** The five questions a record answers, each in a sentence for people. */
import { DISOWNED } from './decide.ts';
import { FAILURES } from './failures.ts';
import { iso } from './instant.ts';
import { spentSoFar, toSettle, whatStoppedIt } from './spending-answers.ts';
import type { ErrorEntry, Job, JobEvent } from './record.ts';

export interface Answers {
  requested: string;
  now: string;
  tried: string;
  artifact: string;
  decision: string;
}

export function answersOf(job: Job): Answers {
  return {
    requested: requested(job),
    now: happeningNow(job),
    tried: tried(job),
    artifact: artifact(job),
    decision: decision(job),
  };
}

function requested(job: Job): string {
  const on = job.inputRef === null ? 'on the input it was given' : `on ${job.inputRef}`;
  const { maxAttempts, timeoutMs, deadlineAt } = job.limits;
  return (
    `Run ${job.workflow} (version ${job.workflowVersion}) ${on}: at most ${count(maxAttempts, 'attempt')} of ` +
    `${duration(timeoutMs)} each, until ${iso(deadlineAt)}.`
  );
}

function happeningNow(job: Job): string {
  switch (job.status) {
    case 'queued':
      return waiting(job);
    case 'running':
      return `Attempt ${job.attempt} has been running on ${job.lease?.worker} since ${iso(job.lease?.since ?? job.updatedAt)}${progress(job)}.`;
    case 'completed':
      return `Nothing: it was completed at ${iso(job.updatedAt)}.`;
    case 'dead_letter':
      return `Nothing: it stopped at ${iso(job.updatedAt)} and will not run again by itself.`;
  }
}

function waiting(job: Job): string {
  const last = job.events.findLast((event) => event.to === 'queued');
  const from = last?.due === undefined ? '' : `, from ${iso(last.due)} on`;
  const why = last !== undefined && isHold(last) ? `, since ${last.reason}` : '';
  return `It waits for a worker that knows ${job.workflow} version ${job.workflowVersion}${from}${why}.`;
}

function progress(job: Job): string {
  if (job.progress === null) return '';
  const note = job.progress.note === null ? '' : ` (${job.progress.note})`;
  return `, ${Math.round(job.progress.fraction * 100)} % done${note}`;
}

function tried(job: Job): string {
  if (job.attempt === 0) return 'Nothing yet.';
  const over = [...job.errors.map(oneFailure), ...job.events.filter(isUnspent).map(oneUnspent)];
  const ends = over.toSorted((a, b) => a.attempt - b.attempt).map(({ said }) => said);
  const succeeded = job.status === 'completed' ? [`attempt ${job.attempt} succeeded`] : [];
  const going = job.status === 'running' ? [`attempt ${job.attempt} is under way`] : [];
  const listed = [...ends, ...succeeded, ...going].join('; ');
  return `${capital(count(job.attempt, 'attempt'))}${listed === '' ? '' : `: ${listed}`}.${spentSoFar(job)}`;
}

interface AttemptEnd {
  attempt: number;
  said: string;
}

function oneFailure({ attempt, code, elapsedMs, limitMs }: ErrorEntry): AttemptEnd {
  return { attempt, said: `attempt ${attempt} ended with ${code} ${lasted(elapsedMs, limitMs)}` };
}

/** It spent no attempt: a retry has a code, and a replay comes from a dead letter. */
function isUnspent({ type, from, code }: JobEvent): boolean {
  return type === 'queued' && from === 'running' && code === undefined;
}

/** Of those that spent no attempt, only a hold has a time. */
function isHold(event: JobEvent): event is JobEvent & { due: number } {
  return isUnspent(event) && event.due !== undefined;
}

function oneUnspent(event: JobEvent): AttemptEnd {
  const { attempt, reason } = event;
  if (isHold(event)) return { attempt, said: `attempt ${attempt} was held: ${reason}` };
  const how = reason === DISOWNED ? DISOWNED : 'released when its worker shut down';
  return { attempt, said: `attempt ${attempt} was ${how}` };
}

function artifact(job: Job): string {
  if (job.artifact === null) return 'None yet.';
  const { uri, bytes, mediaType, sha256 } = job.artifact;
  const more =
    job.artifacts.length === 0 ? '' : `, and ${job.artifacts.map((named) => named.name).join(', ')}`;
  return `${uri} (${mediaType}, ${count(bytes, 'byte')}, SHA-256 ${sha256})${more}.`;
}

function decision(job: Job): string {
  if (job.decision?.open === true) {
    const { code, decisionId } = job.decision;
    const why = code === 'spending_limit' ? whatStoppedIt(job) : '';
    return `${why}${FAILURES[code].question} (decision ${decisionId})${toSettle(job)}`;
  }
  const none = job.status === 'completed' ? 'the job is done' : 'the queue goes on by itself';
  return `None: ${none}.${toSettle(job)}`;
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Beyond its limit by so much, an attempt did not end at its signal: it was given its grace. */
const GRACE_SEEN_MS = 1000;

/** How long an attempt took, beside its limit where that ended it. */
export function lasted(elapsedMs: number, limitMs: number | undefined): string {
  if (limitMs === undefined) return `after ${duration(elapsedMs)}`;
  const grace = elapsedMs - limitMs >= GRACE_SEEN_MS ? ', then a grace' : '';
  return `after ${duration(elapsedMs)}, limit ${duration(limitMs)}${grace}`;
}

function duration(ms: number): string {
  if (ms < 1000) return `${ms} ms`;
  return ms < 120_000 ? `${ms / 1000} s` : `${Math.round(ms / 6000) / 10} min`;
}
