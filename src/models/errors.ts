/** A judgement as the error that the function gets: one of ours, of fixed words. No retry of the SDK's answers to it. */
import type { Judgement } from '../domain/model-outcome.ts';
import {
  IncompleteOutputError,
  InvalidRequestError,
  MalformedOutputError,
  RefusedError,
  RetryableError,
  SpendingLimitError,
} from '../domain/thrown.ts';

const CLASSES = {
  malformed_output: MalformedOutputError,
  incomplete_output: IncompleteOutputError,
  refused: RefusedError,
  invalid_request: InvalidRequestError,
  spending_limit: SpendingLimitError,
} as const;

export function errorOf({ code, rule, retryAfterMs }: Judgement): Error {
  const message = `The call to the model ended as ${code} (${rule}).`;
  if (code === 'upstream_unavailable') {
    return new RetryableError(message, { rule, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) });
  }
  const Class = CLASSES[code as keyof typeof CLASSES] as (typeof CLASSES)[keyof typeof CLASSES] | undefined;
  return Class === undefined ? new Error(message) : new Class(message, { rule });
}
