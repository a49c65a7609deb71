import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { createWakeups } from '../engine/wakeups.ts';
import type { Wakeup } from '../ports/wakeups.ts';
import { bridge, readFromWorker, readToWorker } from './channel.ts';

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

test('more wake-ups than a message may carry cross as several', async () => {
  const wakeups = createWakeups();
  const sent: Wakeup[][] = [];
  bridge({ wakeups, carries: ['moved'], send: (batch) => sent.push(batch) });
  for (let count = 0; count < 2_500; count += 1) wakeups.emit({ type: 'moved', jobId: `job_${count}` });
  await nextTurn();
  expect(sent.map((batch) => batch.length)).toEqual([1_000, 1_000, 500]);
  for (const batch of sent) expect(readToWorker({ type: 'wakeups', wakeups: batch })).not.toBeNull();
});

test('a message of the worker counts only with the nonce of its start', () => {
  const session = `ses_${'0'.repeat(26)}`;
  for (const message of [
    { type: 'beat' },
    { type: 'session', session },
    { type: 'wakeups', wakeups: [{ type: 'moved', jobId: 'job_1' }] },
  ]) {
    expect(readFromWorker({ ...message, nonce: 'n' }, 'n')).toEqual(message);
    expect(readFromWorker({ ...message, nonce: 'm' }, 'n')).toBeNull();
    expect(readFromWorker(message, 'n')).toBeNull();
  }
});

test('whatever arrives is a message of ours or nothing, and never an error', () => {
  const shape = fc.record(
    {
      type: fc.constantFrom<unknown>('start', 'stop', 'session', 'beat', 'wakeups', 'x', null),
      nonce: fc.constantFrom<unknown>('n', null),
      session: fc.anything(),
      wakeups: fc.oneof(fc.anything(), fc.array(fc.anything())),
      start: fc.anything(),
      beatMs: fc.anything(),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(fc.oneof(fc.anything(), shape), (message) => {
      const said = readFromWorker(message, 'n');
      if (said?.type === 'session') expect(said.session).toMatch(/^ses_/);
      const told = readToWorker(message);
      for (const one of [said, told]) {
        if (one?.type !== 'wakeups') continue;
        for (const { type } of one.wakeups) expect(['queued', 'moved', 'revoked']).toContain(type);
      }
    }),
  );
});
