/** What a store derives from a move of the domain before it writes it. */
import type { Move } from '../../domain/decide.ts';
import type { JobEvent } from '../../domain/record.ts';
import type { Moved } from '../../ports/job-store.ts';
import type { LaneRow } from './lanes.ts';
import { runningEvent, toLines } from './rows.ts';
import type { KnownRow } from './rows.ts';

/** Writes what a move adds to the history: at its attempt's end, the `running` event becomes a line of it as well. */
export class History {
  /** What was claimed together mostly began at one time, and what completes together has one history. */
  #last = { since: 0, attempt: 0, worker: '', line: '' };
  #completed = { at: 0, running: '', lines: '' };

  lines(row: KnownRow, move: Move): string {
    const running = this.#running(row);
    const [event] = move.events;
    if (event?.type !== 'completed' || running === '') return running + toLines(move.events);
    const last = this.#completed;
    // nothing but its time is in a completion that the line of its beginning does not hold
    if (last.at !== event.at || last.running !== running)
      this.#completed = { at: event.at, running, lines: running + toLines(move.events) };
    return this.#completed.lines;
  }

  /** How many lines these are. */
  count(row: KnownRow, move: Move): number {
    return (row.since === null ? 0 : 1) + move.events.length;
  }

  #running({ since, attempt: before, worker }: KnownRow): string {
    if (since === null || worker === null) return '';
    const attempt = before + 1;
    const last = this.#last;
    if (last.since !== since || last.attempt !== attempt || last.worker !== worker)
      this.#last = { since, attempt, worker, line: toLines([runningEvent({ since, attempt, worker })]) };
    return this.#last.line;
  }
}

/**
 * Where a queued job stands among those of its priority: when it came in, or when it became due. One that a worker
 * released gets the place again that it had. Of suspects the one stands first that began last: what soon ends its
 * worker is soon found. That place is none among the others.
 */
export function placeAfter(row: KnownRow, move: Move): number {
  if (move.to !== 'queued' || move.due === null) return row.place;
  if ((move.suspicion ?? 0) > 0) return -(row.since ?? 0);
  const takenBack = move.from === 'running' && move.due <= (move.events.at(-1)?.at ?? 0);
  return takenBack && (row.place > 0 || move.suspicion !== 0) ? row.place : move.due;
}

export function movedOf(
  row: { id: string },
  lane: LaneRow,
  move: Move,
  revokedSession: string | null,
): Moved {
  const event = movingEvent(move);
  if (event === null) throw new Error(`a move of ${row.id} moves nothing`);
  return {
    jobId: row.id,
    tenant: lane.tenant,
    workflow: lane.workflow,
    event: event.type,
    status: move.to,
    attempt: move.attempt,
    code: event.code ?? null,
    worker: event.worker ?? null,
    revokedSession,
    due: move.due,
  };
}

function movingEvent({ events }: Move): JobEvent | null {
  for (const event of events) if (event.from !== event.to) return event;
  return null;
}

/** What a status shows of a death. */
export function shownError(row: { id: string }, move: Move): { code: string; error: string } {
  const last = move.errors.at(-1);
  if (last === undefined) throw new Error(`${row.id} died without an error`);
  const { code, message, attempt } = last;
  return { code, error: JSON.stringify({ code, message, attempt }) };
}
