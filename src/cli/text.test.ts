import { expect, test } from 'vitest';
import { columns, jsonText, palette, paragraph, plain } from './text.ts';

const NASTY = 'a\u001b[2Jb\u009bc\u007fd\ne\tf\u202eg\u2028h\u061ci\u200bj\u{e0041}k\ud800';

test('nothing in a shown value can steer the terminal or turn the text', () => {
  expect(plain(NASTY)).toBe(
    'a\\u001b[2Jb\\u009bc\\u007fd\\ne\\tf\\u202eg\\u2028h\\u061ci\\u200bj\\udb40\\udc41k\ufffd',
  );
});

test('JSON output holds no such character either, and parses to the same value', () => {
  const value = { [NASTY]: [NASTY] };
  const text = jsonText(value);
  expect(text.replaceAll('\n', '')).toMatch(/^[\x20-\x7e]*$/);
  expect(JSON.parse(text)).toEqual(value);
});

test('colours are there only where they were asked for', () => {
  expect(palette(true).bad('x')).toBe('\u001b[31mx\u001b[39m');
  expect(palette(false).bad('x')).toBe('x');
});

test('columns line up by what is seen, whatever is coloured, without blanks at the end', () => {
  const { bad } = palette(true);
  const rows = [
    [{ text: 'a', style: bad }, { text: 'bb' }, { text: '' }],
    [{ text: 'long' }, { text: 'c' }, { text: 'd' }],
  ];
  expect(columns(rows, '  ')).toEqual(['  \u001b[31ma\u001b[39m     bb', '  long  c   d']);
});

test('a paragraph wraps at blanks and never inside a word', () => {
  const options = { labelWidth: 5, columns: 25, style: (text: string) => text };
  expect(paragraph('Now', 'one two three four job_with_a_very_long_name five', options)).toEqual([
    'Now  one two three four',
    '     job_with_a_very_long_name',
    '     five',
  ]);
});
