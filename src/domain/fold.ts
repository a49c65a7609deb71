/** A history, folded: what its events alone say of the job. */
import type { ErrorCode } from './failures.ts';
import type { JobEvent, Status } from './record.ts';
import { isLegalEvent } from './transitions.ts';

export interface Folded {
  status: Status;
  attempt: number;
  used: number;
  replays: number;
  errorCodes: ErrorCode[];
}

/** @throws Error at the first event that the transition table does not know, or that does not follow. */
export function fold(events: readonly JobEvent[]): Folded {
  let state: Folded | null = null;
  for (const [index, event] of events.entries()) {
    if (!isLegalEvent(event) || event.from !== (state?.status ?? null)) {
      throw new Error(`event ${index + 1} is not legal here: ${event.type} ${event.from} -> ${event.to}`);
    }
    state = next(state, event);
  }
  if (state === null) throw new Error('a history without events');
  return state;
}

function next(state: Folded | null, event: JobEvent): Folded {
  const before = state ?? { status: 'queued', attempt: 0, used: 0, replays: 0, errorCodes: [] };
  const moved = { ...before, status: event.to, attempt: event.attempt };
  if (event.from === event.to) return moved;
  if (event.code !== undefined) moved.errorCodes = [...before.errorCodes, event.code];
  if (event.to === 'running') moved.used = before.used + 1;
  if (event.from === 'running' && event.type === 'queued' && event.code === undefined)
    moved.used = before.used - 1;
  if (event.from === 'dead_letter') return { ...moved, used: 0, replays: before.replays + 1 };
  return moved;
}
