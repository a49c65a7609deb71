/**
 * What time does to jobs, done by any process that has the store open. Dead sessions are reaped only once
 * this process has itself seen the store without a break for one lease: after an outage of the store the workers
 * get that long to renew, so that healthy work does not become orphaned.
 */
import type { Clock } from '../ports/clock.ts';
import type { JobStore } from '../ports/job-store.ts';
import type { Log } from '../ports/telemetry.ts';
import type { Announce } from './announce.ts';
import { nameOf } from './faults.ts';
import { createPause } from './pause.ts';
import type { EngineSettings } from './settings.ts';

export interface SweeperDeps {
  store: JobStore;
  clock: Clock;
  random: () => number;
  announce: Announce;
  log: Log;
  settings: EngineSettings;
}

export interface Sweeper {
  start(): void;
  /** Resolves when the sweep under way has ended, or soon. */
  stop(): Promise<void>;
}

const MAX_PERIOD_MS = 1000;
const LIMIT = 500;
const LAST_SWEEP_MS = 1000;

export function createSweeper(deps: SweeperDeps): Sweeper {
  const { store, clock, settings } = deps;
  const periodMs = Math.min(MAX_PERIOD_MS, settings.leaseMs / 2);
  const pause = createPause(clock);
  const stopping = new AbortController();
  let seenSinceMs: number | null = null;
  let lastSeenMs = 0;
  let lastWallMs = 0;
  let running: Promise<void> = Promise.resolve();

  async function sweep(): Promise<boolean> {
    const beforeMs = clock.monotonicMs();
    const gapMs = beforeMs - lastSeenMs;
    const jumpMs = clock.now() - lastWallMs - gapMs; // a clock that was set, or a machine that slept
    if (gapMs > settings.leaseMs || jumpMs > settings.leaseMs) seenSinceMs = null;
    const reap = seenSinceMs !== null && beforeMs - seenSinceMs >= settings.leaseMs;
    const { graceMs, idempotencyMs } = settings;
    const swept = await store.sweep({ reap, graceMs, idempotencyMs, limit: LIMIT, jitter: deps.random });
    lastSeenMs = clock.monotonicMs();
    lastWallMs = clock.now();
    seenSinceMs ??= lastSeenMs;
    deps.announce(swept.moved);
    return swept.more;
  }

  async function loop(): Promise<void> {
    while (!stopping.signal.aborted) {
      let more = false;
      try {
        more = await sweep();
      } catch (error) {
        if (seenSinceMs !== null) {
          deps.log.warn({ error_name: nameOf(error) }, 'a sweep failed; it is tried again');
        }
        seenSinceMs = null;
      }
      await pause.wait(more ? 0 : periodMs, stopping.signal);
    }
  }

  return {
    start: () => {
      running = loop();
    },
    async stop() {
      stopping.abort();
      await Promise.race([
        running,
        new Promise<void>((resolve) => void clock.after(LAST_SWEEP_MS, resolve, { unref: true })),
      ]);
    },
  };
}
