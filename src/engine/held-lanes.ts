/** Which workflows wait for a provider that asked for a pause: their jobs are left in the queue until it has passed. */
import type { Clock } from '../ports/clock.ts';
import type { Lane } from '../ports/job-store.ts';
import type { Ledger } from '../ports/ledger.ts';

export interface HeldLanes {
  /** Reads what holds now. Where that cannot be read, what was known goes on. */
  refresh(): Promise<void>;
  /** Those that may be claimed. */
  free(lanes: Lane[]): Lane[];
  /** Until the next of them may be claimed again; null where none is held. */
  leftMs(): number | null;
}

export function createHeldLanes({ ledger, clock }: { ledger: Ledger; clock: Clock }): HeldLanes {
  /** By workflow, until when. */
  let held = new Map<string, number>();

  function isHeld(workflow: string): boolean {
    const untilMs = held.get(workflow);
    if (untilMs === undefined) return false;
    if (untilMs > clock.monotonicMs()) return true;
    held.delete(workflow);
    return false;
  }

  return {
    async refresh() {
      const read = await ledger.heldWorkflows().catch(() => null);
      if (read === null) return;
      const nowMs = clock.monotonicMs();
      held = new Map(read.map(({ workflow, forMs }) => [workflow, nowMs + forMs]));
    },
    free: (lanes) => (held.size === 0 ? lanes : lanes.filter(({ workflow }) => !isHeld(workflow))),
    leftMs: () => (held.size === 0 ? null : Math.max(0, Math.min(...held.values()) - clock.monotonicMs())),
  };
}
