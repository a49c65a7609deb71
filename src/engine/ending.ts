/** Why an attempt's signal fired. */

/** `revoked`: cancelled, or settled from outside. */
export type Ending = 'timeout' | 'deadline_exceeded' | 'revoked' | 'lease_lost' | 'shutdown';

/** The reason of an attempt's signal. */
export class AttemptEndedError extends Error {
  override readonly name = 'AbortError';
  readonly ending: Ending;

  constructor(ending: Ending) {
    super(`the attempt was ended: ${ending}`);
    this.ending = ending;
  }
}

/** The same of an attempt that ended well or by itself, for what it left under way: nobody waits for that any more. */
export class AttemptOverError extends Error {
  override readonly name = 'AbortError';

  constructor() {
    super('the attempt is over');
  }
}
