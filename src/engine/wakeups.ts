/** The hub of one process's wake-ups. */
import type { Wakeup, Wakeups } from '../ports/wakeups.ts';

export function createWakeups(): Wakeups {
  const listeners = new Set<(wakeup: Wakeup) => void>();
  return {
    emit(wakeup) {
      for (const listener of listeners) {
        try {
          listener(wakeup);
        } catch {
          // a listener's fault is its own: the hint goes on to the others, and waiting never depends on it
        }
      }
    },
    on(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
