/**
 * Applies moves of the domain. A job was read without a lock and its move decided; here one statement takes the job out of
 * the table of the state that it was read in, and only what could be taken out is written. Whoever moved the job in
 * between has won, and this move was never there.
 *
 * The batch is in the order of job numbers, so that two transactions with jobs in common wait for each other in one order.
 */
import { decide } from '../../domain/decide.ts';
import type { Command, Move, Rules } from '../../domain/decide.ts';
import type { InlineBlob, Moved } from '../../ports/job-store.ts';
import { laneAfter } from '../shared/lanes.ts';
import { History, movedOf, placeAfter, shownError } from '../shared/moves.ts';
import { knownOf, toLines } from '../shared/rows.ts';
import type { SeenRow } from '../shared/rows.ts';
import { jobIn, names, numbers, repeated, texts } from './columns.ts';
import type { Connection } from './connection.ts';
import type { Lanes } from './lanes.ts';
import type { Marks, Place } from './marks.ts';
import { prepared } from './statements.ts';

/** In its job's record, which has to stay on its page when it is written: three such fit beside their former versions. */
const SMALL_OUTPUT = 512;

/** A job that was read and the move that was decided for it. */
export interface Planned {
  row: SeenRow;
  move: Move;
  blobs?: readonly InlineBlob[];
}

/** A job that somebody else moved first; null where a statement that gives a row at least has none to tell of. */
interface Lost {
  number: number | null;
}

export class Moves {
  readonly #sql;
  readonly #channel: string;
  readonly #lanes: Lanes;
  readonly #marks: Marks;
  readonly #rules: Rules;
  readonly #history = new History();

  constructor(connection: Connection, lanes: Lanes, marks: Marks, rules: Rules) {
    this.#sql = prepared<{ end: Lost; bury: Lost; revive: never }>(connection, 'moves');
    this.#channel = connection.channel;
    this.#lanes = lanes;
    this.#marks = marks;
    this.#rules = rules;
  }

  decide(row: SeenRow, command: Command) {
    return decide(knownOf(row), command, row.now, this.#rules);
  }

  /** Decides a command for each row, drops those that it does not fit any more, and applies the rest. */
  async force(
    rows: readonly SeenRow[],
    commandOf: () => Command,
    options: { revoke: boolean },
  ): Promise<Moved[]> {
    const planned = rows.flatMap((row) => {
      const { move } = this.decide(row, commandOf());
      return move === undefined ? [] : [{ row, move }];
    });
    const applied = await this.apply(planned, options);
    return applied.filter((moved) => moved !== null);
  }

  /**
   * @param planned moves that all lead away from the same state
   * @param options `revoke`: the sessions that run the attempts did not ask for their end, and are to be told
   * @returns for each, what was written, or null where somebody else moved the job first
   */
  async apply(planned: readonly Planned[], options: { revoke: boolean }): Promise<(Moved | null)[]> {
    const [first] = planned;
    if (first === undefined) return [];
    await this.#lanes.learn(planned.map(({ row }) => row));
    const sorted = planned.toSorted((a, b) => a.row.number - b.row.number);
    const lanes = await this.#lanesAfter(sorted);
    const lost = await this.#write(first.move.from, sorted, lanes, options);
    this.#marks.cameIn(sorted.flatMap((one, index) => waitingPlace(one, lanes[index])));
    return planned.map(({ row, move }) => (lost.has(row.number) ? null : this.#moved(row, move, options)));
  }

  async #lanesAfter(planned: readonly Planned[]): Promise<number[]> {
    const lanes: number[] = [];
    for (const { row, move } of planned) {
      const other = laneAfter(this.#lanes.get(row.lane), move);
      lanes.push(other === null ? row.lane : (await this.#lanes.named(other)).lane);
    }
    return lanes;
  }

  /** @returns the numbers of those that somebody else moved first: mostly none, so the answer is short */
  async #write(
    from: Move['from'],
    planned: readonly Planned[],
    lanes: number[],
    options: { revoke: boolean },
  ): Promise<Set<number | null>> {
    switch (from) {
      case 'running':
        return numbersOf(await this.#end(planned, lanes, options.revoke));
      case 'queued':
        return numbersOf(await this.#bury(planned));
      case 'dead_letter': {
        const revived = planned.map((one, index) => this.#revive(one, lanes[index] ?? one.row.lane));
        return numbersOf((await Promise.all(revived)).filter((one) => one !== null));
      }
      case 'completed':
        throw new Error('a move leads away from completed');
    }
  }

  #end(planned: readonly Planned[], lanes: number[], revoke: boolean): Promise<Lost[]> {
    const outputs = planned.map(outputOf);
    const others = planned.map(({ blobs = [] }, index) => blobs.filter((blob) => blob !== outputs[index]));
    const blobs = others.flat();
    const blobJobs = planned.flatMap(({ row }, index) => others[index]?.map(() => row.number) ?? []);
    return this.#sql.end.all({
      ...this.#common(planned),
      tokens: numbers(planned.map(({ row }) => row.token)),
      statuses: texts(planned.map(({ move }) => move.to)),
      lanes: numbers(lanes),
      places: numbers(planned.map(({ row, move }) => placeAfter(row, move))),
      dues: numbers(planned.map(({ move }) => move.due)),
      attempts: numbers(planned.map(({ move }) => move.attempt)),
      used: numbers(planned.map(({ move }) => move.used)),
      sinces: numbers(planned.map(({ row }) => row.since)),
      artifact: texts(planned.map(({ move }) => orNull(move.artifact))),
      artifacts: texts(
        planned.map(({ move }) => (move.artifacts.length === 0 ? null : JSON.stringify(move.artifacts))),
      ),
      blob_jobs: numbers(blobJobs),
      blob_uris: names(blobs.map(({ uri }) => uri)),
      blob_media_types: texts(blobs.map(({ mediaType }) => JSON.stringify(mediaType))),
      ...oneAfterAnother('blob', blobs),
      ...oneAfterAnother('output', outputs),
      small: SMALL_OUTPUT,
      revoke,
      channel: this.#channel,
    });
  }

  #bury(planned: readonly Planned[]): Promise<Lost[]> {
    return this.#sql.bury.all({
      ...this.#common(planned),
      seen: numbers(planned.map(({ row }) => row.event_count)),
    });
  }

  async #revive({ row, move }: Planned, lane: number): Promise<Lost | null> {
    const { limits } = move;
    const revived = await this.#sql.revive.count({
      channel: this.#channel,
      job: row.number,
      seen: row.event_count,
      lane,
      place: placeAfter(row, move),
      used: move.used,
      replays: move.replays,
      timeout_ms: limits.timeoutMs,
      max_attempts: limits.maxAttempts,
      deadline_at: limits.deadlineAt,
      deadline_ms: limits.deadlineMs,
      limits_spending: move.spendingLimit !== undefined,
      spending_limit: move.spendingLimit ?? null,
      now: row.now,
      event_count: move.events.length,
      events: toLines(move.events),
      decision: orNull(move.decision),
    });
    return revived === 1 ? null : { number: row.number };
  }

  #common(planned: readonly Planned[]) {
    const deaths = planned.map(({ row, move }) =>
      move.to === 'dead_letter'
        ? { tenant: this.#lanes.get(row.lane).tenant, ...shownError(row, move) }
        : null,
    );
    // what was claimed and ends together mostly has one history
    const events = repeated(planned.map(({ row, move }) => this.#history.lines(row, move)));
    return {
      now: planned[0]?.row.now ?? null,
      jobs: numbers(planned.map(({ row }) => row.number)),
      event_counts: numbers(planned.map(({ row, move }) => this.#history.count(row, move))),
      events: events.different,
      event_places: events.places,
      tenants: texts(deaths.map((death) => death?.tenant ?? null)),
      errors: texts(planned.map(({ move }) => toLines(move.errors))),
      decisions: texts(planned.map(({ move }) => orNull(move.decision))),
      codes: texts(deaths.map((death) => death?.code ?? null)),
      shown: texts(deaths.map((death) => death?.error ?? null)),
    };
  }

  #moved(row: SeenRow, move: Move, { revoke }: { revoke: boolean }): Moved {
    return movedOf(row, this.#lanes.get(row.lane), move, revoke ? row.session : null);
  }
}

/** Of the bytes that come with a move the output, where its job's record says all of it but the bytes; all else is kept under its URI. */
function outputOf({ row, move: { artifact }, blobs = [] }: Planned): InlineBlob | null {
  if (artifact === null || jobIn(artifact.uri) !== row.id) return null;
  return blobs.find(({ uri, mediaType }) => uri === artifact.uri && mediaType === artifact.mediaType) ?? null;
}

/** Bytes travel as one value and are parted by their places: an array of them would be hexadecimal text, on both sides. */
function oneAfterAnother(name: 'blob' | 'output', blobs: readonly (InlineBlob | null)[]) {
  const lengths = blobs.map((blob) => blob?.bytes.byteLength ?? null);
  let next = 1;
  const firsts = lengths.map((length) => (next += length ?? 0) - (length ?? 0));
  return {
    [`${name}_bytes`]: Buffer.concat(blobs.flatMap((blob) => blob?.bytes ?? [])),
    [`${name}_firsts`]: numbers(firsts),
    [`${name}_lengths`]: numbers(lengths),
  };
}

function numbersOf(lost: readonly Lost[]): Set<number | null> {
  return new Set(lost.map(({ number }) => number));
}

function orNull(value: object | null): string | null {
  return value === null ? null : JSON.stringify(value);
}

function waitingPlace({ row, move }: Planned, lane = row.lane): Place[] {
  if (move.to !== 'queued') return [];
  return [{ lane, rank: -row.priority, place: placeAfter(row, move), job: row.number }];
}
