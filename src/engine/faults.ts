/** What the engine does about faults of the store: tell the kind, and try again a little later. */
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/telemetry.ts';
import { createPause } from './pause.ts';

export function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : 'unknown';
}

/** Faults of the store that pass by themselves; anything else is a defect. */
export function isPassing(error: unknown): boolean {
  return ['StoreUnavailableError', 'StorageFullError'].includes(nameOf(error));
}

/** How long somebody tries again: until `signal` fires. */
export interface Patience {
  clock: Clock;
  signal: AbortSignal;
  /** Hears why somebody waits, once. */
  log: Log;
}

/**
 * Does `work`, and again for as long as the store is away or full.
 * @throws what is no such fault, and the reason of the signal once it has fired
 */
export async function patiently<T>({ clock, signal, log }: Patience, work: () => Promise<T>): Promise<T> {
  for (let failures = 0; ; failures += 1) {
    try {
      return await work();
    } catch (error) {
      if (!isPassing(error)) throw error;
      if (failures === 0)
        log.warn(
          { error_name: nameOf(error) },
          'the store is away, or has no room; the attempt waits for it',
        );
    }
    await createPause(clock).wait(retryDelayMs(failures), signal);
    signal.throwIfAborted();
  }
}

/** 100 ms, doubling up to 5 s. @param failures so far, from 0 */
export function retryDelayMs(failures: number): number {
  return Math.min(5000, 100 * 2 ** Math.min(failures, 10));
}
