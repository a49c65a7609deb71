/** What the function got for each of its calls, in order, so that it can be run again on the same answers. */
import type { LanguageModel } from '../ports/models.ts';
import type { CallParams } from './opening.ts';
import type { Answer } from './stored.ts';

/** A call that was answered, and what a repair needs to ask once more. */
export interface Answered {
  model: LanguageModel;
  account: string;
  params: CallParams;
  answer: Answer;
}

type Got = Answered | { error: unknown };

export class Answers {
  /** Null where a call has not ended yet, or never will. */
  readonly #got: (Got | null)[] = [];
  /** Where the function is, when it runs again; null where it runs for the first time. */
  #next: number | null = null;

  /** What a call gets that was made before; null where it is to be made. */
  replayed(): Got | null {
    if (this.#next === null) return null;
    const got = this.#got[this.#next] ?? null;
    this.#next += 1;
    return got;
  }

  /** Keeps the place of a call that begins. @returns where to hand in what it got */
  place(): (got: Got) => void {
    const at = this.#got.push(null) - 1;
    return (got) => void (this.#got[at] = got);
  }

  last(): Answered | null {
    const at = this.#lastAt();
    return at < 0 ? null : (this.#got[at] as Answered);
  }

  /** The function is to run again; `mended` takes the place of the last answer. */
  rewind(mended: Answer): void {
    const last = this.last();
    if (last !== null) this.#got[this.#lastAt()] = { ...last, answer: mended };
    this.#next = 0;
  }

  #lastAt(): number {
    return this.#got.findLastIndex((got) => got !== null && 'answer' in got);
  }
}
