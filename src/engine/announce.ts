/** What is told once a transition is written: one log line, and the hints that spare others a poll. */
import type { Moved } from '../ports/job-store.ts';
import type { Telemetry } from '../ports/telemetry.ts';
import type { Wakeups } from '../ports/wakeups.ts';

export type Announce = (moved: readonly Moved[]) => void;

export function createAnnounce(telemetry: Telemetry, wakeups: Wakeups): Announce {
  return (moved) => {
    let queued = false;
    for (const move of moved) {
      telemetry.moved(move);
      wakeups.emit({ type: 'moved', jobId: move.jobId });
      if (move.revokedSession !== null) wakeups.emit({ type: 'revoked', session: move.revokedSession });
      queued ||= move.status === 'queued';
    }
    if (queued) wakeups.emit({ type: 'queued' });
  };
}
