import { expect, test } from 'vitest';
import { layOut } from './layout.ts';
import type { Run } from './layout.ts';

/** Ten points high, six points a character. */
function run(x: number, y: number, text: string): Run {
  return { x, y, text, width: text.length * 6, size: 10 };
}

test('columns stand below each other, whatever the order in which they were drawn', () => {
  const page = [
    run(300, 120, '2026-03-14'),
    run(60, 100, 'Invoice no'),
    run(300, 100, 'Date'),
    run(60, 120, 'R-17'),
  ];
  expect(layOut([page]).split('\n')).toEqual([
    `Invoice no${' '.repeat(30)}Date`,
    `R-17${' '.repeat(36)}2026-03-14`,
  ]);
});

test('runs that touch are one word, runs a space apart two, runs further apart two columns', () => {
  expect(layOut([[run(0, 0, 'In'), run(12, 0, 'voice'), run(45, 0, 'no')]])).toBe('Invoice no');
  expect(layOut([[run(0, 0, 'Total'), run(42, 0, '5.00')]])).toBe('Total  5.00');
});

test('a little above or below is the same line, a gap is an empty one', () => {
  expect(layOut([[run(0, 0, 'a'), run(18, 2, 'b'), run(0, 13, 'c'), run(0, 40, 'd')]])).toBe('a  b\nc\n\nd');
});

test('pages are parted by a form feed', () => {
  expect(layOut([[run(0, 0, 'one')], [], [run(0, 0, 'three')]])).toBe('one\n\f\n\n\f\nthree');
});

test('control characters and halves of characters do not get through', () => {
  expect(layOut([[run(0, 0, 'a\u0000b\nc\ud800d')]])).toBe('a  b  c\ufffdd');
});

test('places that no page has do not make a text that no memory has', () => {
  const wild = [Number.MAX_VALUE, -1e300, Number.NaN, Number.POSITIVE_INFINITY];
  const page = wild.flatMap((x) => wild.map((y) => ({ text: 'x', x, y, width: x, size: y })));
  expect(layOut([page]).length).toBeLessThan(20_000);
});
