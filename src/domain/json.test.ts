import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalJson, jsonCopy, jsonIssue, MAX_JSON_DEPTH, pointer } from './json.ts';
import type { JsonValue } from './json.ts';

/** Values as JSON has them, with integers that survive and keys of every kind. */
const json = fc
  .jsonValue({ maxDepth: 5, stringUnit: 'binary' })
  .filter((value) => jsonIssue(value) === null) as fc.Arbitrary<JsonValue>;

function nested(levels: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level += 1) value = level % 2 === 0 ? [value] : { a: value };
  return value;
}

function circular(): unknown {
  const value: { self?: unknown } = {};
  value.self = [value];
  return value;
}

describe('jsonIssue', () => {
  test.each([
    ['undefined', undefined, ''],
    ['a BigInt', { a: { b: 1n } }, '/a/b'],
    ['a Date', [0, new Date(0)], '/1'],
    ['an array in disguise', [Object.assign([1], { toJSON: () => 'x' })], '/0'],
    ['an object in disguise', { a: Object.defineProperty({}, 'toJSON', { value: () => 'x' }) }, '/a'],
    ['NaN', { n: Number.NaN }, '/n'],
    ['Infinity', { n: [Number.NEGATIVE_INFINITY] }, '/n/0'],
    ['undefined in an array', [1, undefined], '/1'],
    ['a hole in an array', [1, , 2], '/1'], // oxlint-disable-line no-sparse-arrays
    ['a function', { f: () => 1 }, '/f'],
    ['a symbol', { s: Symbol('s') }, '/s'],
    ['a Map', { m: new Map() }, '/m'],
    ['a typed array', { b: new Uint8Array(2) }, '/b'],
    ['a boxed string', { s: new String('s') }, '/s'],
    ['an integer past 2^53', { n: 2 ** 53 }, '/n'],
    ['a circle', circular(), '/self/0'],
    ['a key with a slash and a tilde', { 'a/b~c': 1n }, '/a~1b~0c'],
  ])('finds %s and names its path', (_, value, path) => {
    expect(jsonIssue(value)?.path).toBe(path);
  });

  test.each([
    [
      'a getter that throws',
      {
        get a() {
          throw new Error('no');
        },
      },
    ],
    [
      'a proxy whose traps throw',
      new Proxy(
        {},
        {
          getPrototypeOf() {
            throw new Error('no');
          },
        },
      ),
    ],
    ['a revoked proxy', revoked()],
    [
      'a constructor that throws',
      Object.create({
        get constructor() {
          throw new Error('no');
        },
      }),
    ],
  ])('answers with an issue for %s instead of throwing', (_, value) => {
    expect(jsonIssue({ value })).toMatchObject({ message: expect.any(String) });
  });

  test('takes nesting up to the limit and nothing deeper', () => {
    expect(jsonIssue(nested(MAX_JSON_DEPTH))).toBeNull();
    expect(jsonIssue(nested(MAX_JSON_DEPTH + 1))?.message).toContain('nested deeper');
  });

  test('gives up on a small value that unfolds to an endless one', () => {
    let value: unknown = 1;
    for (let level = 0; level < 60; level += 1) value = [value, value];
    expect(jsonIssue(value)?.message).toContain('more than');
  });

  test('takes the same object twice side by side, properties that are undefined and objects without a prototype', () => {
    const shared = { a: 1 };
    expect(jsonIssue([shared, shared, { gone: undefined }, Object.create(null)])).toBeNull();
  });

  test('lets pass only what JSON gives back whole', () => {
    fc.assert(
      fc.property(
        fc.anything({
          withBigInt: true,
          withDate: true,
          withMap: true,
          withSparseArray: true,
          withTypedArray: true,
          withBoxedValues: true,
        }),
        (value) => {
          if (jsonIssue(value) !== null) return;
          const text = JSON.stringify(value);
          expect(jsonIssue(JSON.parse(text))).toBeNull();
          expect(canonicalJson(JSON.parse(text))).toBe(canonicalJson(value as JsonValue));
        },
      ),
      { numRuns: 1000 },
    );
  });
});

describe('jsonCopy', () => {
  test('is what reading the JSON again gives', () => {
    const asked = fc.anything({ withNullPrototype: true, withSparseArray: true, stringUnit: 'binary' });
    fc.assert(
      fc.property(fc.oneof(json, asked), (value) => {
        if (jsonIssue(value) !== null) return;
        expect(jsonCopy(value as JsonValue)).toStrictEqual(JSON.parse(JSON.stringify(value)));
      }),
      { numRuns: 1000 },
    );
  });

  test.each([
    ['-0', { n: [-0] }],
    ['a property that is undefined', { a: 1, gone: undefined, b: [{ gone: undefined }] }],
    ['an object without a prototype', Object.assign(Object.create(null), { a: 1 })],
    ['a key that would set the prototype', JSON.parse('{"__proto__":{"a":-0},"b":1}')],
    ['a kind of array', { list: Object.assign(new (class extends Array<number> {})(), [1]) }],
  ])('of %s too', (_, value) => {
    expect(jsonCopy(value as JsonValue)).toStrictEqual(JSON.parse(JSON.stringify(value)));
  });

  test('of an array goes by its places, not by its iterator', () => {
    const list = Object.assign([1], { [Symbol.iterator]: () => [Number.NaN].values() });
    expect(jsonCopy({ list })).toStrictEqual({ list: [1] });
  });

  test('is JSON, whatever a getter says the second time', () => {
    const changing = (then: unknown) => {
      let asked = 0;
      return Object.defineProperty({}, 'a', { enumerable: true, get: () => (asked++ === 0 ? 1 : then) });
    };
    const nan = changing(Number.NaN);
    expect(jsonIssue(nan)).toBe(null);
    expect(jsonCopy(nan)).toStrictEqual({ a: null });
    const code = changing(() => 1);
    expect(jsonIssue(code)).toBe(null);
    expect(() => jsonCopy(code as never)).toThrow('a function is not a JSON value');
  });

  test('shares no object with the value', () => {
    const value = { a: [{ b: 1 }] };
    const copy = jsonCopy(value);
    value.a[0] = { b: 2 };
    expect(copy).toEqual({ a: [{ b: 1 }] });
  });
});

describe('canonicalJson', () => {
  test('sorts keys by their code units and leaves no space', () => {
    expect(canonicalJson({ b: [1, { d: null, c: true }], a: 'x', '\u00e9': 1, B: -0.5, '1': 0 })).toBe(
      '{"1":0,"B":-0.5,"a":"x","b":[1,{"c":true,"d":null}],"\u00e9":1}',
    );
  });

  test('does not depend on the order of keys', () => {
    fc.assert(
      fc.property(json, (value) => {
        expect(canonicalJson(reversed(value))).toBe(canonicalJson(value));
      }),
    );
  });

  test('is JSON of the same value', () => {
    fc.assert(
      fc.property(json, (value) => {
        expect(canonicalJson(JSON.parse(canonicalJson(value)))).toBe(canonicalJson(value));
      }),
    );
  });

  test('tells different values apart', () => {
    fc.assert(
      fc.property(json, json, (one, other) => {
        let equal = true;
        try {
          expect(JSON.parse(JSON.stringify(one))).toStrictEqual(JSON.parse(JSON.stringify(other)));
        } catch {
          equal = false;
        }
        expect(canonicalJson(one) === canonicalJson(other)).toBe(equal);
      }),
    );
  });

  test('keeps U+0000, lone surrogates and a key named __proto__', () => {
    const value = JSON.parse('{"__proto__":{"a":"\\u0000"},"b":"\\ud800"}') as JsonValue;
    expect(canonicalJson(value)).toBe('{"__proto__":{"a":"\\u0000"},"b":"\\ud800"}');
  });
});

test('pointer escapes its tokens as RFC 6901 says', () => {
  expect(pointer(pointer('', 'a/b'), 'c~d')).toBe('/a~1b/c~0d');
  expect(pointer('/x', 0)).toBe('/x/0');
});

function reversed(value: JsonValue): JsonValue {
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map(reversed);
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([key, item]) => [key, reversed(item)]),
  );
}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}
