/**
 * JSON Schema (2020-12), as far as providers take it for structured output: enough to say whether an answer fits the schema that
 * was asked for. A keyword that is not known is named before anything is checked, never passed over: an answer is not
 * called valid by half a schema. `format` is an annotation, as the standard has it by default.
 */
import { pointer } from './json.ts';
import type { JsonValue } from './json.ts';
import type { ValidationIssue } from './record.ts';

export type JsonObject = { [key: string]: JsonValue };

type Schema = JsonValue;

const TYPES = ['null', 'boolean', 'integer', 'number', 'string', 'array', 'object'];

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

// --- what is wrong with a schema -------------------------------------------------------------------

/** Empty where `valueIssues` can check by this schema. */
export function schemaIssues(schema: Schema, root: Schema = schema, path = ''): ValidationIssue[] {
  if (typeof schema === 'boolean') return [];
  if (!isObject(schema)) return [{ path, message: 'must be a JSON Schema: an object, or true or false' }];
  return Object.entries(schema).flatMap(([key, value]) => {
    const keyword = KEYWORDS.get(key);
    if (keyword !== undefined) return keyword(value, root, pointer(path, key));
    return [{ path: pointer(path, key), message: 'is a keyword that answers cannot be checked by' }];
  });
}

type KeywordCheck = (value: JsonValue, root: Schema, path: string) => ValidationIssue[];

const KEYWORDS: ReadonlyMap<string, KeywordCheck> = new Map([
  ...each('$schema $id $comment title description default examples format deprecated const', () => []),
  ...each('items additionalProperties not', schemaIssues),
  ...each('anyOf oneOf allOf', listIssues),
  ...each('properties $defs definitions', namedIssues),
  ...each(
    'minLength maxLength minItems maxItems minProperties maxProperties',
    mustBe('a count', (value) => Number.isInteger(value) && Number(value) >= 0),
  ),
  ...each(
    'minimum maximum exclusiveMinimum exclusiveMaximum multipleOf',
    mustBe('a number', (value) => typeof value === 'number'),
  ),
  ...each(
    'type',
    mustBe(`of ${TYPES.join(', ')}`, (value) =>
      [value].flat().every((one) => TYPES.some((type) => type === one)),
    ),
  ),
  ...each(
    'enum',
    mustBe('a list of values', (value) => Array.isArray(value) && value.length > 0),
  ),
  ...each('required', mustBe('a list of names', isListOfTexts)),
  ...each(
    'uniqueItems',
    mustBe('true or false', (value) => typeof value === 'boolean'),
  ),
  ...each(
    'pattern',
    mustBe('a regular expression', (value) => typeof value === 'string' && isRegex(value)),
  ),
  ...each(
    '$ref',
    mustBe('a JSON Pointer into this schema, such as #/$defs/line', (value, root) => {
      return target(value, root) !== undefined;
    }),
  ),
]);

function each(keywords: string, issuesOf: KeywordCheck): [string, KeywordCheck][] {
  return keywords.split(' ').map((keyword) => [keyword, issuesOf]);
}

function mustBe(what: string, isOk: (value: JsonValue, root: Schema) => boolean): KeywordCheck {
  return (value, root, path) => (isOk(value, root) ? [] : [{ path, message: `must be ${what}` }]);
}

function isListOfTexts(value: JsonValue): boolean {
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}

function listIssues(value: JsonValue, root: Schema, path: string): ValidationIssue[] {
  if (!Array.isArray(value) || value.length === 0) return [{ path, message: 'must be a list of schemas' }];
  return value.flatMap((one, index) => schemaIssues(one, root, pointer(path, index)));
}

function namedIssues(value: JsonValue, root: Schema, path: string): ValidationIssue[] {
  if (!isObject(value)) return [{ path, message: 'must be schemas by name' }];
  return Object.entries(value).flatMap(([name, one]) => schemaIssues(one, root, pointer(path, name)));
}

export function isRegex(source: string): boolean {
  try {
    return new RegExp(source, 'u') instanceof RegExp;
  } catch {
    return false;
  }
}

function target(ref: JsonValue, root: Schema): Schema | undefined {
  if (typeof ref !== 'string' || !/^#(\/|$)/.test(ref)) return undefined;
  return valueAt(root, ref.slice(1));
}

/** What a JSON Pointer leads to; undefined where it leads nowhere. */
export function valueAt(value: JsonValue, path: string): JsonValue | undefined {
  const keys = path.split('/').slice(1);
  return keys.reduce<JsonValue | undefined>((at, key) => {
    const name = key.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return undefined;
    return (at as JsonObject)[name];
  }, value);
}

// --- what is wrong with a value --------------------------------------------------------------------

/**
 * Issues by the place in the value; no message quotes the value.
 * @param schema one that `schemaIssues` finds nothing wrong with
 */
export function valueIssues(schema: Schema, value: JsonValue): ValidationIssue[] {
  return check(schema, value, { root: schema, path: '', refs: 0 });
}

interface At {
  root: Schema;
  path: string;
  /** References followed without a step into the value: a schema may refer to itself for ever. */
  refs: number;
}

const MAX_REFS = 32;

function check(schema: Schema, value: JsonValue, at: At): ValidationIssue[] {
  if (schema === false) return [{ path: at.path, message: 'must not be there' }];
  if (!isObject(schema)) return [];
  return [
    ...referred(schema, value, at),
    ...typed(schema, value, at),
    ...combined(schema, value, at),
    ...(typeof value === 'string' ? characters(schema, value, at) : []),
    ...(typeof value === 'number' ? number(schema, value, at) : []),
    ...(Array.isArray(value) ? list(schema, value, at) : []),
    ...(isObject(value) ? object(schema, value, at) : []),
  ];
}

function must(isOk: boolean, { path }: At, what: string): ValidationIssue[] {
  return isOk ? [] : [{ path, message: `must ${what}` }];
}

function referred({ $ref: ref }: JsonObject, value: JsonValue, at: At): ValidationIssue[] {
  if (ref === undefined || at.refs > MAX_REFS) return [];
  return check(target(ref, at.root) ?? true, value, { ...at, refs: at.refs + 1 });
}

function typed({ type, enum: allowed, const: only }: JsonObject, value: JsonValue, at: At) {
  const types = type === undefined ? TYPES : [type].flat().map(String);
  const names = typeNames(value);
  return [
    ...must(
      types.some((one) => names.includes(one)),
      at,
      `be ${types.join(' or ')}`,
    ),
    ...must(
      !Array.isArray(allowed) || allowed.some((one) => equal(one, value)),
      at,
      'be one of those listed',
    ),
    ...must(only === undefined || equal(only, value), at, 'be the one value that is allowed'),
  ];
}

function typeNames(value: JsonValue): string[] {
  if (value === null) return ['null'];
  if (Array.isArray(value)) return ['array'];
  return Number.isInteger(value) ? ['integer', 'number'] : [typeof value];
}

function combined({ anyOf, oneOf, allOf, not }: JsonObject, value: JsonValue, at: At): ValidationIssue[] {
  const fitting = (schemas: JsonValue | undefined) =>
    Array.isArray(schemas) ? schemas.filter((one) => check(one, value, at).length === 0).length : null;
  const [any, one] = [fitting(anyOf), fitting(oneOf)];
  return [
    ...must(any === null || any > 0, at, 'fit one of several schemas'),
    ...must(one === null || one === 1, at, `fit exactly one of several schemas; it fits ${one}`),
    ...(Array.isArray(allOf) ? allOf.flatMap((schema) => check(schema, value, at)) : []),
    ...must(not === undefined || check(not, value, at).length > 0, at, 'not fit the schema under "not"'),
  ];
}

function characters({ minLength: min, maxLength: max, pattern }: JsonObject, value: string, at: At) {
  // as the standard counts: code points
  const length = Array.from(value).length;
  const fits = typeof pattern !== 'string' || new RegExp(pattern, 'u').test(value);
  return [...counted(length, min, max, at, 'characters'), ...must(fits, at, 'match the pattern')];
}

type Bound = JsonValue | undefined;

function counted(count: number, min: Bound, max: Bound, at: At, what: string): ValidationIssue[] {
  return [
    ...(typeof min === 'number' ? must(count >= min, at, `have at least ${min} ${what}`) : []),
    ...(typeof max === 'number' ? must(count <= max, at, `have at most ${max} ${what}`) : []),
  ];
}

function number(schema: JsonObject, value: number, at: At): ValidationIssue[] {
  const bound = (key: string, fits: (bound: number) => boolean, what: string) => {
    const limit = schema[key];
    return typeof limit === 'number' ? must(fits(limit), at, `be ${what} ${limit}`) : [];
  };
  return [
    ...bound('minimum', (limit) => value >= limit, 'at least'),
    ...bound('maximum', (limit) => value <= limit, 'at most'),
    ...bound('exclusiveMinimum', (limit) => value > limit, 'more than'),
    ...bound('exclusiveMaximum', (limit) => value < limit, 'less than'),
    ...bound('multipleOf', (limit) => isWhole(value / limit), 'a multiple of'),
  ];
}

/** As decimals have it: 0.3 is three times 0.1. */
function isWhole(quotient: number): boolean {
  return Math.abs(quotient - Math.round(quotient)) < 1e-9;
}

function list(schema: JsonObject, value: JsonValue[], at: At): ValidationIssue[] {
  const { items = true, minItems, maxItems, uniqueItems } = schema;
  const isUnique = value.every((one, index) => !value.slice(0, index).some((other) => equal(one, other)));
  return [
    ...counted(value.length, minItems, maxItems, at, 'items'),
    ...must(uniqueItems !== true || isUnique, at, 'have no item twice'),
    ...value.flatMap((one, index) => check(items, one, inside(at, index))),
  ];
}

function object(schema: JsonObject, value: JsonObject, at: At): ValidationIssue[] {
  const { properties = {}, required = [], additionalProperties = true } = schema;
  const named = properties as JsonObject;
  const missing = (required as string[]).filter((name) => !Object.hasOwn(value, name));
  return [
    ...missing.map((name) => ({ path: pointer(at.path, name), message: 'must be there' })),
    ...counted(Object.keys(value).length, schema['minProperties'], schema['maxProperties'], at, 'properties'),
    ...Object.entries(value).flatMap(([name, one]) => {
      const schemaOf = Object.hasOwn(named, name) ? named[name] : additionalProperties;
      return check(schemaOf ?? true, one, inside(at, name));
    }),
  ];
}

function inside(at: At, key: string | number): At {
  return { ...at, path: pointer(at.path, key), refs: 0 };
}

/** Equal as JSON: the order of keys does not count. */
function equal(one: JsonValue, other: JsonValue): boolean {
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((item, index) => equal(item, other[index] ?? null));
  }
  if (!isObject(one) || !isObject(other)) return one === other;
  const keys = Object.keys(one);
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && equal(one[key] ?? null, other[key] ?? null))
  );
}
