/** What the driver throws, in the port's words. */
import { DatabaseError } from 'pg';
import { StorageFullError, StoreUnavailableError } from '../../ports/job-store.ts';

/** The schema cannot be used as it is; the message says why and what to do, to whoever operates it. */
export class SchemaRefusedError extends Error {
  override readonly name = 'SchemaRefusedError';
}

/** The schema has to be migrated first, by a role that may. */
export class MigrationDeniedError extends Error {
  override readonly name = 'MigrationDeniedError';
}

export const PERMISSION_DENIED = '42501';

/** This role lacks a right that the store needs. */
export class MissingRightsError extends Error {
  override readonly name = 'MissingRightsError';
  readonly code = PERMISSION_DENIED;
}

const DISK_FULL = '53100';
const UNIQUE_VIOLATION = '23505';
const NO_TRANSACTION = '25P01';
const SERIALIZATION_FAILURE = '40001';
const DEADLOCK = '40P01';

/**
 * Classes and codes of SQLSTATE that say nothing against the statement: connection trouble, resources short, an operator or
 * a timeout in the way, a server that only reads (a standby just after a failover), trouble of its operating system.
 */
const UNAVAILABLE = [
  '08',
  '28',
  '53',
  '57',
  '58',
  '25006',
  '3D000',
  '55P03',
  SERIALIZATION_FAILURE,
  DEADLOCK,
  'XX001',
];

const OURS = [StoreUnavailableError, StorageFullError, SchemaRefusedError, MigrationDeniedError];

function sqlState(error: unknown): string | null {
  return error instanceof DatabaseError ? (error.code ?? '') : null;
}

/** The server undid the statement because of others: the same again may succeed. */
export function isContended(error: unknown): boolean {
  const code = sqlState(error);
  return code === SERIALIZATION_FAILURE || code === DEADLOCK;
}

/** A row of that key is there already. */
export function isTaken(error: unknown, constraint: string): boolean {
  const taken = error instanceof Error && 'code' in error && error.code === UNIQUE_VIOLATION;
  return taken && 'constraint' in error && error.constraint === constraint;
}

/** What was to be part of a transaction came where none was open; over a caller's own driver, maybe. */
export function isOutsideTransaction(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === NO_TRANSACTION;
}

/** True where the connection that threw it may be used again. */
export function leavesConnectionUsable(error: unknown): boolean {
  return error instanceof DatabaseError && error.severity === 'ERROR';
}

/** The client gave up waiting, which is all that it knows: the server would have said why. */
export function isUnanswered(error: unknown): boolean {
  return error instanceof Error && error.message === 'Query read timeout';
}

/**
 * `error` as a caller of the store may expect it. Whatever does not come from the server comes from the way to it, except for
 * mistakes of our own.
 */
export function asStoreError(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof TypeError || error instanceof RangeError) return error;
  if (OURS.some((known) => error instanceof known)) return error;
  const code = sqlState(error);
  const options = { cause: error };
  if (code === DISK_FULL) return new StorageFullError('the disk that holds the store is full', options);
  if (code !== null && !UNAVAILABLE.some((known) => code.startsWith(known))) return error;
  return new StoreUnavailableError(`the store cannot be reached now: ${reason(error)}`, options);
}

/** Several addresses that all refused come as one error without a message of its own. */
function reason(error: Error): string {
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  return first instanceof Error ? first.message : error.message;
}
