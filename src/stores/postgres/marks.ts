/**
 * Where the claims of this process may begin. A lane is read from its start, and as long as that is cheap it always is.
 *
 * A transaction that is held open somewhere in the database keeps the rows that were claimed since from being removed:
 * they are dead, but every scan from the start steps over all of them again. Once that shows, claims begin a little before the
 * last claimed row of their lane, and look from the start only now and then: what another process put in front
 * (a higher priority, a job taken back) waits that long, at most a second. What this process put there itself is known,
 * and the next claim looks from the start.
 */

/** A place in a lane, in the order in which it is claimed. */
export interface Place {
  lane: number;
  rank: number;
  place: number;
  job: number;
}

/** A look from the start that took less is cheap. */
const CHEAP_MS = 5;
/** An expensive look may take the twentieth part of the time. */
const REST_FACTOR = 20;
const LONGEST_REST_MS = 1000;
/** Jobs come in a little out of order: each brings the time of the look before it was written. */
const SLACK_MS = 250;

export class Marks {
  readonly #byLane = new Map<number, Place>();
  #restUntil = 0;
  /** Whether the last claim began at marks, so that there may be more than it saw. */
  #isPartial = false;

  /** The places to begin at; none, for the start of every lane. */
  at(monotonicMs: number): Place[] {
    const rests = monotonicMs < this.#restUntil;
    const places = rests
      ? [...this.#byLane.values()].map((mark) => ({ ...mark, place: mark.place - SLACK_MS }))
      : [];
    this.#isPartial = places.length > 0;
    return places;
  }

  /** In how long a claim begins at the start again; null where the last one did. */
  restMs(monotonicMs: number): number | null {
    return this.#isPartial ? Math.max(0, this.#restUntil - monotonicMs) : null;
  }

  /** A look from the start of every lane took so long. */
  looked(monotonicMs: number, tookMs: number): void {
    const restMs = tookMs < CHEAP_MS ? 0 : Math.min(LONGEST_REST_MS, tookMs * REST_FACTOR);
    this.#restUntil = monotonicMs + restMs;
  }

  claimed(place: Place): void {
    const mark = this.#byLane.get(place.lane);
    if (mark === undefined || isBefore(mark, place)) this.#byLane.set(place.lane, place);
  }

  /** Jobs came into lanes: behind the mark, or before it. */
  cameIn(places: readonly Place[]): void {
    for (const place of places) {
      const mark = this.#byLane.get(place.lane);
      if (mark !== undefined && isBefore(place, mark)) this.#byLane.delete(place.lane);
    }
  }
}

function isBefore(a: Place, b: Place): boolean {
  if (a.rank !== b.rank) return a.rank < b.rank;
  if (a.place !== b.place) return a.place < b.place;
  return a.job < b.job;
}
