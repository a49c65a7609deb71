/**
 * Hints that something happened. Nothing depends on them: whoever waits also polls. A hub is one process's; a
 * bridge may carry hints between processes.
 */
export type Wakeup =
  /** Jobs became claimable. */
  | { type: 'queued' }
  /** A job's record changed. */
  | { type: 'moved'; jobId: string }
  /** What a running attempt's streamed answer gave since the last of these: at most `MAX_PARTIAL` characters. */
  | { type: 'partial'; jobId: string; attempt: number; text: string }
  /** Attempts of a session were taken away (cancelled). */
  | { type: 'revoked'; session: string };

export const MAX_PARTIAL = 8_192;

export interface Wakeups {
  emit(wakeup: Wakeup): void;
  /** @returns a function that stops listening. A listener that throws is isolated from the others. */
  on(listener: (wakeup: Wakeup) => void): () => void;
}
