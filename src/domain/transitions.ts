/**
 * The transition table: the only edges a job's state may take, and the events that mark them.
 * Everything that decides, folds or checks a history reads this one table.
 */
import type { EventType, JobEvent, Status } from './record.ts';

export interface Transition {
  event: EventType;
  from: Status | null;
  to: Status;
  cause: string;
}

export const TRANSITIONS: readonly Transition[] = [
  { event: 'queued', from: null, to: 'queued', cause: 'accepted' },
  { event: 'running', from: 'queued', to: 'running', cause: 'claimed by a worker' },
  { event: 'completed', from: 'running', to: 'completed', cause: 'the artifact is durable' },
  { event: 'queued', from: 'running', to: 'queued', cause: 'a retry, a release at shutdown, or a hold' },
  { event: 'requeued_after_restart', from: 'running', to: 'queued', cause: 'the lease holder disappeared' },
  { event: 'dead_letter', from: 'running', to: 'dead_letter', cause: 'no automatic retry is left' },
  { event: 'dead_letter', from: 'queued', to: 'dead_letter', cause: 'deadline passed, or cancelled' },
  { event: 'queued', from: 'dead_letter', to: 'queued', cause: 'replayed by a person' },
];

/** Events that tell something without moving the state (`from` equals `to`). */
export const STILL_EVENTS: readonly EventType[] = [
  'cancel_requested',
  'decision',
  'deadline_extended',
  'erased',
];

/** The only causes that take a job from queued straight to dead letter. */
const QUEUED_DEATHS: readonly string[] = ['deadline_exceeded', 'cancelled'];

export function isLegalEvent(event: JobEvent): boolean {
  if (STILL_EVENTS.includes(event.type)) return event.from === event.to;
  const edge = TRANSITIONS.some(
    (row) => row.event === event.type && row.from === event.from && row.to === event.to,
  );
  if (!edge) return false;
  const diedWaiting = event.from === 'queued' && event.to === 'dead_letter';
  return !diedWaiting || (event.code !== undefined && QUEUED_DEATHS.includes(event.code));
}
