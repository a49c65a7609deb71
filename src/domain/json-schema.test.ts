import { describe, expect, test } from 'vitest';
import { schemaIssues, valueIssues } from './json-schema.ts';
import type { JsonValue } from './json.ts';

/** What a value must be, what fits, what does not, and what is said of the first that does not. */
const RULES: [schema: JsonValue, fits: JsonValue[], misfits: JsonValue[], path: string, says: RegExp][] = [
  [true, [1, null], [], '', /./],
  [false, [], [1, null], '', /must not be there/],
  [{ type: 'integer' }, [1, 2.0, -3], [1.5, '1', null], '', /must be integer/],
  [{ type: ['string', 'null'] }, ['', null], [1, [], {}], '', /must be string or null/],
  [{ type: 'object' }, [{}], [[], null], '', /must be object/],
  [
    { enum: ['a', { b: [1] }] },
    ['a', { b: [1] }],
    ['b', { b: [2] }, { b: [1], c: 1 }],
    '',
    /one of those listed/,
  ],
  [{ const: { a: 1, b: 2 } }, [{ b: 2, a: 1 }], [{ a: 1 }, null], '', /the one value/],
  [{ minLength: 2, maxLength: 3 }, ['ab', '🦊🦊🦊', 1], ['a', 'abcd'], '', /at least 2 characters/],
  [{ pattern: '^\\d+$' }, ['12', null], ['a'], '', /match the pattern/],
  [{ minimum: 1, exclusiveMaximum: 3 }, [1, 2.9, 'x'], [0.9, 3], '', /at least 1/],
  [{ exclusiveMinimum: 1, maximum: 3 }, [1.1, 3], [1, 3.1], '', /more than 1/],
  [{ multipleOf: 0.1 }, [0.3, 7], [0.25], '', /a multiple of 0.1/],
  [{ items: { type: 'number' }, minItems: 1 }, [[1], 'x'], [['1'], []], '/0', /must be number/],
  [{ maxItems: 1 }, [[1]], [[1, 2]], '', /at most 1 items/],
  [
    { uniqueItems: true },
    [[1, '1', { a: 1 }]],
    [
      [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ],
    ],
    '',
    /no item twice/,
  ],
  [{ required: ['a/b'] }, [{ 'a/b': null }, []], [{}], '/a~1b', /must be there/],
  [{ required: ['toString'] }, [{ toString: 1 }], [{}], '/toString', /must be there/],
  [{ properties: { a: { type: 'null' } } }, [{}, { a: null, b: 1 }], [{ a: 1 }], '/a', /must be null/],
  [
    { additionalProperties: false, properties: { a: true } },
    [{ a: 1 }],
    [{ b: 1 }],
    '/b',
    /must not be there/,
  ],
  [{ additionalProperties: { type: 'string' } }, [{ a: '' }], [{ a: 1 }], '/a', /must be string/],
  [{ minProperties: 1, maxProperties: 1 }, [{ a: 1 }], [{}, { a: 1, b: 2 }], '', /at least 1 properties/],
  [{ anyOf: [{ type: 'string' }, { minimum: 5 }] }, ['', 5, null], [4], '', /one of several/],
  [{ oneOf: [{ minimum: 1 }, { minimum: 5 }] }, [1], [5, 0], '', /exactly one of several schemas; it fits 2/],
  [{ allOf: [{ minimum: 1 }, { maximum: 5 }] }, [3], [0, 6], '', /at least 1/],
  [{ not: { type: 'string' } }, [1], ['a'], '', /not fit/],
  [{ $defs: { n: { minimum: 1 } }, items: { $ref: '#/$defs/n' } }, [[1]], [[0]], '/0', /at least 1/],
  [
    { properties: { next: { $ref: '#' } }, required: ['n'] },
    [{ n: 1, next: { n: 2 } }],
    [{ n: 1, next: {} }],
    '/next/n',
    /must be there/,
  ],
  [{ $ref: '#' }, [1], [], '', /./],
];

test.each(RULES)('%j', (schema, fits, misfits, path, says) => {
  expect(schemaIssues(schema)).toEqual([]);
  for (const value of fits) expect([value, valueIssues(schema, value)]).toEqual([value, []]);
  for (const value of misfits) expect(valueIssues(schema, value)).not.toEqual([]);
  if (misfits[0] === undefined) return;
  expect(valueIssues(schema, misfits[0])[0]).toEqual({ path, message: expect.stringMatching(says) });
});

describe('a schema that says what nothing is checked by', () => {
  test.each<[JsonValue, string]>([
    [1, ''],
    [{ if: {} }, '/if'],
    [{ properties: { a: { items: { unevaluatedItems: false } } } }, '/properties/a/items/unevaluatedItems'],
    [{ $defs: { 'a/b': { type: 'date' } } }, '/$defs/a~1b/type'],
    [{ anyOf: [] }, '/anyOf'],
    [{ anyOf: [{ pattern: '(' }] }, '/anyOf/0/pattern'],
    [{ $ref: '#/$defs/none' }, '/$ref'],
    [{ $ref: 'https://example.com/schema' }, '/$ref'],
    [{ required: 'a' }, '/required'],
    [{ minLength: -1 }, '/minLength'],
    [{ minimum: '1' }, '/minimum'],
    [{ properties: [] }, '/properties'],
    [{ enum: [] }, '/enum'],
  ])('%j', (schema, path) => {
    expect(schemaIssues(schema)).toEqual([{ path, message: expect.any(String) }]);
  });

  test('a name of a property is no keyword', () => {
    expect(schemaIssues({ properties: { if: { type: 'string' }, default: true } })).toEqual([]);
  });
});
