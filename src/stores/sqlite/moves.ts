/**
 * Writes a move of the domain into the tables. Whoever calls holds the write lock and has read the job under it,
 * so nobody has moved the job since: `decide` and the writing are one step.
 */
import { decide } from '../../domain/decide.ts';
import type { Command, Decided, Known, Move, Rules } from '../../domain/decide.ts';
import type { Moved } from '../../ports/job-store.ts';
import { laneAfter } from '../shared/lanes.ts';
import type { LaneRow } from '../shared/lanes.ts';
import { History, movedOf, placeAfter, shownError } from '../shared/moves.ts';
import { knownOf, toLines } from '../shared/rows.ts';
import type { KnownRow } from '../shared/rows.ts';
import type { Connection } from './connection.ts';
import type { Lanes } from './lanes.ts';
import { prepared } from './statements.ts';

export class Moves {
  readonly #sql;
  readonly #connection: Connection;
  readonly #lanes: Lanes;
  readonly #rules: Rules;
  readonly #history = new History();

  constructor(connection: Connection, lanes: Lanes, rules: Rules) {
    this.#sql = prepared<
      Record<MoveStatement, never> & { queuedJob: KnownRow; endSomeLeases: { token: number } }
    >(connection.db, 'moves');
    this.#connection = connection;
    this.#lanes = lanes;
    this.#rules = rules;
  }

  decide(known: Known, command: Command, now: number): Decided {
    return decide(known, command, now, this.#rules);
  }

  /** A job that nobody runs. */
  queuedJob(number: number): KnownRow {
    const row = this.#sql.queuedJob.get({ number });
    if (row === undefined) throw new Error(`there is no job of number ${number}`);
    return row;
  }

  /** Decides a command that nothing can refuse here, and writes its move. */
  force(row: KnownRow, command: Command, now: number, options: { revoke: boolean }): Moved {
    const { move, refusal } = this.decide(knownOf(row), command, now);
    if (move === undefined) throw new Error(`${command.type} of ${row.id} was refused: ${refusal.refused}`);
    return this.write(row, move, now, options);
  }

  /**
   * Takes leases away, by what was read when they were given: that is what entitles to the rest. Mostly all of them are still
   * there, which a count tells; to read back which they were takes as long again.
   * @returns the tokens of those that nobody else had taken
   */
  endLeases(rows: readonly KnownRow[]): Set<number> {
    const tokens = rows.flatMap(({ token }) => token ?? []);
    const named = { jobs: JSON.stringify(rows.map(({ number }) => number)), tokens: JSON.stringify(tokens) };
    const all = this.#connection.attempt(() => this.#sql.endLeases.count(named) === rows.length);
    return new Set(all ? tokens : this.#sql.endSomeLeases.all(named).map(({ token }) => token));
  }

  /** Ends an attempt whose lease was taken away just now. */
  end(row: KnownRow, move: Move, now: number): Moved {
    return this.#apply(row, move, now, { revoke: false });
  }

  /** @param options `revoke`: the session that runs the attempt did not ask for its end, and is to be told. */
  write(row: KnownRow, move: Move, now: number, options: { revoke: boolean }): Moved {
    this.#leave(row, move);
    return this.#apply(row, move, now, options);
  }

  #apply(row: KnownRow, move: Move, now: number, options: { revoke: boolean }): Moved {
    const before = this.#lanes.get(row.lane);
    const lane = this.#laneAfter(before, move);
    const place = placeAfter(row, move);
    this.#record(row, move, now, place);
    if (lane.lane !== row.lane) this.#sql.changeLane.run({ number: row.number, lane: lane.lane });
    if (move.from === 'dead_letter') this.#renew(row, move);
    this.#enter(row, move, lane, { now, place });
    const revoked = options.revoke && row.session !== null ? this.#revoke(row, row.session) : null;
    return movedOf(row, lane, move, revoked);
  }

  #laneAfter(lane: LaneRow, move: Move): LaneRow {
    const other = laneAfter(lane, move);
    return other === null ? lane : this.#lanes.named(other);
  }

  #leave(row: KnownRow, move: Move): void {
    switch (move.from) {
      case 'queued':
        this.#leaveQueue(row);
        break;
      case 'running':
        this.#sql.endLease.run({ job: row.number, token: row.token });
        break;
      case 'dead_letter':
        this.#sql.answer.run({ job: row.number });
        break;
      case 'completed':
        throw new Error(`${row.id} is completed, and a move leads away from there`);
    }
  }

  #leaveQueue({ lane, priority, place, number }: KnownRow): void {
    const gone = this.#sql.dropReady.count({ lane, priority, place, job: number });
    if (gone === 0) this.#sql.dropScheduled.run({ due: place, job: number });
  }

  #record(row: KnownRow, move: Move, now: number, place: number): void {
    const event_count = this.#history.count(row, move);
    const events = this.#history.lines(row, move);
    const { number, since: started_at } = row;
    const { to: status, attempt, used, replays, artifact, artifacts } = move;
    if (status === 'completed') {
      this.#sql.complete.run({
        number,
        attempt,
        used,
        now,
        started_at,
        event_count,
        events,
        artifact: JSON.stringify(artifact),
        artifacts: artifacts.length === 0 ? null : JSON.stringify(artifacts),
      });
      return;
    }
    this.#sql.write.run({
      number,
      status,
      place,
      attempt,
      used,
      replays,
      now,
      started_at,
      finished_at: status === 'queued' ? null : now,
      event_count,
      events,
      errors: toLines(move.errors),
      decision: move.decision === null ? null : JSON.stringify(move.decision),
    });
  }

  #renew(row: KnownRow, { limits, spendingLimit }: Move): void {
    this.#sql.renewLimits.run({
      number: row.number,
      timeout_ms: limits.timeoutMs,
      max_attempts: limits.maxAttempts,
      deadline_at: limits.deadlineAt,
      deadline_ms: limits.deadlineMs,
    });
    if (spendingLimit !== undefined)
      this.#sql.limitSpending.run({ number: row.number, spending_limit: spendingLimit });
  }

  #enter(row: KnownRow, move: Move, { lane, tenant }: LaneRow, when: { now: number; place: number }): void {
    const { priority, number: job } = row;
    const { now, place } = when;
    if (move.to === 'queued') {
      const waiting = { lane, priority, job, deadline_at: move.limits.deadlineAt };
      if (move.due !== null && move.due > now) this.#sql.addScheduled.run({ ...waiting, due: move.due });
      else this.#sql.addReady.run({ ...waiting, place });
    }
    if (move.to === 'dead_letter') this.#ask(row, move, tenant);
  }

  #ask(row: KnownRow, move: Move, tenant: string): void {
    const { code, error } = shownError(row, move);
    this.#sql.ask.run({ job: row.number, tenant, code, error });
  }

  #revoke(row: KnownRow, session: string): string {
    this.#sql.revoke.run({ session, token: row.token, job_id: row.id });
    return session;
  }
}

type MoveStatement =
  | 'write'
  | 'complete'
  | 'changeLane'
  | 'renewLimits'
  | 'limitSpending'
  | 'endLease'
  | 'endLeases'
  | 'revoke'
  | 'addReady'
  | 'addScheduled'
  | 'dropReady'
  | 'dropScheduled'
  | 'ask'
  | 'answer';
