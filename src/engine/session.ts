/**
 * A worker's session: one heartbeat for all of its attempts. A renewal that fails says nothing, since the store
 * may be away; only the store's word that the session was reaped ends it, and then another is opened. What a renewal
 * told is acknowledged by the next, so an answer that is lost is told again.
 */
import type { Clock } from '../ports/clock.ts';
import type { JobStore } from '../ports/job-store.ts';
import type { Log } from '../ports/telemetry.ts';
import type { Wakeups } from '../ports/wakeups.ts';
import { nameOf, retryDelayMs } from './faults.ts';
import { createPause } from './pause.ts';

export interface SessionDeps {
  store: JobStore;
  clock: Clock;
  wakeups: Wakeups;
  log: Log;
  worker: string;
  host: string;
  leaseMs: number;
  newSessionId: () => string;
  /** These attempts were taken away. */
  onRevoked: (revoked: { jobId: string; token: number }[]) => void;
  /** A session is about to be opened, so that whoever outlives the worker can reap it. */
  onOpening: (session: string) => void;
  onOpen: () => void;
  /** It was extended. */
  onRenewed: () => void;
  /** The session was reaped: none of its attempts is its own any more. */
  onLost: () => void;
  /** The store did not answer. */
  onSilence: () => void;
}

export interface Session {
  /** Null until it is open, and between two. */
  id(): string | null;
  /** Opens and renews until `signal` fires; resolves then. */
  run(signal: AbortSignal): Promise<void>;
  /** Another verb heard that this session is lost; nothing happens where it is no longer the current one. */
  lost(session: string): void;
}

/** A cancel must reach its attempt within two seconds even where its hint is lost. */
const MAX_BEAT_MS = 1500;

export function createSession(deps: SessionDeps): Session {
  const beatMs = Math.min(MAX_BEAT_MS, deps.leaseMs / 5);
  const pause = createPause(deps.clock);
  /** So often that a session outlives an outage of any length: sweepers give it one lease to come back. */
  const longestPauseMs = deps.leaseMs / 4;
  let current: string | null = null;
  let failures = 0;
  /** Tokens that the last renewal has told of. */
  let heard: number[] = [];

  function lost(session: string): void {
    if (session !== current) return;
    deps.log.warn({ session: current }, 'the session was reaped; another is opened');
    current = null;
    deps.onLost();
    pause.wake();
  }

  async function open(): Promise<void> {
    const session = deps.newSessionId();
    deps.onOpening(session);
    await deps.store.openSession({ session, worker: deps.worker, host: deps.host, leaseMs: deps.leaseMs });
    current = session;
    heard = [];
    deps.onOpen();
  }

  async function renew(session: string): Promise<void> {
    const renewal = await deps.store.renew({ session, heard });
    if (session !== current) return;
    heard = renewal.revoked.map(({ token }) => token);
    if (renewal.lost) lost(session);
    else {
      if (heard.length > 0) deps.onRevoked(renewal.revoked);
      deps.onRenewed();
    }
  }

  async function beat(): Promise<number> {
    try {
      await (current === null ? open() : renew(current));
      failures = 0;
      return current === null ? 0 : beatMs;
    } catch (error) {
      failures += 1;
      if (failures === 1)
        deps.log.warn({ error_name: nameOf(error) }, 'the store does not answer; the worker goes on trying');
      deps.onSilence();
      return Math.min(retryDelayMs(failures - 1), longestPauseMs);
    }
  }

  return {
    id: () => current,
    lost,
    async run(signal) {
      const stopListening = deps.wakeups.on((wakeup) => {
        if (wakeup.type === 'revoked' && wakeup.session === current) pause.wake();
      });
      while (!signal.aborted) await pause.wait(await beat(), signal);
      stopListening();
    },
  };
}
