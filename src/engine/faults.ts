/** What the engine's own loops do about faults of the store: tell the kind, and try again a little later. */

export function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : 'unknown';
}

/** Faults of the store that pass by themselves; anything else is a defect. */
export function isPassing(error: unknown): boolean {
  return ['StoreUnavailableError', 'StorageFullError'].includes(nameOf(error));
}

/** 100 ms, doubling up to 5 s. @param failures so far, from 0 */
export function retryDelayMs(failures: number): number {
  return Math.min(5000, 100 * 2 ** Math.min(failures, 10));
}
