/**
 * Waiting for jobs to change. Hints come for this machine's workers only and may be lost, so those who wait are looked after as
 * well: one look, a few times a second, reads the statuses of all jobs that somebody waits for, and wakes those alone who know another
 * one. However many wait, nothing else is done for them while nothing happens.
 */
import type { Clock } from '../ports/clock.ts';
import type { JobStore } from '../ports/job-store.ts';
import type { Wakeups } from '../ports/wakeups.ts';
import type { Pause } from './pause.ts';

interface Watcher {
  tenant: string;
  jobId: string;
  pause: Pause;
  /** Of the status that it has; undefined until it has one. */
  seq: number | undefined;
}

export interface Watch {
  /** Wakes the watcher's pause when its job may have changed. @returns a function that ends it */
  add(watcher: Watcher): () => void;
}

export const LOOK_EVERY_MS = 250;
const LOOK_JOBS = 500;

interface WatchDeps {
  store: Pick<JobStore, 'statuses'>;
  clock: Clock;
  wakeups: Wakeups;
}

export function createWatch({ store, clock, wakeups }: WatchDeps): Watch {
  const watched = new Map<string, Set<Watcher>>();
  let cancelLook: (() => void) | null = null;
  let looking = false;

  function lookLater(): void {
    cancelLook = clock.after(LOOK_EVERY_MS, () => void look(), { unref: true });
  }

  async function look(): Promise<void> {
    lookLater();
    if (looking) return; // the store is slower than we look
    looking = true;
    const watchers = [...watched.values()].flatMap((those) => [...those]);
    for (let at = 0; at < watchers.length; at += LOOK_JOBS)
      await wakeChanged(watchers.slice(at, at + LOOK_JOBS));
    looking = false;
  }

  /** Where the store does not answer, each of them asks it and hears why. */
  async function wakeChanged(watchers: Watcher[]): Promise<void> {
    const views = await store.statuses(watchers).catch(() => null);
    watchers.forEach(({ seq, pause }, index) => {
      const view = views?.[index] ?? null;
      if (view === null || view.seq !== seq) pause.wake();
    });
  }

  function remove(watcher: Watcher): void {
    const { jobId } = watcher;
    const watchers = watched.get(jobId);
    watchers?.delete(watcher);
    if (watchers?.size === 0) watched.delete(jobId);
    if (watched.size > 0) return;
    cancelLook?.();
    cancelLook = null;
  }

  wakeups.on((wakeup) => {
    if (wakeup.type !== 'moved') return;
    for (const { pause } of watched.get(wakeup.jobId) ?? []) pause.wake();
  });

  return {
    add(watcher) {
      const watchers = watched.get(watcher.jobId) ?? new Set();
      watched.set(watcher.jobId, watchers.add(watcher));
      if (cancelLook === null) lookLater();
      return () => remove(watcher);
    },
  };
}
