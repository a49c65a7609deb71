import { expect, test } from 'vitest';
import { redact } from './redaction.ts';
import type { Content } from './redaction.ts';

function content(changed: Partial<Content>): Content {
  return { request: null, output: null, rest: null, ...changed };
}

test('a regular expression is tried on texts, numbers and names, as decoded', () => {
  const request = { texts: ['a "b"\n12', 'c'], n: 1234, '1234': true };
  const { contents, matches } = redact([content({ request })], [{ regex: '"b"\\n1' }, { regex: '1234' }], []);
  expect(contents[0]?.request).toEqual({
    texts: ['a [redacted]2', 'c'],
    n: '[redacted]',
    '[redacted]': true,
  });
  expect(matches).toEqual([1, 2]);
});

test('an escape of JSON hides nothing', () => {
  const { contents } = redact([content({ output: '{"a": "caf\\u00e9"}' })], [{ regex: 'café' }], []);
  expect(contents[0]?.output).toBe('{"a":"[redacted]"}');
});

test.each(['"iban":"[^"]*"', '"iban": "[^"]*"'])(
  '%s reaches from a name to its value, however it is spaced',
  (regex) => {
    const value = { iban: 'DE99' };
    const { contents } = redact(
      [content({ request: value, output: JSON.stringify(value) })],
      [{ regex }],
      [],
    );
    expect(JSON.stringify(contents)).not.toContain('DE99');
  },
);

test('rules that overlap take what both would take', () => {
  const rules = [{ regex: '\\d+' }, { regex: 'account \\d+ of \\w+' }];
  const { contents, matches } = redact([content({ output: 'account 12 of Ann, 3' })], rules, []);
  expect(contents[0]?.output).toBe('[redacted], [redacted]');
  expect(matches).toEqual([2, 1]);
});

test('what a pointer takes is taken wherever else it stands, in whichever call', () => {
  const first = content({ request: { input: [{ text: 'Ann Smith' }] }, output: 'Dear Ann Smith!' });
  const second = content({ output: '"Ann Smith"', rest: { id: 'Ann Smith', ann: 'Ann' } });
  const { contents } = redact([first, second], [{ pointer: '/request/input/0/text' }], []);
  expect(contents).toEqual([
    { request: { input: [{ text: '[redacted]' }] }, output: 'Dear [redacted]!', rest: null },
    { request: null, output: '"[redacted]"', rest: { id: '[redacted]', ann: 'Ann' } },
  ]);
});

test('a pointer takes a whole part, and leaves the rest as it came', () => {
  const output = '{ "a/b": {"c": [1, 2]}, "d": 1.0 }';
  const one = (pointer: string) => redact([content({ output })], [{ pointer }], []).contents[0]?.output;
  expect(one('/output/a~1b')).toBe('{"a/b":"[redacted]","d":1}');
  expect(one('/output/a~1b/c/1')).toBe('{"a/b":{"c":[1,"[redacted]"]},"d":1}');
  expect(one('/output/e')).toBe(output);
  expect(one('/output/toString')).toBe(output);
  expect(one('/output')).toBe('[redacted]');
});

test('an answer that a pointer cannot be followed in is withheld whole', () => {
  const { contents, matches } = redact([content({ output: '{"a": 1' })], [{ pointer: '/output/a' }], []);
  expect(contents[0]?.output).toBe('[redacted]');
  expect(matches).toEqual([1]);
});

test('a secret is taken out of everything, with no rule', () => {
  const secret = 'a+b/c=-$1';
  const value = { [`x${secret}`]: [secret, `${secret}${secret}`] };
  const { contents } = redact([content({ request: value, rest: value, output: `${secret}!` })], [], [secret]);
  expect(JSON.stringify(contents)).not.toContain(secret);
  expect(contents[0]?.output).toBe('[redacted]!');
});

test('a rule that matches the mark itself marks nothing twice', () => {
  const { contents } = redact([content({ request: { n: 'abc 1' } })], [{ regex: '[a-z]+' }], []);
  expect(contents[0]?.request).toEqual({ '[redacted]': '[redacted] 1' });
});
