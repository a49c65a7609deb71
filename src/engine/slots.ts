/** The attempts that one worker holds: each takes a slot until its function has returned. */
import type { Attempt, Ending } from './attempt.ts';

export interface Slots {
  taken(): number;
  add(attempt: Attempt): void;
  endAll(cause: Ending): void;
  /** Ends those that hold one of these tokens. */
  end(tokens: ReadonlySet<number>, cause: Ending): void;
  /** Resolves when the record waits for none of the attempts held now. */
  concluded(): Promise<void>;
}

export interface SlotsDeps {
  count: number;
  onFree: () => void;
  onUnsettled: (attempt: Attempt, error: unknown) => void;
  /** Every slot is held by an attempt that was settled without it. */
  onStuck: () => void;
}

export function createSlots(deps: SlotsDeps): Slots {
  const attempts = new Set<Attempt>();
  const stuck = new Set<Attempt>();

  async function watchRecord(attempt: Attempt): Promise<void> {
    try {
      await attempt.concluded;
    } catch (error) {
      deps.onUnsettled(attempt, error);
    }
    if (attempts.has(attempt)) stuck.add(attempt);
    if (stuck.size >= deps.count) deps.onStuck();
  }

  async function watchFunction(attempt: Attempt): Promise<void> {
    await attempt.returned;
    attempts.delete(attempt);
    stuck.delete(attempt);
    deps.onFree();
  }

  return {
    taken: () => attempts.size,
    add(attempt) {
      attempts.add(attempt);
      void watchRecord(attempt);
      void watchFunction(attempt);
    },
    endAll(cause) {
      for (const attempt of attempts) attempt.end(cause);
    },
    end(tokens, cause) {
      for (const attempt of attempts) if (tokens.has(attempt.job.token)) attempt.end(cause);
    },
    async concluded() {
      await Promise.allSettled([...attempts].map((attempt) => attempt.concluded));
    },
  };
}
