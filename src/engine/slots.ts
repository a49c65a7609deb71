/** The attempts that one worker holds: each takes a slot until its function has returned and its outcome is written. */
import type { Attempt } from './attempt.ts';
import type { Ending } from './ending.ts';

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
  /** How many there are. */
  width: number;
  onFree: (attempt: Attempt) => void;
  onUnsettled: (attempt: Attempt, error: unknown) => void;
  /** Every slot is held by an attempt that was settled without it. */
  onStuck: () => void;
}

export function createSlots(deps: SlotsDeps): Slots {
  /** Which half of its end each has reached; a slot comes free with both: a crash in between costs the attempt. */
  const attempts = new Map<Attempt, { returned: boolean; recorded: boolean }>();
  let stuck = 0;

  function watch(attempt: Attempt): void {
    const ends = { returned: false, recorded: false };
    attempts.set(attempt, ends);

    function freeIfBoth(): void {
      if (!ends.returned || !ends.recorded) return;
      attempts.delete(attempt);
      deps.onFree(attempt);
    }

    function recorded(): void {
      ends.recorded = true;
      if (ends.returned) return freeIfBoth();
      stuck += 1;
      if (stuck >= deps.width) deps.onStuck();
    }

    void attempt.returned.then(() => {
      ends.returned = true;
      if (ends.recorded) stuck -= 1;
      freeIfBoth();
    });
    attempt.concluded.then(recorded, (error: unknown) => {
      deps.onUnsettled(attempt, error);
      recorded();
    });
  }

  return {
    taken: () => attempts.size,
    tokens: () => [...attempts.keys()].map((attempt) => attempt.job.token),
    add: watch,
    endAll(cause) {
      for (const attempt of attempts.keys()) attempt.end(cause);
    },
    end(tokens, cause) {
      const strange = new Set(tokens);
      for (const attempt of attempts.keys()) if (strange.delete(attempt.job.token)) attempt.end(cause);
      return [...strange];
    },
    async concluded() {
      await Promise.allSettled([...attempts.keys()].map((attempt) => attempt.concluded));
    },
  };
}
