/** Numbers that are handed out once: they only grow, over every process and restart. */
import type { Connection } from './connection.ts';
import { prepared } from './statements.ts';

export class Numbers {
  readonly #sql;

  constructor(connection: Connection) {
    this.#sql = prepared<{ last: { value: number }; set: never; raise: never }>(connection.db, 'numbers');
  }

  /** The first of `count` numbers in a row. Only within a write. */
  take(name: 'token' | 'job', count: number): number {
    const row = this.#sql.last.get({ name });
    if (row === undefined) throw new Error(`the store has no counter ${name}`);
    this.#sql.set.run({ name, value: row.value + count });
    return row.value + 1;
  }

  /** Puts the tokens to come behind the clock, so that a copy of the file put back in place gives none of the past again. Only within a write. */
  raiseTokens(now: number): void {
    this.#sql.raise.run({ name: 'token', least: now * 1000 });
  }
}
