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
  const seen = { above: new Set<object>(), values: 0 };
  try {
    return walk(value, '', 0, seen);
  } catch {
    return { path: '', message: 'a property of it throws when it is read' };
  }
}

interface Seen {
  /** The objects on the way down to this one: meeting one again is a circle. */
  above: Set<object>;
  values: number;
}

function walk(value: unknown, path: string, depth: number, seen: Seen): ValidationIssue | null {
  seen.values += 1;
  if (seen.values > MAX_JSON_VALUES)
    return { path: '', message: `holds more than ${MAX_JSON_VALUES} values` };
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return null;
  if (typeof value === 'number') return numberIssue(value, path);
  if (typeof value !== 'object') return { path, message: `a ${typeof value} is not a JSON value` };
  if (depth >= MAX_JSON_DEPTH) return { path, message: `nested deeper than ${MAX_JSON_DEPTH} levels` };
  if (seen.above.has(value)) return { path, message: 'a circular reference is not a JSON value' };
  seen.above.add(value);
  const issue = Array.isArray(value)
    ? (disguiseIssue(value, path) ?? arrayIssue(value, path, depth, seen))
    : objectIssue(value, path, depth, seen);
  seen.above.delete(value);
  return issue;
}

function numberIssue(value: number, path: string): ValidationIssue | null {
  if (!Number.isFinite(value)) return { path, message: `${value} is not a JSON number` };
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
    return { path, message: 'an integer past 2^53 loses digits in JSON; send it as a string' };
  }
  return null;
}

/** JSON.stringify asks a `toJSON` for something else to write in a value's place. */
function disguiseIssue(value: object, path: string): ValidationIssue | null {
  if (!('toJSON' in value) || typeof value.toJSON !== 'function') return null;
  return { path, message: 'a value with a toJSON of its own would be stored as something else' };
}

function arrayIssue(value: unknown[], path: string, depth: number, seen: Seen) {
  for (let index = 0; index < value.length; index += 1) {
    const issue = walk(value[index], pointer(path, index), depth + 1, seen);
    if (issue) return issue;
  }
  return null;
}

function objectIssue(value: object, path: string, depth: number, seen: Seen) {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== null && prototype !== Object.prototype && Object.getPrototypeOf(prototype) !== null) {
    const name = value.constructor?.name || 'class instance';
    return { path, message: `a ${name} is not a JSON value` };
  }
  const disguise = disguiseIssue(value, path);
  if (disguise) return disguise;
  for (const [key, item] of Object.entries(value)) {
    if (item === undefined) continue;
    const issue = walk(item, pointer(path, key), depth + 1, seen);
    if (issue) return issue;
  }
  return null;
}

/**
 * JSON with keys sorted by UTF-16 code units and no white space (the form of RFC 8785 for the values that
 * `jsonIssue` lets pass): equal values give equal text.
 */
export function canonicalJson(value: JsonValue): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const members = Object.keys(value)
    .filter((key) => value[key] !== undefined)
    .toSorted()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key] as JsonValue)}`);
  return `{${members.join(',')}}`;
}
