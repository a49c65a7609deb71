/** What the verbs of one opened store share. */
import type { Rules } from '../../domain/decide.ts';
import type { Held } from '../shared/held.ts';
import type { Connection } from './connection.ts';
import type { Lanes } from './lanes.ts';
import type { Moves } from './moves.ts';
import type { Numbers } from './numbers.ts';

export interface StoreContext {
  connection: Connection;
  lanes: Lanes;
  moves: Moves;
  held: Held;
  numbers: Numbers;
  rules: Rules;
  /** The store's clock: milliseconds since 1970, never falling within one process. */
  now: () => number;
}
