/**
 * Ends attempts whose time is up, all of a worker's by one timer: attempts that end soon come by the thousand, and each
 * would make a timer of its own, and cancel it, for nothing.
 */
import type { Clock } from '../ports/clock.ts';

export interface Limited {
  /** By the time that never jumps. */
  readonly overAtMs: number;
  timeIsUp(): void;
}

export interface TimeLimits {
  add(one: Limited): void;
  remove(one: Limited): void;
}

/** Looks at all of them are so far apart at least: where limits are over one right after the other, some end so much later. */
const BETWEEN_LOOKS_MS = 5;
/** A timer may fire a part of a millisecond early. */
const EARLY_MS = 1;

export function createTimeLimits(clock: Clock): TimeLimits {
  const open = new Set<Limited>();
  let looksAtMs = Number.POSITIVE_INFINITY;
  let cancelLook = () => {};

  function lookAt(atMs: number): void {
    cancelLook();
    looksAtMs = atMs;
    cancelLook = clock.after(Math.max(0, atMs - clock.monotonicMs()), look, { unref: true });
  }

  function look(): void {
    const now = clock.monotonicMs();
    let nextMs = Number.POSITIVE_INFINITY;
    looksAtMs = nextMs;
    for (const one of open) {
      if (one.overAtMs - now < EARLY_MS) {
        open.delete(one);
        one.timeIsUp();
      } else nextMs = Math.min(nextMs, one.overAtMs);
    }
    if (nextMs < looksAtMs) lookAt(Math.max(nextMs, now + BETWEEN_LOOKS_MS));
  }

  return {
    add(one) {
      open.add(one);
      if (one.overAtMs < looksAtMs) lookAt(one.overAtMs);
    },
    remove: (one) => void open.delete(one),
  };
}
