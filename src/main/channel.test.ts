import { expect, test } from 'vitest';
import { createWakeups } from '../engine/wakeups.ts';
import type { Wakeup } from '../ports/wakeups.ts';
import { bridge } from './channel.ts';

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

test('the wake-ups of one turn cross as one message, without those the other side cannot use or has twice', async () => {
  const wakeups = createWakeups();
  const sent: Wakeup[][] = [];
  bridge({ wakeups, carries: ['queued', 'revoked'], send: (batch) => sent.push(batch) });
  wakeups.emit({ type: 'queued' });
  wakeups.emit({ type: 'moved', jobId: 'job_1' });
  wakeups.emit({ type: 'queued' });
  wakeups.emit({ type: 'revoked', session: 'ses_1' });
  await nextTurn();
  expect(sent).toEqual([[{ type: 'queued' }, { type: 'revoked', session: 'ses_1' }]]);
  wakeups.emit({ type: 'queued' });
  await nextTurn();
  expect(sent).toHaveLength(2);
});

test('what arrives is told here and not sent back', async () => {
  const wakeups = createWakeups();
  const sent: Wakeup[][] = [];
  const heard: Wakeup[] = [];
  wakeups.on((wakeup) => heard.push(wakeup));
  const { arrived } = bridge({ wakeups, carries: ['moved'], send: (batch) => sent.push(batch) });
  arrived([{ type: 'moved', jobId: 'job_1' }]);
  await nextTurn();
  expect(heard).toEqual([{ type: 'moved', jobId: 'job_1' }]);
  expect(sent).toEqual([]);
});

test('after its end nothing crosses', async () => {
  const wakeups = createWakeups();
  const sent: Wakeup[][] = [];
  const { close } = bridge({ wakeups, carries: ['queued'], send: (batch) => sent.push(batch) });
  close();
  wakeups.emit({ type: 'queued' });
  await nextTurn();
  expect(sent).toEqual([]);
});
