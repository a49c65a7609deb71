/** The lanes of the store. A lane's row never changes, so it is read once and remembered. */
import type { LaneName, LaneRow } from '../shared/lanes.ts';
import { nameOf } from '../shared/lanes.ts';
import type { Connection } from './connection.ts';
import { prepared } from './statements.ts';

export class Lanes {
  readonly #sql;
  readonly #byNumber = new Map<number, LaneRow>();
  readonly #byName = new Map<string, LaneRow>();
  /** The last that was named: the next job's is mostly the same. */
  #last: LaneRow | null = null;

  constructor(connection: Connection) {
    this.#sql = prepared<{ byNumber: LaneRow; find: LaneRow; add: LaneRow }>(connection.db, 'lanes');
    connection.onRollback(() => this.#forget());
  }

  get(lane: number): LaneRow {
    const remembered = this.#byNumber.get(lane);
    if (remembered !== undefined) return remembered;
    const row = this.#sql.byNumber.get({ lane });
    if (row === undefined) throw new Error(`a job names lane ${lane}, which does not exist`);
    return this.#remember(row);
  }

  /** The lane of that name, made where there is none. Only within a write. */
  named(name: LaneName): LaneRow {
    if (this.#last !== null && isNamed(this.#last, name)) return this.#last;
    this.#last = this.#byName.get(nameOf(name)) ?? this.#find(name);
    return this.#last;
  }

  #find(name: LaneName): LaneRow {
    const { tenant, workflow, version, output_schema_sha256, suspicion } = name;
    const params = { tenant, workflow, version, output_schema_sha256, suspicion };
    const row = this.#sql.find.get(params) ?? this.#sql.add.get(params);
    if (row === undefined) throw new Error('a lane could not be made');
    return this.#remember(row);
  }

  #remember(row: LaneRow): LaneRow {
    this.#byNumber.set(row.lane, row);
    this.#byName.set(nameOf(row), row);
    return row;
  }

  /** A lane that was made in a transaction that was undone does not exist, and its number is given out again. */
  #forget(): void {
    this.#byNumber.clear();
    this.#byName.clear();
    this.#last = null;
  }
}

function isNamed(lane: LaneRow, name: LaneName): boolean {
  return (
    lane.workflow === name.workflow &&
    lane.version === name.version &&
    lane.output_schema_sha256 === name.output_schema_sha256 &&
    lane.suspicion === name.suspicion &&
    lane.tenant === name.tenant
  );
}
