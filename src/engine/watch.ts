/**
 * Waiting for jobs to change. Hints come for this machine's workers only and may be lost, so whoever waits also looks by himself;
 * all who wait look at the same moments, so that their looks share one reading of the store, and a hint costs those only
 * who wait for its job.
 */
import type { Clock } from '../ports/clock.ts';
import type { Wakeups } from '../ports/wakeups.ts';
import type { Pause } from './pause.ts';

export interface Watch {
  /** Wakes `pause` when the job may have changed. @returns a function that ends it */
  add(jobId: string, pause: Pause): () => void;
}

export const LOOK_EVERY_MS = 250;

export function createWatch({ clock, wakeups }: { clock: Clock; wakeups: Wakeups }): Watch {
  const watched = new Map<string, Set<Pause>>();
  let cancelLook: (() => void) | null = null;

  function look(): void {
    cancelLook = clock.after(LOOK_EVERY_MS, look, { unref: true });
    for (const pauses of watched.values()) for (const pause of pauses) pause.wake();
  }

  function remove(jobId: string, pause: Pause): void {
    const pauses = watched.get(jobId);
    pauses?.delete(pause);
    if (pauses?.size === 0) watched.delete(jobId);
    if (watched.size > 0) return;
    cancelLook?.();
    cancelLook = null;
  }

  wakeups.on((wakeup) => {
    if (wakeup.type !== 'moved') return;
    for (const pause of watched.get(wakeup.jobId) ?? []) pause.wake();
  });

  return {
    add(jobId, pause) {
      const pauses = watched.get(jobId) ?? new Set();
      watched.set(jobId, pauses.add(pause));
      cancelLook ??= clock.after(LOOK_EVERY_MS, look, { unref: true });
      return () => remove(jobId, pause);
    },
  };
}
