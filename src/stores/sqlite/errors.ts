/** What the driver throws, in the port's words. */
import { StorageFullError, StoreUnavailableError } from '../../ports/job-store.ts';

const BUSY = 5;
const LOCKED = 6;
const READONLY = 8;
const IOERR = 10;
const CORRUPT = 11;
const FULL = 13;
const CANTOPEN = 14;
const CONSTRAINT = 19;
const PROTOCOL = 15;
const NOTADB = 26;

const UNAVAILABLE = new Set([BUSY, LOCKED, READONLY, IOERR, CORRUPT, CANTOPEN, PROTOCOL, NOTADB]);

/** SQLite's primary result code, or null where `error` is not one of SQLite's. */
function resultCode(error: unknown): number | null {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return null;
  return error.errcode & 0xff;
}

/** Another connection is writing: the same again, a little later, may succeed. */
export function isBusy(error: unknown): boolean {
  const code = resultCode(error);
  return code === BUSY || code === LOCKED || code === PROTOCOL;
}

/** A row of that key is there already. */
export function isTaken(error: unknown): boolean {
  return resultCode(error) === CONSTRAINT;
}

/** `error` as a caller of the store may expect it; an error that is not the disk's or the lock's stays as it is. */
export function asStoreError(error: unknown): unknown {
  const code = resultCode(error);
  if (code === FULL) return new StorageFullError('the disk that holds the store is full', { cause: error });
  if (code !== null && UNAVAILABLE.has(code)) {
    const { message } = error as Error;
    return new StoreUnavailableError(`the store cannot be used now: ${message}`, { cause: error });
  }
  return error;
}
