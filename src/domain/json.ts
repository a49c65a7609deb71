/** JSON values: what may enter a record, and the one form in which equal values are equal text. */
import type { ValidationIssue } from './record.ts';

export type JsonValue = null | boolean | number | string | JsonValue[] | { [key: string]: JsonValue };

/** Nesting beyond this is refused; it bounds the stack of everything that walks a value. */
export const MAX_JSON_DEPTH = 64;

/** So is a value with more parts than this: objects shared a few dozen times over would be walked for ever. */
const MAX_JSON_VALUES = 5_000_000;

/** Appends a reference token to a JSON Pointer (RFC 6901). */
export function pointer(path: string, key: string | number): string {
  return `${path}/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/**
 * The first thing in `value` that JSON would lose or change in silence (BigInt, Date, undefined in an
 * array, NaN, a circle, a class instance, an integer past 2^53), or null where it survives whole. Properties whose value
 * is `undefined` are absent, as in JSON.
 */
export function jsonIssue(value: unknown): ValidationIssue | null {
  try {
    return walk(value, 0, { above: [], values: 0 });
  } catch (error) {
    if (error instanceof TooManyValuesError) return here(error.message);
    return here('a property of it throws when it is read');
  }
}

class TooManyValuesError extends Error {}

interface Seen {
  /** The objects on the way down to this one: meeting one again is a circle. */
  above: object[];
  values: number;
}

/** Its path is put together on the way back up: nothing is spent on the paths of what is in order. */
function walk(value: unknown, depth: number, seen: Seen): ValidationIssue | null {
  seen.values += 1;
  if (seen.values > MAX_JSON_VALUES)
    throw new TooManyValuesError(`holds more than ${MAX_JSON_VALUES} values`);
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return null;
  if (typeof value === 'number') return numberIssue(value);
  if (typeof value !== 'object') return here(`a ${typeof value} is not a JSON value`);
  if (depth >= MAX_JSON_DEPTH) return here(`nested deeper than ${MAX_JSON_DEPTH} levels`);
  if (seen.above.includes(value)) return here('a circular reference is not a JSON value');
  seen.above.push(value);
  const issue = Array.isArray(value)
    ? (disguiseIssue(value) ?? arrayIssue(value, depth, seen))
    : objectIssue(value, depth, seen);
  seen.above.pop();
  return issue;
}

function here(message: string): ValidationIssue {
  return { path: '', message };
}

function below(key: string | number, issue: ValidationIssue): ValidationIssue {
  return { ...issue, path: `${pointer('', key)}${issue.path}` };
}

function numberIssue(value: number): ValidationIssue | null {
  if (!Number.isFinite(value)) return here(`${value} is not a JSON number`);
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
    return here('an integer past 2^53 loses digits in JSON; send it as a string');
  }
  return null;
}

/** JSON.stringify asks a `toJSON` for something else to write in a value's place. */
function disguiseIssue(value: object): ValidationIssue | null {
  if (!('toJSON' in value) || typeof value.toJSON !== 'function') return null;
  return here('a value with a toJSON of its own would be stored as something else');
}

function arrayIssue(value: unknown[], depth: number, seen: Seen) {
  for (let index = 0; index < value.length; index += 1) {
    const issue = walk(value[index], depth + 1, seen);
    if (issue) return below(index, issue);
  }
  return null;
}

function objectIssue(value: object, depth: number, seen: Seen) {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== null && prototype !== Object.prototype && Object.getPrototypeOf(prototype) !== null) {
    const name = value.constructor?.name || 'class instance';
    return here(`a ${name} is not a JSON value`);
  }
  const disguise = disguiseIssue(value);
  if (disguise) return disguise;
  for (const key of Object.keys(value)) {
    const item = (value as Record<string, unknown>)[key];
    if (item === undefined) continue;
    const issue = walk(item, depth + 1, seen);
    if (issue) return below(key, issue);
  }
  return null;
}

/**
 * What reading its JSON text would give, for a value that `jsonIssue` lets pass: without the properties that have no value, and with 0
 * for -0. Texts are most of most values, and are shared here, where a parser reads them character by character.
 *
 * @throws TypeError where a getter now gives what is no JSON
 */
export function jsonCopy(value: JsonValue): JsonValue {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number') return Number.isFinite(value) ? value + 0 : null;
  if (Array.isArray(value)) return arrayCopy(value);
  if (typeof value === 'object') return objectCopy(value);
  throw new TypeError(`a ${typeof value} is not a JSON value`);
}

/** By its places, as JSON has it: an iterator could say something else. */
function arrayCopy(value: readonly JsonValue[]): JsonValue[] {
  const copy: JsonValue[] = [];
  for (let index = 0; index < value.length; index += 1) copy.push(jsonCopy(value[index] as JsonValue));
  return copy;
}

function objectCopy(value: Readonly<Record<string, JsonValue>>): Record<string, JsonValue> {
  const copy: Record<string, JsonValue> = {};
  for (const key of Object.keys(value)) {
    const item = value[key];
    if (item === undefined) continue;
    if (key in copy) own(copy, key, jsonCopy(item));
    else copy[key] = jsonCopy(item);
  }
  return copy;
}

/** As a parser does it: to assign a key that all objects have would set the prototype, or be refused where that is frozen. */
function own(copy: object, key: string, value: JsonValue): void {
  Object.defineProperty(copy, key, { value, enumerable: true, configurable: true, writable: true });
}

/**
 * JSON with keys sorted by UTF-16 code units and no white space (the form of RFC 8785 for the values that
 * `jsonIssue` lets pass): equal values give equal text.
 * @param text what `JSON.stringify` makes of it, where that is known
 */
export function canonicalJson(value: JsonValue, text?: string): string {
  return isInOrder(value) ? (text ?? JSON.stringify(value)) : inOrder(value);
}

/** Whether all keys stand in that order already, as those of most values do. */
function isInOrder(value: JsonValue): boolean {
  if (value === null || typeof value !== 'object') return true;
  if (Array.isArray(value)) return value.every(isInOrder);
  let last = '';
  for (const key of Object.keys(value)) {
    if (key < last || !isInOrder(value[key] as JsonValue)) return false;
    last = key;
  }
  return true;
}

function inOrder(value: JsonValue): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(inOrder).join(',')}]`;
  const members = Object.keys(value)
    .filter((key) => value[key] !== undefined)
    .toSorted()
    .map((key) => `${JSON.stringify(key)}:${inOrder(value[key] as JsonValue)}`);
  return `{${members.join(',')}}`;
}
