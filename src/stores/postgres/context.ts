/** What the verbs of one opened store share. */
import type { Rules } from '../../domain/decide.ts';
import type { Connection } from './connection.ts';
import type { Lanes } from './lanes.ts';
import type { Marks } from './marks.ts';
import type { Moves } from './moves.ts';
import type { Held } from '../shared/held.ts';

export interface StoreContext {
  connection: Connection;
  lanes: Lanes;
  moves: Moves;
  marks: Marks;
  held: Held;
  rules: Rules;
}
