import { expect, it } from 'vitest';
import { Marks } from './marks.ts';

const PLACE = { lane: 1, rank: 0, place: 10_000, job: 7 };

function resting(): Marks {
  const marks = new Marks();
  marks.claimed(PLACE);
  marks.looked(1000, 20);
  return marks;
}

it('claims begin at the start as long as that is cheap', () => {
  const marks = new Marks();
  marks.claimed(PLACE);
  marks.looked(1000, 4.9);
  expect(marks.at(1000)).toEqual([]);
});

it('after an expensive look they begin a little before the last claimed place, for twenty times as long', () => {
  const marks = resting();
  expect(marks.at(1399)).toEqual([{ ...PLACE, place: 9750 }]);
  expect(marks.at(1400)).toEqual([]);
});

it('they look from the start once a second, however expensive that is', () => {
  const marks = resting();
  marks.looked(1000, 5000);
  expect([marks.at(1999).length, marks.at(2000).length]).toEqual([1, 0]);
});

it('after a claim that began at marks, it is known when one begins at the start again', () => {
  const marks = resting();
  expect(marks.restMs(1000)).toBe(null);
  marks.at(1100);
  expect([marks.restMs(1150), marks.restMs(1500)]).toEqual([250, 0]);
  marks.at(1400);
  expect(marks.restMs(1400)).toBe(null);
});

it('the mark goes on, and never back', () => {
  const marks = resting();
  marks.claimed({ ...PLACE, rank: -1, place: 20_000 });
  expect(marks.at(1000)[0]).toMatchObject({ rank: 0, place: 9750 });
  marks.claimed({ ...PLACE, place: 10_001 });
  expect(marks.at(1000)[0]).toMatchObject({ rank: 0, place: 9751 });
});

it('what comes in before the mark of its lane takes that mark away, and no other', () => {
  for (const before of [{ rank: -1 }, { place: 9999 }, { job: 6 }]) {
    const marks = resting();
    marks.claimed({ ...PLACE, lane: 2 });
    marks.cameIn([{ ...PLACE, ...before }]);
    expect(marks.at(1000).map(({ lane }) => lane)).toEqual([2]);
  }
  const marks = resting();
  marks.cameIn([
    { ...PLACE, rank: 1 },
    { ...PLACE, place: 10_001 },
    { ...PLACE, lane: 3, rank: -5 },
  ]);
  expect(marks.at(1000)).toHaveLength(1);
});
