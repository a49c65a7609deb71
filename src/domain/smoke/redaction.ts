/**
 * What is taken out of a report before it is written.
 *
 * A pointer takes what it leads to, in the request or in the answer, and what it took is then taken wherever else it
 * stands: a model quotes its prompt. A regular expression is tried on every text, number and name, as decoded, and on the
 * JSON as a whole besides, compact and indented, since it may reach from a name to its value; where it then still finds something,
 * that JSON becomes a text with the matches replaced. Where a pointer is meant for an answer that is no JSON, nobody can
 * tell where its place is: the whole answer is withheld. The key is taken out as by a rule of its own.
 */
import { isObject, valueAt } from '../json-schema.ts';
import { readJsonText } from '../json-text.ts';
import type { JsonValue } from '../json.ts';
import type { RedactionRule } from './pins.ts';

const REDACTED = '[redacted]';

/** What of a call came from the file or from the provider, and may hold what nobody is to read. */
export interface Content {
  /** The body that was sent. */
  request: JsonValue;
  /** The text of the answer; null where there was none. */
  output: string | null;
  /** Everything else that was sent or came: headers, names, ids. */
  rest: JsonValue;
}

export interface Redaction {
  contents: Content[];
  /** How often each rule, in the order of the file, found something. */
  matches: number[];
}

/** Shorter texts that a pointer took would be found in half of all words. */
const MIN_QUOTED = 4;

/** @param secrets taken out wherever they stand, whatever the rules say */
export function redact(
  contents: readonly Content[],
  rules: readonly RedactionRule[],
  secrets: readonly string[],
): Redaction {
  const matches = rules.map(() => 0);
  const quoted: Pattern[] = [];
  const pointed = contents.map((content) =>
    takePointed(content, rules, (rule, taken) => {
      matches[rule] = (matches[rule] ?? 0) + 1;
      quoted.push(...leaves(taken).map((text) => literal(text, rule)));
    }),
  );
  const patterns = [
    ...secrets.map((secret) => literal(secret, null)),
    ...quoted,
    ...rules.flatMap((rule, index) =>
      'regex' in rule ? [{ form: new RegExp(rule.regex, 'gu'), rule: index }] : [],
    ),
  ];
  const count = (rule: number) => (matches[rule] = (matches[rule] ?? 0) + 1);
  return { contents: pointed.map((content) => takeMatched(content, patterns, count)), matches };
}

interface Pattern {
  form: RegExp;
  /** The rule that it counts for. */
  rule: number | null;
}

type Count = (rule: number) => void;

function literal(text: string, rule: number | null): Pattern {
  return { form: new RegExp(text.replace(/[$()*+./?[\\\]^{|}]/g, '\\$&'), 'gu'), rule };
}

/** The texts and numbers in it that are long enough to be looked for elsewhere. */
function leaves(value: JsonValue): string[] {
  if (typeof value === 'object' && value !== null) return Object.values(value).flatMap(leaves);
  const text = String(value ?? '');
  return typeof value !== 'boolean' && text.length >= MIN_QUOTED ? [text] : [];
}

// --- pointers --------------------------------------------------------------------------------------

type Took = (rule: number, taken: JsonValue) => void;

function takePointed(content: Content, rules: readonly RedactionRule[], took: Took): Content {
  return rules.reduce((left, rule, index) => {
    if (!('pointer' in rule)) return left;
    const [, room, path = ''] = /^\/(request|output)(.*)$/s.exec(rule.pointer) ?? [];
    const tookHere = (taken: JsonValue) => took(index, taken);
    return room === 'request'
      ? { ...left, request: without(left.request, path, tookHere) }
      : { ...left, output: outputWithout(left.output, path, tookHere) };
  }, content);
}

function outputWithout(output: string | null, path: string, took: (taken: JsonValue) => void): string | null {
  if (output === null) return null;
  const read = readJsonText(output);
  if (path === '' || !read.ok) {
    took(null);
    return REDACTED;
  }
  const left = without(read.value, path, took);
  return left === read.value ? output : JSON.stringify(left);
}

/** The same value where the path leads nowhere. */
function without(value: JsonValue, path: string, took: (taken: JsonValue) => void): JsonValue {
  const found = valueAt(value, path);
  if (found === undefined) return value;
  took(found);
  return replaced(value, path.split('/').slice(1));
}

function replaced(value: JsonValue, [key, ...rest]: readonly string[]): JsonValue {
  if (key === undefined) return REDACTED;
  const name = key.replaceAll('~1', '/').replaceAll('~0', '~');
  if (Array.isArray(value)) return value.map((one, at) => (String(at) === name ? replaced(one, rest) : one));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([at, one]) => [at, at === name ? replaced(one, rest) : one]),
  );
}

// --- patterns --------------------------------------------------------------------------------------

function takeMatched(
  { request, output, rest }: Content,
  patterns: readonly Pattern[],
  count: Count,
): Content {
  return {
    request: cleanJson(request, patterns, count),
    output: output === null ? null : cleanOutput(output, patterns, count),
    rest: clean(rest, patterns, count),
  };
}

function cleanOutput(output: string, patterns: readonly Pattern[], count: Count): string {
  const read = readJsonText(output);
  if (!read.ok) return cleanText(output, patterns, count);
  const before = JSON.stringify(read.value);
  const left = cleanJson(read.value, patterns, count);
  const text = typeof left === 'string' && typeof read.value !== 'string' ? left : JSON.stringify(left);
  // as it came, where nothing was found in it
  return text === before ? cleanText(output, patterns, count) : text;
}

/** The value without what was found; as a text where something was found across its parts. */
function cleanJson(value: JsonValue, patterns: readonly Pattern[], count: Count): JsonValue {
  const left = clean(value, patterns, count);
  for (const text of [JSON.stringify(left), JSON.stringify(left, null, 2)]) {
    if (cleanText(text, patterns, () => {}) !== text) return cleanText(text, patterns, count);
  }
  return left;
}

function clean(value: JsonValue, patterns: readonly Pattern[], count: Count): JsonValue {
  if (typeof value === 'string') return cleanText(value, patterns, count);
  if (typeof value === 'number') {
    const text = String(value);
    return cleanText(text, patterns, count) === text ? value : REDACTED;
  }
  if (Array.isArray(value)) return value.map((one) => clean(one, patterns, count));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [cleanText(key, patterns, count), clean(one, patterns, count)]),
  );
}

/** All patterns look at the same text, so that none hides from another what both would take. */
function cleanText(text: string, patterns: readonly Pattern[], count: Count): string {
  const taken = spansOf(text, REDACTED_FORM);
  const found = patterns.flatMap(({ form, rule }) => {
    const spans = spansOf(text, form).filter((span) => !taken.some((one) => isWithin(span, one)));
    if (rule !== null) for (const _ of spans) count(rule);
    return spans;
  });
  return merged(found).reduceRight(
    (left, [start, end]) => `${left.slice(0, start)}${REDACTED}${left.slice(end)}`,
    text,
  );
}

/** From where to where, as `slice` has it. */
type Span = [start: number, end: number];

const REDACTED_FORM = literal(REDACTED, null).form;

function spansOf(text: string, form: RegExp): Span[] {
  const matches = Array.from(
    text.matchAll(form),
    ({ index, 0: { length } }): Span => [index, index + length],
  );
  return matches.filter(([start, end]) => end > start);
}

function isWithin([start, end]: Span, around: Span): boolean {
  return start >= around[0] && end <= around[1];
}

function merged(spans: readonly Span[]): Span[] {
  const inOrder = spans.toSorted((one, other) => one[0] - other[0]);
  return inOrder.reduce<Span[]>((done, span) => {
    const last = done.at(-1);
    if (last === undefined || span[0] > last[1]) return [...done, [...span]];
    last[1] = Math.max(last[1], span[1]);
    return done;
  }, []);
}
