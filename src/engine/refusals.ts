/** Refusals as values. */
import type { Refusal } from '../domain/decide.ts';
import type { ValidationIssue } from '../domain/record.ts';
import { bounded } from '../domain/untrusted.ts';
import type { Refused, RefusalCode, Result } from './api.ts';

export function ok<T>(value: T): Result<T> {
  return { ok: true, value };
}

export function refused(code: RefusalCode, detail: string, errors: ValidationIssue[] = []): Refused {
  return { ok: false, code, detail, errors };
}

export function invalid(errors: ValidationIssue[]): Refused {
  const [first] = errors;
  const where = first === undefined || first.path === '' ? '' : `${first.path}: `;
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : '';
  return refused('invalid_request', `${where}${first?.message ?? 'the request is invalid'}${more}`, errors);
}

export function noSuchJob(jobId: string): Refused {
  return refused('not_found', `There is no job ${jobId.slice(0, 80)}.`);
}

const REASON_LIMIT = 2000;

/** What is wrong with what a person says about why. */
export function reasonIssues(reason: string): ValidationIssue[] {
  if (reason.trim() !== '' && reason.length <= REASON_LIMIT) return [];
  return [{ path: '/reason', message: `say why, in 1 to ${REASON_LIMIT} characters` }];
}

/** A reason as it is kept. */
export function reasonText(reason: string): string {
  return bounded(reason, REASON_LIMIT);
}

/** A person's command that the machine refused. */
export function fromMachine(refusal: Refusal): Refused {
  switch (refusal.refused) {
    case 'invalid':
      return invalid(refusal.issues);
    case 'already_ended':
      return refused('already_ended', 'The job has ended already; there is nothing to cancel.');
    case 'not_dead_letter':
      return refused('not_dead_letter', 'The job is not a dead letter, so there is nothing to replay.');
    case 'decision_taken':
      return refused(
        'decision_taken',
        'This decision is not open: somebody has taken it, or it is not this job’s.',
      );
    case 'lease_lost':
    case 'not_queued':
    case 'not_due':
      throw new Error(`a person's command was refused as ${refusal.refused}`);
  }
}
