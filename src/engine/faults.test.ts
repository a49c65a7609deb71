import { expect, it } from 'vitest';
import type { Clock } from '../ports/clock.ts';
import { StorageFullError } from '../ports/job-store.ts';
import type { Log } from '../ports/telemetry.ts';
import { patiently } from './faults.ts';

/** Time passes as soon as somebody waits for it. */
const hurried: Clock = {
  now: () => 0,
  monotonicMs: () => 0,
  after: (_, act) => {
    queueMicrotask(act);
    return () => {};
  },
};

function patienceOf(signal: AbortSignal) {
  const warned: object[] = [];
  const log: Log = {
    debug: () => {},
    info: () => {},
    warn: (fields) => void warned.push(fields),
    error: () => {},
    child: () => log,
  };
  return { warned, patience: { clock: hurried, signal, log } };
}

it('what finds no room is tried again until it does, and the reason is told once', async () => {
  const { warned, patience } = patienceOf(new AbortController().signal);
  let left = 3;
  const kept = await patiently(patience, async () => {
    if (left-- > 0) throw new StorageFullError('full');
    return 'kept';
  });
  expect([kept, warned]).toEqual(['kept', [{ error_name: 'StorageFullError' }]]);
});

it('a defect is not tried again, and nobody waits past the signal', async () => {
  const { warned, patience } = patienceOf(AbortSignal.abort(new Error('it is over')));
  const defect = () => Promise.reject(new TypeError('a defect'));
  await expect(patiently(patience, defect)).rejects.toThrow('a defect');
  const full = () => Promise.reject(new StorageFullError('full'));
  await expect(patiently(patience, full)).rejects.toThrow('it is over');
  expect(warned).toHaveLength(1);
});
