/**
 * Errors as plain data, so that what is thrown on one side of a channel is caught on the other as what it was: of the
 * same class where it is one of ours, with its message, its system code and its causes.
 */
import { inspect } from 'node:util';
import { jsonIssue } from '../domain/json.ts';
import {
  IncompleteOutputError,
  InvalidInputError,
  InvalidRequestError,
  MalformedOutputError,
  OutputTooLargeError,
  RefusedError,
  RetryableError,
  SpendingLimitError,
  classify,
} from '../domain/thrown.ts';
import type { Thrown } from '../domain/thrown.ts';
import { BlobTooLargeError } from '../ports/blob-store.ts';

export interface ErrorData {
  name: string;
  message: string;
  stack: string;
  /** The system's: `ECONNRESET`. */
  code: string | null;
  /** What it says of its attempt, where it is one of ours. */
  failure: Omit<Thrown, 'text'> | null;
  cause: ErrorData | null;
}

const OURS = Symbol.for('claimcheck.error');
const MAX_CAUSES = 5;
const MAX_TEXT = 20_000;

/** Total: whatever was thrown becomes data. */
export function errorData(thrown: unknown, depth = 0): ErrorData {
  try {
    return thrown instanceof Error ? dataOf(thrown, depth) : textData(String(thrown));
  } catch {
    return textData('an error that cannot be shown');
  }
}

function textData(text: string): ErrorData {
  const message = cut(text);
  return { name: 'Error', message, stack: message, code: null, failure: null, cause: null };
}

function dataOf(error: Error, depth: number): ErrorData {
  const { code, cause } = error as { code?: unknown; cause?: unknown };
  return {
    name: cut(error.name),
    message: cut(error.message),
    stack: cut(error.stack),
    code: typeof code === 'string' ? cut(code) : null,
    failure: OURS in error ? failureOf(error) : null,
    cause: cause === undefined || depth >= MAX_CAUSES ? null : errorData(cause, depth + 1),
  };
}

function failureOf(error: Error): ErrorData['failure'] {
  const { text: _, ...failure } = classify(error);
  return failure.raw === undefined ? failure : { ...failure, raw: plain(failure.raw) };
}

function cut(text: unknown): string {
  return String(text).slice(0, MAX_TEXT);
}

/** Text and JSON as they are; anything else as Node shows it, since only plain data crosses. */
export function plain(value: unknown): unknown {
  if (typeof value === 'string' || jsonIssue(value) === null) return value;
  return inspect(value, { depth: 10, maxArrayLength: 1000, maxStringLength: 100_000 });
}

/** Whether it is as `errorData` makes it, whoever says so. */
export function isErrorData(value: unknown, depth = 0): value is ErrorData {
  if (typeof value !== 'object' || value === null || depth > MAX_CAUSES) return false;
  const { name, message, stack, code, failure, cause } = value as Record<keyof ErrorData, unknown>;
  return (
    [name, message, stack].every((text) => typeof text === 'string') &&
    (code === null || typeof code === 'string') &&
    typeof failure === 'object' &&
    (cause === null || isErrorData(cause, depth + 1))
  );
}

/** A map, since an error may be called `toString`. */
const CLASSES = new Map<string, new (message: string, options: ErrorOptions) => Error>([
  ['upstream_unavailable', RetryableError],
  ['malformed_output', MalformedOutputError],
  ['incomplete_output', IncompleteOutputError],
  ['refused', RefusedError],
  ['invalid_request', InvalidRequestError],
  ['spending_limit', SpendingLimitError],
  ['invalid_input', InvalidInputError],
  ['output_too_large', OutputTooLargeError],
  ['BlobTooLargeError', BlobTooLargeError],
  ['TypeError', TypeError],
]);

export function errorOf(data: ErrorData): Error {
  const { name, message, stack, code, failure, cause } = data;
  const Class = CLASSES.get(failure?.code ?? name) ?? Error;
  const options = { ...failure, ...(cause === null ? {} : { cause: errorOf(cause) }) };
  const error = new Class(message, options);
  for (const [key, value] of Object.entries({ name, stack })) {
    Object.defineProperty(error, key, { value, configurable: true, writable: true });
  }
  return code === null || failure !== null ? error : Object.assign(error, { code });
}
