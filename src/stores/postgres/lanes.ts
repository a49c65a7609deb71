/**
 * The lanes of the store. A lane's row never changes, so it is read once and remembered. Where a connection broke, it is
 * read again before it is used again: a database that was restored, or a standby that lacked the last commits, may have
 * given its number to another lane.
 */
import { nameOf } from '../shared/lanes.ts';
import type { LaneName, LaneRow } from '../shared/lanes.ts';
import type { Connection } from './connection.ts';
import { numbers } from './columns.ts';
import { prepared } from './statements.ts';

export class Lanes {
  readonly #sql;
  readonly #byNumber = new Map<number, LaneRow>();
  /** Those of them that were read since a connection broke. */
  readonly #fresh = new Set<number>();
  readonly #byName = new Map<string, LaneRow>();

  constructor(connection: Connection) {
    this.#sql = prepared<{ byNumbers: LaneRow; find: LaneRow; add: LaneRow }>(connection, 'lanes');
    connection.onBreak(() => {
      this.#fresh.clear();
      this.#byName.clear();
    });
  }

  /** The lanes of rows that were read, ready for `get`. */
  async learn(rows: readonly { lane: number }[]): Promise<void> {
    const unknown = new Set(rows.map(({ lane }) => lane).filter((lane) => !this.#fresh.has(lane)));
    if (unknown.size === 0) return;
    for (const row of await this.#sql.byNumbers.all({ lanes: numbers([...unknown]) })) this.#remember(row);
  }

  /** A lane that was learnt before. */
  get(lane: number): LaneRow {
    const row = this.#byNumber.get(lane);
    if (row === undefined) throw new Error(`a job names lane ${lane}, which does not exist`);
    return row;
  }

  /**
   * The lane of that name, made where there is none: at once and for good, whatever becomes of the transaction that needs it,
   * so that nobody waits for another's.
   */
  async named(name: LaneName): Promise<LaneRow> {
    const remembered = this.#byName.get(nameOf(name));
    if (remembered !== undefined) return remembered;
    const { tenant, workflow, version, output_schema_sha256, suspicion } = name;
    const params = { tenant, workflow, version, output_schema_sha256, suspicion };
    const row =
      (await this.#sql.find.get(params)) ??
      (await this.#sql.add.get(params)) ??
      (await this.#sql.find.get(params));
    if (row === undefined) throw new Error('a lane could not be made');
    return this.#remember(row);
  }

  /** Lanes that were read together with something else. */
  remember(rows: readonly LaneRow[]): void {
    for (const row of rows) this.#remember(row);
  }

  #remember(row: LaneRow): LaneRow {
    this.#byNumber.set(row.lane, row);
    this.#fresh.add(row.lane);
    this.#byName.set(nameOf(row), row);
    return row;
  }
}
