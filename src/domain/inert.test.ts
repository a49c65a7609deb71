import { expect, test } from 'vitest';
import { inert } from './inert.ts';

test.each([
  ['a control', '\u001b', '\\u001b'],
  ['a control of the second block', '\u009b', '\\u009b'],
  ['a soft hyphen', '\u00ad', '\\u00ad'],
  ['an Arabic letter mark', '\u061c', '\\u061c'],
  ['a space without width', '\u200b', '\\u200b'],
  ['a mark from left to right', '\u200e', '\\u200e'],
  ['a mark from right to left', '\u200f', '\\u200f'],
  ['a line separator', '\u2028', '\\u2028'],
  ['a paragraph separator', '\u2029', '\\u2029'],
  ['an override of direction', '\u202e', '\\u202e'],
  ['an isolate', '\u2066', '\\u2066'],
  ['a byte order mark', '\ufeff', '\\ufeff'],
  ['a tag', '\u{e0041}', '\\udb40\\udc41'],
  ['a tag that has no meaning yet', '\u{e0000}', '\\udb40\\udc00'],
])('%s stands as an escape, and means the same in JSON', (_, character, shown) => {
  expect(inert(`a${character}b`)).toBe(`a${shown}b`);
  expect(JSON.parse(inert(JSON.stringify(character)))).toBe(character);
});

test('what is only seen stays as it is, and lines stay lines', () => {
  const text = 'Zażółć, 東京, עברית, 👍 e\u0301\nnext';
  expect(inert(text)).toBe(text);
});
