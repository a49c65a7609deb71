/**
 * A strict reader of JSON texts.
 *
 * `JSON.parse` alone lets through what later goes wrong in silence: a key given twice (the last one wins), integers
 * that lose digits, numbers that overflow to Infinity, `__proto__`, and nesting that exhausts the stack of whoever
 * walks the value. So a scanner reads the text first. It accepts exactly the grammar of RFC 8259, as `JSON.parse`
 * does, keeps its own stack of open containers instead of recursing, and refuses what is listed above, naming the
 * place as a JSON Pointer. Only a text that passed is given to `JSON.parse`.
 */
import { MAX_JSON_DEPTH, pointer } from './json.ts';
import type { JsonValue } from './json.ts';
import type { ValidationIssue } from './record.ts';

export type JsonRead = { ok: true; value: JsonValue } | { ok: false; issue: ValidationIssue };

/** Reads UTF-8 bytes. A byte order mark is no JSON. */
export function readJson(bytes: Uint8Array): JsonRead {
  const text = decode(bytes);
  return text === null ? refuse('', 'the JSON text is not valid UTF-8') : readJsonText(text);
}

export function readJsonText(text: string): JsonRead {
  try {
    new Scanner(text).scan();
  } catch (error) {
    if (error instanceof Unreadable) return refuse(error.path, error.message);
    throw error;
  }
  return { ok: true, value: JSON.parse(text) as JsonValue };
}

function refuse(path: string, message: string): JsonRead {
  return { ok: false, issue: { path, message } };
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function decode(bytes: Uint8Array): string | null {
  try {
    return UTF8.decode(bytes);
  } catch {
    return null;
  }
}

/** Stops the scan; never leaves this file. */
class Unreadable extends Error {
  readonly path: string;

  constructor(path: string, message: string) {
    super(message);
    this.path = path;
  }
}

/** A container whose end has not been read. `count` is the number of its items whose reading began. */
type Frame =
  | { kind: 'array'; count: number }
  | { kind: 'object'; count: number; key: string; keys: Set<string> };

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const ESCAPES = new Set(['"', '\\', '/', 'b', 'f', 'n', 'r', 't']);
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const HEX4 = /[0-9a-fA-F]{4}/y;
const SPACE = /[ \t\n\r]*/y;
/** What a string holds as it is. A regular expression finds the end of a long run several times faster than a loop, that of a short one later. */
const PLAIN = /[^"\\\u0000-\u001f]*/y;
const LONG_RUN = 24;

class Scanner {
  readonly #text: string;
  readonly #open: Frame[] = [];
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  scan(): void {
    this.#value();
    for (let frame = this.#open.at(-1); frame !== undefined; frame = this.#open.at(-1)) {
      if (frame.kind === 'array') this.#item(frame);
      else this.#member(frame);
    }
    this.#space();
    if (this.#at < this.#text.length) throw this.#malformed();
  }

  /** Reads a scalar, or the opening of a container, which the loop of `scan` then reads on. */
  #value(): void {
    this.#space();
    const char = this.#text[this.#at];
    if (char === '{') this.#enter({ kind: 'object', count: 0, key: '', keys: new Set() });
    else if (char === '[') this.#enter({ kind: 'array', count: 0 });
    else if (char === '"') this.#string();
    else if (char === 't') this.#word('true');
    else if (char === 'f') this.#word('false');
    else if (char === 'n') this.#word('null');
    else this.#number();
  }

  #enter(frame: Frame): void {
    if (this.#open.length >= MAX_JSON_DEPTH) {
      throw new Unreadable(this.#path(), `nested deeper than ${MAX_JSON_DEPTH} levels`);
    }
    this.#at += 1;
    this.#open.push(frame);
  }

  #item(frame: Extract<Frame, { kind: 'array' }>): void {
    if (this.#leave(']')) return;
    if (frame.count > 0) this.#take(',');
    frame.count += 1;
    this.#value();
  }

  #member(frame: Extract<Frame, { kind: 'object' }>): void {
    if (this.#leave('}')) return;
    if (frame.count > 0) this.#take(',');
    this.#space();
    const key = this.#key();
    frame.count += 1;
    frame.key = key;
    if (key === '__proto__' || (key === 'prototype' && this.#isInConstructor())) {
      throw new Unreadable(this.#path(), 'this key is not allowed');
    }
    if (frame.keys.has(key)) throw new Unreadable(this.#path(), 'this key is given twice');
    frame.keys.add(key);
    this.#take(':');
    this.#value();
  }

  #leave(bracket: string): boolean {
    this.#space();
    if (this.#text[this.#at] !== bracket) return false;
    this.#at += 1;
    this.#open.pop();
    return true;
  }

  #take(char: string): void {
    this.#space();
    if (this.#text[this.#at] !== char) throw this.#malformed();
    this.#at += 1;
  }

  #key(): string {
    const start = this.#at;
    if (this.#text[start] !== '"') throw this.#malformed();
    const escaped = this.#string();
    const key = this.#text.slice(start + 1, this.#at - 1);
    return escaped ? (JSON.parse(`"${key}"`) as string) : key;
  }

  /** @returns whether it holds an escape */
  #string(): boolean {
    let escaped = false;
    this.#at += 1;
    for (;;) {
      this.#plain();
      const char = this.#text[this.#at];
      if (char === '"') break;
      if (char !== '\\') throw this.#malformed(); // a control character, or the end of the text
      escaped = true;
      this.#escape();
    }
    this.#at += 1;
    return escaped;
  }

  /** Past what a string holds as it is. */
  #plain(): void {
    const text = this.#text;
    const long = this.#at + LONG_RUN;
    for (let at = this.#at; at < long; at += 1) {
      const code = text.charCodeAt(at); // NaN at the end of the text
      if (code >= 0x20 && code !== QUOTE && code !== BACKSLASH) continue;
      this.#at = at;
      return;
    }
    this.#at = long;
    this.#skip(PLAIN);
  }

  #escape(): void {
    this.#at += 1;
    const char = this.#text[this.#at];
    if (char === undefined || (char !== 'u' && !ESCAPES.has(char))) throw this.#malformed();
    this.#at += 1;
    if (char === 'u' && this.#match(HEX4) === '') throw this.#malformed();
  }

  #word(word: string): void {
    for (const char of word) {
      if (this.#text[this.#at] !== char) throw this.#malformed();
      this.#at += 1;
    }
  }

  #number(): void {
    const literal = this.#match(NUMBER);
    if (literal === '') throw this.#malformed();
    const value = Number(literal);
    if (!Number.isFinite(value)) throw new Unreadable(this.#path(), 'this number is too large');
    if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
      throw new Unreadable(this.#path(), 'an integer past 2^53 loses digits; send it as a string');
    }
  }

  #space(): void {
    if (this.#text.charCodeAt(this.#at) <= 0x20) this.#skip(SPACE);
  }

  /** Past what this pattern fits, which may be nothing. */
  #skip(pattern: RegExp): void {
    pattern.lastIndex = this.#at;
    pattern.test(this.#text);
    this.#at = pattern.lastIndex;
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0] ?? '';
    this.#at += found.length;
    return found;
  }

  /** Whether the innermost object is the value of a key `constructor`. */
  #isInConstructor(): boolean {
    const around = this.#open.at(-2);
    return around?.kind === 'object' && around.key === 'constructor';
  }

  #path(): string {
    return this.#open.reduce(
      (path, frame) => pointer(path, frame.kind === 'object' ? frame.key : frame.count - 1),
      '',
    );
  }

  #malformed(): Unreadable {
    if (this.#at >= this.#text.length) return new Unreadable('', 'the JSON text ends too early');
    const before = this.#text.slice(0, this.#at);
    const line = before.split('\n').length;
    const column = this.#at - before.lastIndexOf('\n');
    return new Unreadable('', `the JSON text has an unexpected character at line ${line}, column ${column}`);
  }
}
