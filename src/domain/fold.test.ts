/** The transition table, and what folds and what does not. */
import { describe, expect, test } from 'vitest';
import { ERROR_CODES } from './failures.ts';
import { fold } from './fold.ts';
import type { EventType, JobEvent, Status } from './record.ts';
import { isLegalEvent, STILL_EVENTS } from './transitions.ts';

const STATUSES: Status[] = ['queued', 'running', 'completed', 'dead_letter'];
const TYPES: EventType[] = [
  'queued',
  'running',
  'completed',
  'dead_letter',
  'requeued_after_restart',
  ...STILL_EVENTS,
];

function event(type: EventType, from: Status | null, to: Status, more: Partial<JobEvent> = {}): JobEvent {
  return { type, from, to, at: 0, attempt: 0, ...more };
}

describe('isLegalEvent', () => {
  test('knows eight edges that move the state and no other', () => {
    const moving = TYPES.filter((type) => !STILL_EVENTS.includes(type));
    const legal = moving
      .flatMap((type) =>
        [null, ...STATUSES].flatMap((from) =>
          STATUSES.map((to) => event(type, from, to, { code: 'cancelled' })),
        ),
      )
      .filter(isLegalEvent)
      .map(({ type, from, to }) => `${from} -> ${to}: ${type}`);
    expect(legal.toSorted()).toEqual([
      'dead_letter -> queued: queued',
      'null -> queued: queued',
      'queued -> dead_letter: dead_letter',
      'queued -> running: running',
      'running -> completed: completed',
      'running -> dead_letter: dead_letter',
      'running -> queued: queued',
      'running -> queued: requeued_after_restart',
    ]);
  });

  test('lets a waiting job die of its deadline or a cancel alone', () => {
    const deadly = ERROR_CODES.filter((code) =>
      isLegalEvent(event('dead_letter', 'queued', 'dead_letter', { code })),
    );
    expect(deadly).toEqual(['deadline_exceeded', 'cancelled']);
    expect(isLegalEvent(event('dead_letter', 'queued', 'dead_letter'))).toBe(false);
  });

  test.each(STILL_EVENTS)('keeps the state at %s', (type) => {
    expect(STATUSES.every((status) => isLegalEvent(event(type, status, status)))).toBe(true);
    expect(isLegalEvent(event(type, 'queued', 'running'))).toBe(false);
    expect(isLegalEvent(event(type, null, 'queued'))).toBe(false);
  });
});

describe('fold', () => {
  const born = event('queued', null, 'queued');
  const ran = event('running', 'queued', 'running', { attempt: 1 });

  test.each([
    ['nothing', []],
    ['a history that does not begin', [ran]],
    ['a history that begins twice', [born, born]],
    ['an event that does not follow', [born, event('completed', 'running', 'completed', { attempt: 1 })]],
    ['an edge outside the table', [born, event('completed', 'queued', 'completed')]],
  ])('throws at %s', (_, events) => {
    expect(() => fold(events)).toThrow();
  });

  test('counts claims, gives back what was released and starts afresh at a replay', () => {
    const lives = [
      born,
      ran,
      event('queued', 'running', 'queued', { attempt: 1 }),
      event('running', 'queued', 'running', { attempt: 2 }),
      event('dead_letter', 'running', 'dead_letter', { attempt: 2, code: 'refused' }),
    ];
    expect(fold(lives)).toEqual({
      status: 'dead_letter',
      attempt: 2,
      used: 1,
      replays: 0,
      errorCodes: ['refused'],
    });
    const replayed = [...lives, event('queued', 'dead_letter', 'queued', { attempt: 2 })];
    expect(fold(replayed)).toEqual({
      status: 'queued',
      attempt: 2,
      used: 0,
      replays: 1,
      errorCodes: ['refused'],
    });
  });
});
