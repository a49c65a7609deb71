import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readJson, readJsonText } from './json-text.ts';

const bytes = (text: string) => new TextEncoder().encode(text);

/** What `JSON.parse` makes of a text, or undefined where it is none. */
function parsed(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

function refusal(text: string) {
  const read = readJsonText(text);
  return read.ok ? 'accepted' : read.issue;
}

const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;

describe('a JSON text', () => {
  it('is read as JSON.parse reads it, whatever value it came from', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 8 }), fc.constantFrom(undefined, 1, '\t'), (text, space) => {
        const value: unknown = JSON.parse(text);
        const spaced = JSON.stringify(value, null, space);
        fc.pre(!holdsRefusedThings(value));
        expect(readJsonText(spaced)).toEqual({ ok: true, value });
      }),
      { numRuns: 500 },
    );
  });

  it('is accepted exactly where JSON.parse accepts it, also when it was damaged', () => {
    const damaged = fc
      .tuple(
        fc.json({ maxDepth: 4 }),
        fc.nat(),
        fc.constantFrom('', ',', '}', ']', '"', '\\', '0', '.', '-', 'e', ' ', '\u0001', ':', 'tru'),
      )
      .map(([text, at, piece]) => {
        const where = at % (text.length + 1);
        return `${text.slice(0, where)}${piece}${text.slice(where + (piece === '' ? 1 : 0))}`;
      });
    fc.assert(
      fc.property(damaged, (text) => {
        const expected = parsed(text);
        const read = readJsonText(text);
        if (expected === undefined) expect(read.ok).toBe(false);
        else if (read.ok) expect(read.value).toEqual(expected.value);
        else expect(read.issue.message).toMatch(/twice|not allowed|too large|2\^53/);
      }),
      { numRuns: 3000 },
    );
  });

  it('is accepted exactly where JSON.parse accepts it, made of fragments of its grammar', () => {
    const token = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"a"',
      '"b\\n"',
      '1',
      '-0',
      '1.5e3',
      '01',
      'true',
      'null',
      ' ',
      '\n',
      '"',
      '\\u00e9',
    );
    fc.assert(
      fc.property(fc.array(token, { maxLength: 10 }), (tokens) => {
        const text = tokens.join('');
        const read = readJsonText(text);
        if (read.ok) expect({ value: read.value }).toEqual(parsed(text));
        else if (!/twice|2\^53|too large/.test(read.issue.message)) expect(parsed(text)).toBeUndefined();
      }),
      { numRuns: 5000 },
    );
  });

  it('ends a string where JSON.parse ends it, however long it is', () => {
    for (let length = 0; length < 60; length += 1) {
      const run = 'x'.repeat(length);
      for (const rest of ['"]', '\\n"]', '\\n', '\\', '\\q"]', '\u0001"]', '\u2028\u007f"]', '']) {
        const text = `["${run}${rest}`;
        const expected = parsed(text);
        const read = readJsonText(text);
        expect(read.ok ? { value: read.value } : undefined, text).toEqual(expected);
      }
    }
  });

  it('keeps U+0000 and lone surrogates that are written as escapes', () => {
    const text = '{"a\\u0000":"\\ud800","b":"\\udfff\\u0000"}';
    expect(readJsonText(text)).toEqual({ ok: true, value: { 'a\u0000': '\ud800', b: '\udfff\u0000' } });
  });

  it('may be nested 64 deep and no deeper, and a million brackets end no process', () => {
    expect(readJsonText(nested(64)).ok).toBe(true);
    expect(refusal(nested(65))).toMatchObject({ message: 'nested deeper than 64 levels' });
    expect(refusal('['.repeat(1_000_000))).toMatchObject({ message: 'nested deeper than 64 levels' });
    expect(refusal('{"a":'.repeat(65))).toMatchObject({ path: '/a'.repeat(64) });
  });

  it('names the place of a key that is given twice, however it is written', () => {
    expect(refusal('{"a":[0,{"b":1,"b":2}]}')).toEqual({
      path: '/a/1/b',
      message: 'this key is given twice',
    });
    expect(refusal('{"a":1,"\\u0061":2}')).toEqual({ path: '/a', message: 'this key is given twice' });
    expect(readJsonText('[{"a":1},{"a":1}]').ok).toBe(true);
  });

  it.each([
    ['{"__proto__":{"admin":true}}', '/__proto__'],
    ['{"input":{"\\u005f_proto__":1}}', '/input/__proto__'],
    ['{"input":{"constructor":{"prototype":{}}}}', '/input/constructor/prototype'],
  ])('refuses keys that reach for a prototype: %s', (text, path) => {
    expect(refusal(text)).toEqual({ path, message: 'this key is not allowed' });
  });

  it('lets pass "constructor" and "prototype" where they are only words', () => {
    expect(readJsonText('{"constructor":"Bob","prototype":{"constructor":[{"prototype":1}]}}').ok).toBe(true);
  });

  it.each([
    ['{"n":9007199254740993}', '/n', /2\^53/],
    ['{"a/b":{"~":[-9007199254740992]}}', '/a~1b/~0/0', /2\^53/],
    ['[1e400]', '/0', /too large/],
    ['[1,-1E999]', '/1', /too large/],
    ['1e20', '', /2\^53/],
  ])('refuses the number in %s, which would come back as another', (text, path, message) => {
    expect(refusal(text)).toMatchObject({ path, message: expect.stringMatching(message) });
  });

  it('takes the largest integers that are exact', () => {
    expect(readJsonText('[9007199254740991,-9007199254740991,0.1,-0,1e2]').ok).toBe(true);
  });

  it('says line and column of what is wrong, and that a text ends too early', () => {
    expect(refusal('{\n  "a": 1,\n  b: 2\n}')).toMatchObject({
      message: expect.stringContaining('line 3, column 3'),
    });
    expect(refusal('{"a": "no end')).toMatchObject({ message: 'the JSON text ends too early' });
    expect(refusal('')).toMatchObject({ message: 'the JSON text ends too early' });
  });

  it('must be UTF-8 without a byte order mark', () => {
    expect(readJson(bytes('{"a":"é"}'))).toEqual({ ok: true, value: { a: 'é' } });
    expect(readJson(Uint8Array.of(0x22, 0xff, 0x22))).toMatchObject({
      ok: false,
      issue: { message: /UTF-8/ },
    });
    expect(readJson(Uint8Array.of(0x22, 0xed, 0xa0, 0x80, 0x22)).ok).toBe(false); // a surrogate in UTF-8
    expect(readJson(bytes('\ufeff{}')).ok).toBe(false);
  });

  it('of a megabyte is read in a moment', () => {
    const text = JSON.stringify({
      a: 'x'.repeat(500_000),
      b: Array.from({ length: 50_000 }, (_, index) => index),
    });
    const started = performance.now();
    expect(readJsonText(text).ok).toBe(true);
    expect(performance.now() - started).toBeLessThan(1000);
  });
});

/** Whether a value holds what is refused although it is JSON. */
function holdsRefusedThings(value: unknown): boolean {
  if (typeof value === 'number') return Number.isInteger(value) && !Number.isSafeInteger(value);
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(
    ([key, item]) => key === '__proto__' || key === 'prototype' || holdsRefusedThings(item),
  );
}
