/** Every way an attempt or a job can fail: what happens by itself, what is said, what is asked. */

export type ErrorCode =
  | 'upstream_unavailable'
  | 'timeout'
  | 'worker_lost'
  | 'malformed_output'
  | 'incomplete_output'
  | 'refused'
  | 'invalid_request'
  | 'spending_limit'
  | 'effect_in_doubt'
  | 'deadline_exceeded'
  | 'cancelled'
  | 'invalid_input'
  | 'output_too_large'
  | 'workflow_error';

export interface FailureRule {
  /** `backoff`: requeue after a delay; `at_once`: requeue without one; both within the attempt budget. */
  retry: 'never' | 'backoff' | 'at_once';
  /** The fixed sentence shown wherever the failure is shown. */
  message: string;
  /** What a person is asked when the job is dead. */
  question: string;
}

export const FAILURES: Readonly<Record<ErrorCode, FailureRule>> = {
  upstream_unavailable: {
    retry: 'backoff',
    message: 'A service that the workflow calls was unavailable.',
    question: 'Is the service back? Replay the job, or give it up.',
  },
  timeout: {
    retry: 'backoff',
    message: 'The attempt ran longer than its time limit.',
    question: 'Replay it with a longer timeout_ms, or give it up?',
  },
  worker_lost: {
    retry: 'at_once',
    message: 'The worker disappeared while it ran the attempt.',
    question: 'Every attempt took its process with it. Is the cause mended? Replay it, or give it up.',
  },
  malformed_output: {
    retry: 'never',
    message: "The output does not match the workflow's schema.",
    question: 'Read the raw output in the evidence: replay it, or give it up?',
  },
  incomplete_output: {
    retry: 'never',
    message: 'The model stopped before its output was complete.',
    question: 'Replay it with room for a longer output, or give it up?',
  },
  refused: {
    retry: 'never',
    message: 'The model refused the request.',
    question: 'Change what is asked and replay it, or give it up?',
  },
  invalid_request: {
    retry: 'never',
    message: 'The provider rejected the request as invalid.',
    question: 'Mend the key, the model name or the prompt and replay it, or give it up?',
  },
  spending_limit: {
    retry: 'never',
    message:
      'A call to a model could not be paid for: by a limit here, for want of a price, or by the account at the provider.',
    question: 'Raise the limit, or mend what else stopped it, and replay it; or give it up?',
  },
  effect_in_doubt: {
    retry: 'never',
    message: 'It is not known whether a side effect happened.',
    question: 'Did it happen? Find out before it is replayed.',
  },
  deadline_exceeded: {
    retry: 'never',
    message: 'The deadline passed before the job was done.',
    question: 'Is the answer still useful? Replay it with a new deadline, or give it up.',
  },
  cancelled: {
    retry: 'never',
    message: 'A person cancelled the job.',
    question: 'It was cancelled on purpose. Replay it only if that was a mistake.',
  },
  invalid_input: {
    retry: 'never',
    message: 'The workflow could not use its input.',
    question: 'Send a usable input as a new job, or give it up?',
  },
  output_too_large: {
    retry: 'never',
    message: 'The output is larger than its limit.',
    question: 'Make the output smaller or raise the limit and replay it, or give it up?',
  },
  workflow_error: {
    retry: 'never',
    message: 'The workflow failed with an error of its own.',
    question: 'Mend the workflow and replay it, or give it up?',
  },
};

export const ERROR_CODES = Object.keys(FAILURES) as ErrorCode[];

export function isErrorCode(value: string): value is ErrorCode {
  return Object.hasOwn(FAILURES, value);
}
