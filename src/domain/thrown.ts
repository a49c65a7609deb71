/**
 * What a workflow may throw to say how its attempt failed, and what anything else that it throws means.
 * The classes carry a registered symbol, so one from another copy of the package is recognised too.
 */
import { isErrorCode, type ErrorCode } from './failures.ts';
import { callsBefore, judge } from './model-outcome.ts';
import type { Seen } from './model-outcome.ts';
import { isPassingFault } from './network-faults.ts';
import type { ValidationIssue } from './record.ts';
import { innerOf, isSdkError, seenOfSdkError } from './sdk-errors.ts';
import { namedOnly, sdkOutputOf } from './sdk-output.ts';
import { bounded, items, read, show, withCauses } from './untrusted.ts';

const BRAND = Symbol.for('claimcheck.error');

export interface FailureOptions extends ErrorOptions {
  /** The line of a classification that says so; an identifier, kept with the error's entry in the record. */
  rule?: string;
}

abstract class WorkflowFailure extends Error {
  abstract readonly code: ErrorCode;
  readonly [BRAND] = true;
  readonly rule: string | undefined;

  constructor(message: string, options: FailureOptions = {}) {
    super(message, options);
    this.name = new.target.name;
    this.rule = options.rule;
  }
}

/** Worth another attempt: a provider or a network was unavailable. */
export class RetryableError extends WorkflowFailure {
  readonly code = 'upstream_unavailable';
  /** The next attempt starts no earlier than this; from the provider's Retry-After. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, options: FailureOptions & { retryAfterMs?: number } = {}) {
    super(message, options);
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** The model's output is not what was asked for. `raw` is kept as evidence. */
export class MalformedOutputError extends WorkflowFailure {
  readonly code = 'malformed_output';
  readonly raw: unknown;
  readonly issues: ValidationIssue[];

  constructor(message: string, options: FailureOptions & { raw?: unknown; issues?: ValidationIssue[] } = {}) {
    super(message, options);
    this.raw = options.raw;
    this.issues = options.issues ?? [];
  }
}

/** The provider stopped before the output was complete (its length limit). `raw` is kept as evidence. */
export class IncompleteOutputError extends WorkflowFailure {
  readonly code = 'incomplete_output';
  readonly raw: unknown;

  constructor(message: string, options: FailureOptions & { raw?: unknown } = {}) {
    super(message, options);
    this.raw = options.raw;
  }
}

/** The provider refused or filtered the request. */
export class RefusedError extends WorkflowFailure {
  readonly code = 'refused';
}

/** The provider says that the request can never succeed (400, 401, 403, 404, context too long). */
export class InvalidRequestError extends WorkflowFailure {
  readonly code = 'invalid_request';
}

/** The next call would pass a spending limit, or the provider says that the account is out. */
export class SpendingLimitError extends WorkflowFailure {
  readonly code = 'spending_limit';
}

/**
 * The workflow cannot use its input. Its message is shown to whoever may read the job's status: write a
 * sentence that helps, and nothing out of the input itself.
 */
export class InvalidInputError extends WorkflowFailure {
  readonly code = 'invalid_input';
}

/** The output passes its size limit. */
export class OutputTooLargeError extends WorkflowFailure {
  readonly code = 'output_too_large';
}

/** What is known of a thrown thing. `text` is for the evidence only, and empty where there is nothing to add. */
export interface Thrown {
  code: ErrorCode;
  text: string;
  message?: string;
  retryAfterMs?: number;
  issues?: ValidationIssue[];
  raw?: unknown;
  rule?: string;
}

const TEXT_LIMIT = 20_000;
const MESSAGE_LIMIT = 500;
const CAUSES_LIMIT = 5;

/** Rules are shown to all who may read the record, so they are names and nothing else. */
const RULE = /^[a-z0-9][a-z0-9_/.-]{0,99}$/;

/**
 * Total: whatever was thrown (a proxy, a getter that throws, undefined) becomes a bounded failure. An error of ours, or of the AI
 * SDK, counts also where the function wrapped it in one of its own.
 */
export function classify(thrown: unknown): Thrown {
  const text = describe(thrown);
  for (const cause of withCauses(thrown, CAUSES_LIMIT)) {
    if (isOurs(cause)) return branded(cause, text);
    if (isSdkError(cause)) return ofSdk(cause, text);
  }
  return { code: isTransient(thrown, new Set()) ? 'upstream_unavailable' : 'workflow_error', text };
}

function isOurs(thrown: unknown): boolean {
  return read(thrown, BRAND) === true;
}

/** A model that the function did not take from its context is judged by the same table. */
function ofSdk(thrown: unknown, text: string): Thrown {
  const inner = innerOf(thrown);
  if (isOurs(inner)) return branded(inner, text);
  const seen: Seen = seenOfSdkError(thrown, null) ?? { type: 'other' };
  const judgement = judge(seen, callsBefore([]));
  if (judgement === null) return { code: 'workflow_error', text };
  // Of a call that failed there is no output, only what a provider said.
  const isOfOutput = seen.type === 'malformed' || seen.type === 'finish';
  return { ...judgement, text, ...(isOfOutput ? outputOf(thrown) : {}) };
}

function outputOf(thrown: unknown): Pick<Thrown, 'raw' | 'issues'> {
  const { raw, issues } = sdkOutputOf(thrown);
  return {
    ...(raw === undefined ? {} : { raw }),
    ...(issues === undefined ? {} : { issues: boundedIssues(issues) }),
  };
}

/** What another process says was thrown, read as if it could say anything. */
export function readThrown(said: unknown): Thrown {
  const text = read(said, 'text');
  return branded(said, typeof text === 'string' ? bounded(text, TEXT_LIMIT) : '');
}

/** What only the queue itself can know; a function that claims it has failed with an error of its own. */
const NOT_FOR_FUNCTIONS: readonly ErrorCode[] = ['timeout', 'worker_lost', 'deadline_exceeded', 'cancelled'];

function branded(thrown: unknown, text: string): Thrown {
  const code = read(thrown, 'code');
  if (typeof code !== 'string' || !isErrorCode(code) || NOT_FOR_FUNCTIONS.includes(code)) {
    return { code: 'workflow_error', text };
  }
  const found: Thrown = { code, text };
  const retryAfterMs = read(thrown, 'retryAfterMs');
  if (typeof retryAfterMs === 'number' && retryAfterMs > 0) found.retryAfterMs = retryAfterMs;
  if (code === 'invalid_input') found.message = bounded(show(read(thrown, 'message')), MESSAGE_LIMIT);
  const issues = boundedIssues(read(thrown, 'issues'));
  if (issues.length > 0) found.issues = issues;
  const raw = read(thrown, 'raw');
  if (raw !== undefined) found.raw = raw;
  const rule = read(thrown, 'rule');
  if (typeof rule === 'string' && RULE.test(rule)) found.rule = rule;
  return found;
}

/** Looks through causes and aggregates, each once and a hundred at most: they may be circular, or made up as they are read. */
function isTransient(thrown: unknown, seen: Set<object>): boolean {
  if (thrown === null || typeof thrown !== 'object' || seen.has(thrown) || seen.size >= 100) return false;
  seen.add(thrown);
  const code = read(thrown, 'code');
  if (typeof code === 'string' && isPassingFault(code)) return true;
  if (read(thrown, 'name') === 'TimeoutError') return true; // what AbortSignal.timeout() rejects a fetch with
  if (items(read(thrown, 'errors'), 10).some((error) => isTransient(error, seen))) return true;
  return isTransient(read(thrown, 'cause'), seen);
}

/** With its causes: `fetch failed` alone explains nothing. From an error of the SDK on, none says more than its name. */
function describe(thrown: unknown): string {
  const chain = withCauses(thrown, CAUSES_LIMIT);
  const first = chain.findIndex(isSdkError);
  const texts = chain.map((one, index) => (first !== -1 && index >= first ? namedOnly(one) : told(one)));
  return bounded(texts.join('\ncaused by: '), TEXT_LIMIT);
}

function told(thrown: unknown): string {
  const stack = read(thrown, 'stack');
  return bounded(typeof stack === 'string' && stack !== '' ? stack : show(thrown), TEXT_LIMIT);
}

const ISSUES_LIMIT = 50;

/** At most fifty issues of bounded text, whatever the validator said. */
export function boundedIssues(issues: unknown): ValidationIssue[] {
  return items(issues, ISSUES_LIMIT).map((issue) => ({
    path: bounded(show(read(issue, 'path') ?? ''), MESSAGE_LIMIT),
    message: bounded(show(read(issue, 'message') ?? ''), MESSAGE_LIMIT),
  }));
}
