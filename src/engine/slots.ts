/** The attempts that one worker holds: each takes a slot until its function has returned and its outcome is written. */
import type { Attempt, AttemptHolder } from './attempt.ts';
import type { Ending } from './ending.ts';

export interface Slots extends AttemptHolder {
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

/** Which half of its end an attempt has reached; a slot comes free with both: a crash in between costs the attempt. */
type Half = 'neither' | 'returned' | 'recorded';

export function createSlots(deps: SlotsDeps): Slots {
  const attempts = new Map<Attempt, Half>();
  const waiting = new Set<{ open: Set<Attempt>; resolve: () => void }>();
  let stuck = 0;

  function free(attempt: Attempt): void {
    attempts.delete(attempt);
    deps.onFree(attempt);
  }

  function hasReturned(attempt: Attempt): void {
    if (attempts.get(attempt) !== 'recorded') return void attempts.set(attempt, 'returned');
    stuck -= 1;
    free(attempt);
  }

  function hasConcluded(attempt: Attempt): void {
    for (const one of waiting) {
      if (!one.open.delete(attempt) || one.open.size > 0) continue;
      waiting.delete(one);
      one.resolve();
    }
    if (attempts.get(attempt) === 'returned') return free(attempt);
    attempts.set(attempt, 'recorded');
    stuck += 1;
    if (stuck >= deps.width) deps.onStuck();
  }

  function concluded(): Promise<void> {
    const open = new Set([...attempts].flatMap(([attempt, half]) => (half === 'recorded' ? [] : [attempt])));
    return new Promise((resolve) => {
      if (open.size === 0) resolve();
      else waiting.add({ open, resolve });
    });
  }

  return {
    taken: () => attempts.size,
    tokens: () => [...attempts.keys()].map((attempt) => attempt.job.token),
    add: (attempt) => void attempts.set(attempt, 'neither'),
    hasReturned,
    hasConcluded,
    isUnsettled(attempt, error) {
      deps.onUnsettled(attempt, error);
      hasConcluded(attempt);
    },
    concluded,
    endAll(cause) {
      for (const attempt of attempts.keys()) attempt.end(cause);
    },
    end(tokens, cause) {
      const strange = new Set(tokens);
      for (const attempt of attempts.keys()) if (strange.delete(attempt.job.token)) attempt.end(cause);
      return [...strange];
    },
  };
}
