/** What `serve` and its worker process say to each other over Node's IPC channel. */
import type { Crash } from '../engine/caution.ts';
import type { Wakeup, Wakeups } from '../ports/wakeups.ts';
import type { FlagValues } from './settings.ts';

/** What a worker process needs to open the same store and workflows as its supervisor. */
export interface WorkerStart {
  flags: FlagValues;
  /** Whether the built-in examples are known besides the user's workflows. */
  demo: boolean;
}

export type ToWorker =
  /** `crash`: how the worker before this one ended, where it crashed. */
  | { type: 'start'; start: WorkerStart; beatMs: number; crash: Crash | null }
  /** Claim no more, end in bounded time, exit 0. */
  | { type: 'stop' }
  | { type: 'wakeups'; wakeups: Wakeup[] };

export type FromWorker =
  /** Sent before the first claim, and again whenever the worker had to open another session. */
  | { type: 'session'; session: string }
  /** Says that the event loop turns. */
  | { type: 'beat' }
  | { type: 'wakeups'; wakeups: Wakeup[] };

/**
 * Carries one process's wake-ups over a channel, all of one turn of the event loop as one message, and passes
 * on those that arrive. What came from the other side is not sent back to it.
 */
export function bridge(params: {
  wakeups: Wakeups;
  /** The types that the other side can use. */
  carries: readonly Wakeup['type'][];
  send: (wakeups: Wakeup[]) => void;
}): { arrived: (wakeups: readonly Wakeup[]) => void; close: () => void } {
  const { wakeups, carries, send } = params;
  const pending = new Map<string, Wakeup>();
  let arriving = false;

  function flush(): void {
    const batch = [...pending.values()];
    pending.clear();
    send(batch);
  }

  const close = wakeups.on((wakeup) => {
    if (arriving || !carries.includes(wakeup.type)) return;
    if (pending.size === 0) setImmediate(flush);
    pending.set(identity(wakeup), wakeup);
  });
  const arrived = (batch: readonly Wakeup[]) => {
    arriving = true;
    for (const wakeup of batch) wakeups.emit(wakeup);
    arriving = false;
  };
  return { arrived, close };
}

/** Equal for two wake-ups that say the same. */
function identity(wakeup: Wakeup): string {
  switch (wakeup.type) {
    case 'queued':
      return 'queued';
    case 'moved':
      return wakeup.jobId;
    case 'revoked':
      return wakeup.session;
  }
}
