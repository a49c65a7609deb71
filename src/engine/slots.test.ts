import { expect, it } from 'vitest';
import type { Attempt } from './attempt.ts';
import { createSlots } from './slots.ts';

/** An attempt that was settled without its function, and whose function returns when it is told to. */
function deaf(token: number): { attempt: Attempt; comeBack: () => void } {
  let comeBack = () => {};
  const returned = new Promise<void>((resolve) => {
    comeBack = resolve;
  });
  const job = { token } as Attempt['job'];
  return { attempt: { job, end: () => {}, concluded: Promise.resolve(), returned }, comeBack };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

function slotsOf(width: number) {
  const told = { stuck: 0, free: 0 };
  const slots = createSlots({
    width,
    onFree: () => void (told.free += 1),
    onStuck: () => void (told.stuck += 1),
    onUnsettled: () => {},
  });
  return { slots, told };
}

it('is stuck once attempts that ignore their signal hold all that may be held now, be it a single one', async () => {
  const narrow = slotsOf(1);
  narrow.slots.add(deaf(1).attempt);
  await turn();
  expect(narrow.told.stuck).toBe(1);
  const wide = slotsOf(2);
  wide.slots.add(deaf(1).attempt);
  await turn();
  expect(wide.told.stuck).toBe(0);
  wide.slots.add(deaf(2).attempt);
  await turn();
  expect(wide.told.stuck).toBe(1);
});

it('gives a slot back only when its function has returned', async () => {
  const { slots, told } = slotsOf(2);
  const { attempt, comeBack } = deaf(1);
  slots.add(attempt);
  await turn();
  expect([slots.taken(), told.free]).toEqual([1, 0]);
  comeBack();
  await turn();
  expect([slots.taken(), told.free]).toEqual([0, 1]);
});

it('ends the attempts of the tokens that it knows, and gives back the others', () => {
  const { slots } = slotsOf(2);
  slots.add(deaf(1).attempt);
  expect(slots.end(new Set([1, 7]), 'revoked')).toEqual([7]);
});
