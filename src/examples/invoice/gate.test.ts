import { expect, test } from 'vitest';
import { Gate } from './gate.ts';

const never = new AbortController().signal;

function deferred() {
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

test('no more tasks run at once than the gate is wide, and each has its turn in order', async () => {
  const gate = new Gate(2);
  const order: number[] = [];
  let running = 0;
  let most = 0;
  const task = (number: number) =>
    gate.pass(never, async () => {
      order.push(number);
      running += 1;
      most = Math.max(most, running);
      await new Promise(setImmediate);
      running -= 1;
    });
  const early = [1, 2, 3, 4, 5].map(task);
  await early[0];
  await Promise.all([...early, ...[6, 7, 8, 9].map(task)]);
  expect(most).toBe(2);
  expect(order).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
});

test('a task whose signal fires while it waits is never started, and those behind it are', async () => {
  const gate = new Gate(1);
  const { promise: first, resolve: endFirst } = deferred();
  const leaving = new AbortController();
  const started: string[] = [];
  const running = gate.pass(never, () => first);
  const left = gate.pass(leaving.signal, async () => void started.push('left'));
  const last = gate.pass(never, async () => void started.push('last'));
  leaving.abort(new Error('cancelled'));
  await expect(left).rejects.toThrow('cancelled');
  endFirst();
  await Promise.all([running, last]);
  expect(started).toEqual(['last']);
});

test('a task that fails makes room for the next', async () => {
  const gate = new Gate(1);
  await expect(gate.pass(never, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  await expect(gate.pass(never, async () => 'yes')).resolves.toBe('yes');
});
