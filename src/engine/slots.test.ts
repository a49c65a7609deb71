import { expect, it } from 'vitest';
import type { Attempt } from './attempt.ts';
import { createSlots } from './slots.ts';
import type { Slots } from './slots.ts';

/** An attempt that is settled without its function, and whose function returns when it is told to. */
function addDeaf(slots: Slots, token: number): { comeBack: () => void } {
  const attempt: Attempt = { job: { token } as Attempt['job'], end: () => {} };
  slots.add(attempt);
  slots.hasConcluded(attempt);
  return { comeBack: () => slots.hasReturned(attempt) };
}

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

it('is stuck once attempts that ignore their signal hold all that may be held now, be it a single one', () => {
  const narrow = slotsOf(1);
  addDeaf(narrow.slots, 1);
  expect(narrow.told.stuck).toBe(1);
  const wide = slotsOf(2);
  addDeaf(wide.slots, 1);
  expect(wide.told.stuck).toBe(0);
  addDeaf(wide.slots, 2);
  expect(wide.told.stuck).toBe(1);
});

it('gives a slot back only when its function has returned', () => {
  const { slots, told } = slotsOf(2);
  const { comeBack } = addDeaf(slots, 1);
  expect([slots.taken(), told.free]).toEqual([1, 0]);
  comeBack();
  expect([slots.taken(), told.free]).toEqual([0, 1]);
});

it('waits for the attempts that the record waits for, and not for those that came later', async () => {
  const { slots } = slotsOf(3);
  addDeaf(slots, 1);
  const [attempt, later] = [2, 3].map((token) => ({ job: { token } as Attempt['job'], end: () => {} }));
  if (attempt === undefined || later === undefined) throw new Error('there are two');
  slots.add(attempt);
  let concluded = false;
  const waited = slots.concluded().then(() => {
    concluded = true;
  });
  slots.add(later);
  await Promise.resolve();
  expect(concluded).toBe(false);
  slots.hasConcluded(attempt);
  await waited;
});

it('ends the attempts of the tokens that it knows, and gives back the others', () => {
  const { slots } = slotsOf(2);
  addDeaf(slots, 1);
  expect(slots.end(new Set([1, 7]), 'revoked')).toEqual([7]);
});
