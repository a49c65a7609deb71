/**
 * Notices that somebody has gone silent.
 *
 * Silence is measured in ticks of the watchdog itself. Where its own tick comes late, the machine slept or this process was
 * stopped, and the other may be as innocent: the measure starts again.
 */
export interface Watchdog {
  heard(): void;
  /** Sets another limit, from the next tick on. */
  limit(ms: number): void;
  close(): void;
}

const LATE_MS = 500;

/** Calls `onSilence` once, when nothing was heard for longer than the limit. */
export function createWatchdog(params: { limitMs: number; onSilence: (silentMs: number) => void }): Watchdog {
  let { limitMs } = params;
  let heardAt = performance.now();
  let tickedAt = heardAt;
  const tickMs = () => Math.max(20, Math.min(1_000, limitMs / 4));
  let timer = setTimeout(tick, tickMs());

  function tick(): void {
    const now = performance.now();
    if (now - tickedAt > 2 * tickMs() + LATE_MS) heardAt = now;
    tickedAt = now;
    if (now - heardAt > limitMs) return params.onSilence(now - heardAt);
    timer = setTimeout(tick, tickMs());
  }

  return {
    heard: () => {
      heardAt = performance.now();
    },
    limit: (ms: number) => {
      limitMs = ms;
    },
    close: () => clearTimeout(timer),
  };
}
