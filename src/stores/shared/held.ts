/**
 * What this process claimed, as it was read then. A job's record does not change while its lease is there, and a settlement is
 * applied under the lease's token, so what is remembered is either still so or changes nothing.
 */
import type { SeenRow } from './rows.ts';

/** Attempts that were taken away are never settled here; the oldest make room. */
const MOST = 20_000;

export class Held {
  readonly #byToken = new Map<number, SeenRow>();

  add(token: number, row: SeenRow): void {
    this.#byToken.set(token, row);
    if (this.#byToken.size <= MOST) return;
    const [oldest] = this.#byToken.keys();
    if (oldest !== undefined) this.#byToken.delete(oldest);
  }

  /** `now` in it is the time of the claim. */
  get(token: number, jobId: string): SeenRow | undefined {
    const row = this.#byToken.get(token);
    return row?.id === jobId ? row : undefined;
  }

  forget(token: number): void {
    this.#byToken.delete(token);
  }
}
