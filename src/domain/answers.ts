/** The five questions a record answers, each in a sentence for people. */
import { FAILURES } from './failures.ts';
import type { ErrorEntry, Job } from './record.ts';

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
  return `It waits for a worker that knows ${job.workflow} version ${job.workflowVersion}${from}.`;
}

function progress(job: Job): string {
  if (job.progress === null) return '';
  const note = job.progress.note === null ? '' : ` (${job.progress.note})`;
  return `, ${Math.round(job.progress.fraction * 100)} % done${note}`;
}

function tried(job: Job): string {
  if (job.attempt === 0) return 'Nothing yet.';
  const failed = job.errors.map(oneFailure);
  const succeeded = job.status === 'completed' ? [`attempt ${job.attempt} succeeded`] : [];
  const going = job.status === 'running' ? [`attempt ${job.attempt} is under way`] : [];
  const listed = [...failed, ...succeeded, ...going].join('; ');
  return `${capital(count(job.attempt, 'attempt'))}${listed === '' ? '' : `: ${listed}`}.`;
}

function oneFailure(error: ErrorEntry): string {
  const limit = error.limitMs === undefined ? '' : `, limit ${duration(error.limitMs)}`;
  return `attempt ${error.attempt} ended with ${error.code} after ${duration(error.elapsedMs)}${limit}`;
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
    return `${FAILURES[job.decision.code].question} (decision ${job.decision.decisionId})`;
  }
  return job.status === 'completed' ? 'None: the job is done.' : 'None: the queue goes on by itself.';
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function duration(ms: number): string {
  if (ms < 1000) return `${ms} ms`;
  return ms < 120_000 ? `${ms / 1000} s` : `${Math.round(ms / 6000) / 10} min`;
}

function iso(at: number): string {
  return new Date(at).toISOString();
}
