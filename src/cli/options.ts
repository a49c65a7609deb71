/** What the texts of a command line stand for; each parser refuses in a sentence. */
import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { basename, extname } from 'node:path';
import { InvalidArgumentError } from 'commander';
import { ALLOWED_USD, nanoOf } from '../domain/dollars.ts';
import { readJson, readJsonText } from '../domain/json-text.ts';
import type { JsonValue } from '../domain/json.ts';
import type { NanoUsd } from '../domain/money.ts';
import type { RequestedLimits } from '../domain/policy.ts';
import { SCOPES } from '../domain/scopes.ts';
import type { Scope } from '../domain/scopes.ts';
import { fileReason } from './file-reasons.ts';
import type { Io } from './host.ts';
import { EXIT, Problem } from './problem.ts';

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.pdf': 'application/pdf',
  '.json': 'application/json',
  '.txt': 'text/plain',
  '.md': 'text/markdown',
  '.csv': 'text/csv',
  '.html': 'text/html',
  '.xml': 'application/xml',
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.webp': 'image/webp',
};

export function wholeNumber(text: string): number {
  const number = /^-?\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(number)) throw new InvalidArgumentError('It takes a whole number.');
  return number;
}

export function positiveNumber(text: string): number {
  const number = wholeNumber(text);
  if (number < 1) throw new InvalidArgumentError('It takes a whole number of at least 1.');
  return number;
}

/** Collects `key=value` pairs. */
export function pair(text: string, earlier: Record<string, string> = {}): Record<string, string> {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('It takes key=value.');
  return { ...earlier, [text.slice(0, at)]: text.slice(at + 1) };
}

/** Dollars, `0.25` or `$0.25`, as whole nano-dollars. */
export function amount(text: string): NanoUsd {
  const digits = /^\$?(\d+(?:\.\d+)?|\.\d+)$/.exec(text)?.[1];
  const nano = digits === undefined ? null : nanoOf(Number(digits));
  if (nano === null) throw new InvalidArgumentError(`It takes ${ALLOWED_USD}.`);
  return nano;
}

export function amountOrNone(text: string): NanoUsd | null {
  return text === 'none' ? null : amount(text);
}

/** Collects scopes of a key. */
export function scopes(text: string, earlier: readonly Scope[] = []): Scope[] {
  const scope = SCOPES.find((known) => known === text);
  if (scope === undefined) throw new InvalidArgumentError(`It takes one of ${SCOPES.join(', ')}.`);
  return [...earlier, scope];
}

/** An instant in ms; a date without a time zone would mean another instant on every machine. */
export function instant(text: string): number {
  const hasZone = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}.*(Z|[+-]\d{2}:?\d{2})$/i.test(text);
  const at = hasZone ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(at)) {
    throw new InvalidArgumentError('It takes a date and time with its zone, such as 2030-01-31T08:00:00Z.');
  }
  return at;
}

export interface LimitOptions {
  timeoutMs?: number;
  maxAttempts?: number;
  deadlineMs?: number;
  deadlineAt?: number;
}

/** Undefined where none was given. */
export function limitsOf({
  timeoutMs,
  maxAttempts,
  deadlineMs,
  deadlineAt,
}: LimitOptions): RequestedLimits | undefined {
  const limits = { timeoutMs, maxAttempts, deadlineMs, deadlineAt };
  return Object.values(limits).some((value) => value !== undefined) ? limits : undefined;
}

/** `JSON`, `@file` or `-` for stdin; read as strictly as the API reads a body. */
export async function readInput(text: string, io: Io): Promise<JsonValue> {
  const { place, source } = await inputSource(text, io);
  const read = typeof source === 'string' ? readJsonText(source) : readJson(source);
  if (read.ok) return read.value;
  const { path, message } = read.issue;
  const where = path === '' ? '' : ` at ${path}`;
  const hint =
    path === '' && typeof source === 'string' ? ' Quote it for your shell, or use --input @file.' : '';
  throw new Problem(`${place} is refused${where}: ${message}.${hint}`, EXIT.usage);
}

async function inputSource(text: string, io: Io): Promise<{ place: string; source: string | Uint8Array }> {
  if (text === '-') return { place: 'The input on stdin', source: await io.stdin() };
  if (!text.startsWith('@')) return { place: 'The input', source: text };
  const file = text.slice(1);
  return { place: file, source: await readFile(file).catch((error: unknown) => unreadable(file, error)) };
}

/** A file to upload, with the media type that its name suggests. */
export async function openUpload(path: string) {
  const found = await stat(path).catch((error: unknown) => unreadable(path, error));
  if (!found.isFile()) {
    const what = found.isDirectory() ? 'a directory' : 'no regular file';
    throw new Problem(`Cannot read ${path}: it is ${what}.`, EXIT.usage);
  }
  const fileName = basename(path);
  const mediaType = MEDIA_TYPES[extname(fileName).toLowerCase()] ?? 'application/octet-stream';
  return { body: createReadStream(path), mediaType, fileName };
}

function unreadable(path: string, error: unknown): never {
  throw new Problem(`Cannot read ${path}: ${fileReason(error, 'read')}.`, EXIT.usage);
}
