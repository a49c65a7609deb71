/**
 * Verbs of many callers in one transaction: what comes in while one is under way shares the next, and its one sync of the
 * disk. Each sync keeps the event loop, and a worker may have a thousand calls to models in the air.
 *
 * A fault of the store is everybody's. Any other error is the fault of one body: the transaction was undone, so each goes
 * alone, and the error reaches its own caller only.
 */
import { StorageFullError, StoreUnavailableError } from '../../ports/job-store.ts';
import type { Connection } from './connection.ts';

/** Of one transaction: those of another process wait for it. */
const MOST = 200;

interface Waiting {
  body: () => unknown;
  resolve: (result: unknown) => void;
  reject: (error: unknown) => void;
}

export function together(connection: Connection): <T>(body: () => T) => Promise<T> {
  const waiting: Waiting[] = [];
  let underway = false;

  async function write(batch: Waiting[]): Promise<void> {
    try {
      const results = await connection.write(() => batch.map(({ body }) => body()));
      batch.forEach(({ resolve }, index) => resolve(results[index]));
    } catch (error) {
      const everybodys = error instanceof StoreUnavailableError || error instanceof StorageFullError;
      if (batch.length > 1 && !everybodys) for (const one of batch) await write([one]);
      else for (const { reject } of batch) reject(error);
    }
  }

  async function drain(): Promise<void> {
    while (waiting.length > 0) await write(waiting.splice(0, MOST));
    underway = false;
  }

  return <T>(body: () => T) =>
    new Promise<T>((resolve, reject) => {
      waiting.push({ body, resolve: resolve as (result: unknown) => void, reject });
      if (underway) return;
      underway = true;
      setImmediate(() => void drain());
    });
}
