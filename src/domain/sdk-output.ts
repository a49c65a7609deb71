/** What an error of the AI SDK leaves as evidence: the model's own output, the validator's issues, and where it was thrown. */
import { pointer } from './json.ts';
import type { ValidationIssue } from './record.ts';
import { isSdkErrorNamed } from './sdk-errors.ts';
import { framesOf, items, read, readIn, readText, show, withCauses } from './untrusted.ts';

const CAUSES_LIMIT = 6;
const ISSUES_LIMIT = 50;
const PATH_LIMIT = 64;

export interface SdkOutput {
  raw?: unknown;
  issues?: ValidationIssue[];
}

/** Where each error keeps what the model gave. */
const RAW: readonly (readonly [string, string])[] = [
  ['AI_NoObjectGeneratedError', 'text'],
  ['AI_InvalidToolInputError', 'toolInput'],
  ['AI_JSONParseError', 'text'],
  ['AI_TypeValidationError', 'value'],
];

export function sdkOutputOf(thrown: unknown): SdkOutput {
  const chain = withCauses(thrown, CAUSES_LIMIT);
  const raw = chain.map(rawIn).find((value) => value !== undefined);
  const issues = issuesIn(chain);
  return { ...(raw === undefined ? {} : { raw }), ...(issues.length === 0 ? {} : { issues }) };
}

function rawIn(thrown: unknown): unknown {
  const found = RAW.find(([name]) => isSdkErrorNamed(thrown, name));
  return found === undefined ? undefined : read(thrown, found[1]);
}

/** A validator's error among the causes, or its bare list of issues. */
function issuesIn(chain: readonly unknown[]): ValidationIssue[] {
  for (const cause of chain) {
    const listed = items(read(cause, 'issues') ?? cause, ISSUES_LIMIT);
    if (listed.length > 0) return listed.map(issueOf);
  }
  const unparsed = chain.some((cause) => isSdkErrorNamed(cause, 'AI_JSONParseError'));
  return unparsed ? [{ path: '', message: 'is not JSON' }] : [];
}

function issueOf(issue: unknown): ValidationIssue {
  const path = items(read(issue, 'path'), PATH_LIMIT).reduce<string>((above, segment) => {
    const key = readIn(segment, 'key') ?? segment;
    return pointer(above, typeof key === 'number' ? key : show(key));
  }, '');
  return { path, message: readText(issue, 'message') ?? '' };
}

/**
 * An error by its name and where it was thrown, without its message: that of an SDK's error quotes providers, prompts and
 * answers, and those of its causes quote it.
 */
export function namedOnly(thrown: unknown): string {
  const name = readText(thrown, 'name') ?? '';
  const code = readText(thrown, 'code') ?? '';
  const said = [/^[A-Za-z_]{1,60}$/.test(name) ? name : 'an error'];
  if (/^[A-Z0-9_]{3,50}$/.test(code)) said.push(code);
  const status = read(thrown, 'statusCode');
  if (typeof status === 'number') said.push(`HTTP ${status}`);
  return [said.join(', '), ...framesOf(thrown)].join('\n');
}
