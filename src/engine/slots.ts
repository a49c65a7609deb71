/** The attempts that one worker holds: each takes a slot until its function has returned and its outcome is written. */
import type { Attempt, Ending } from './attempt.ts';

export interface Slots {
  taken(): number;
  /** The tokens of the attempts held now. */
  tokens(): number[];
  add(attempt: Attempt): void;
  endAll(cause: Ending): void;
  /** Ends those that hold one of these tokens; gives back the tokens that none holds. */
  end(tokens: ReadonlySet<number>, cause: Ending): number[];
  /** Resolves when the record waits for none of the attempts held now. */
  concluded(): Promise<void>;
}

export interface SlotsDeps {
  /** How many may be held now. */
  width: () => number;
  onFree: (attempt: Attempt) => void;
  onUnsettled: (attempt: Attempt, error: unknown) => void;
  /** Every slot is held by an attempt that was settled without it. */
  onStuck: () => void;
}

export function createSlots(deps: SlotsDeps): Slots {
  const attempts = new Set<Attempt>();
  const stuck = new Set<Attempt>();
  const returned = new Set<Attempt>();

  async function watchRecord(attempt: Attempt): Promise<void> {
    try {
      await attempt.concluded;
    } catch (error) {
      deps.onUnsettled(attempt, error);
    }
    if (!returned.has(attempt)) stuck.add(attempt);
    if (stuck.size > 0 && stuck.size >= deps.width()) deps.onStuck();
  }

  /** A slot comes free when the function has returned and its outcome is written: a crash in between costs the attempt. */
  async function watch(attempt: Attempt): Promise<void> {
    await Promise.all([attempt.returned.then(() => returned.add(attempt)), watchRecord(attempt)]);
    for (const set of [attempts, stuck, returned]) set.delete(attempt);
    deps.onFree(attempt);
  }

  return {
    taken: () => attempts.size,
    tokens: () => [...attempts].map((attempt) => attempt.job.token),
    add(attempt) {
      attempts.add(attempt);
      void watch(attempt);
    },
    endAll(cause) {
      for (const attempt of attempts) attempt.end(cause);
    },
    end(tokens, cause) {
      const strange = new Set(tokens);
      for (const attempt of attempts) if (strange.delete(attempt.job.token)) attempt.end(cause);
      return [...strange];
    },
    async concluded() {
      await Promise.allSettled([...attempts].map((attempt) => attempt.concluded));
    },
  };
}
