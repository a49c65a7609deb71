import { expect, it } from 'vitest';
import type { Log } from '../ports/telemetry.ts';
import { workflowLog } from './workflow-log.ts';

function recording() {
  const calls: unknown[][] = [];
  const record = (...call: unknown[]) => void calls.push(call);
  const log: Log = { debug: record, info: record, warn: record, error: record, child: () => log };
  return { calls, log: workflowLog(log) };
}

it('lets numbers, booleans and errors through, and no text under any name', () => {
  const { calls, log } = recording();
  const error = new Error('x');
  log.info({ page: 3, cached: true, error, key: 'sesame', prompt: 'sesame', list: ['sesame'] }, 'read');
  expect(calls).toEqual([[{ page: 3, cached: true, error }, 'read']]);
});

it('does not let a workflow speak for another attempt', () => {
  const { calls, log } = recording();
  log.child({ attempt: 9 }).warn({ attempt: 9, job_id: 1, done: 5 }, 'read');
  expect(calls).toEqual([[{ done: 5 }, 'read']]);
});

it('takes whatever a function without a compiler hands over', () => {
  const { calls, log } = recording();
  const hostile = Object.defineProperty({}, 'a', { enumerable: true, get: () => JSON.parse('{') as number });
  log.info('a text alone' as unknown as object, undefined as unknown as string);
  log.info(null as unknown as object, 'none');
  log.info(hostile, 'hostile');
  expect(calls).toEqual([
    ['a text alone', undefined],
    [null, 'none'],
    [{}, 'hostile'],
  ]);
});
