import { expect, it } from 'vitest';
import { names } from './columns.ts';

it('names travel as one text', () => {
  expect(names(['a', 'b'])).toBe('a\u001eb');
});

it.each([
  ['what would part it in two', 'a\u001eb'],
  ['what PostgreSQL cannot hold', 'a\u0000'],
  ['half of a character', 'a\ud800'],
])('a name with %s is refused, wherever it stands', (_, bad) => {
  for (const values of [[bad], ['a', bad], [bad, '\udc00']]) {
    expect(() => names(values)).toThrow(`${JSON.stringify(bad)} is no name`);
  }
});
