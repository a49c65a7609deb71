/** Between the API's words (snake case, ISO dates) and the engine's (camel case, milliseconds). */
import type { z } from 'zod';
import { nanoOf } from '../domain/dollars.ts';
import { pointer } from '../domain/json.ts';
import type { NanoUsd } from '../domain/money.ts';
import type { RequestedLimits } from '../domain/policy.ts';
import type { ValidationIssue } from '../domain/record.ts';
import type { JobRequest, KeyView, ListQuery as EngineListQuery, WorkflowView } from '../engine/api.ts';
import { invalidRequest } from './problems.ts';
import type { Parsed } from './problems.ts';
import type { JobBody, Limits, ListQuery } from './schemas.ts';

const ISSUE_LIMIT = 50;

/** Checks a value; every thing that is wrong is named by its JSON Pointer. */
export function check<S extends z.ZodType>(schema: S, value: unknown): Parsed<z.output<S>> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return { ok: true, value: parsed.data };
  return invalidRequest(parsed.error.issues.flatMap(issuesOf).slice(0, ISSUE_LIMIT));
}

function issuesOf(issue: z.core.$ZodIssue): ValidationIssue[] {
  const path = issue.path.reduce<string>((above, key) => pointer(above, String(key)), '');
  if (issue.code !== 'unrecognized_keys') return [{ path, message: issue.message }];
  return issue.keys.map((key) => ({ path: pointer(path, key), message: 'unknown field' }));
}

export function jobRequest(body: JobBody): JobRequest {
  const { workflow, version, input_ref: inputRef, limits, run_at: runAt, priority, labels } = body;
  return {
    workflow,
    version,
    ...('input' in body ? { input: body.input } : {}),
    inputRef,
    limits: requestedLimits(limits),
    spendingLimit: spendingLimit(limits),
    runAt: runAt === undefined ? undefined : Date.parse(runAt),
    priority,
    labels,
  };
}

export function requestedLimits(limits: Limits | undefined): RequestedLimits | undefined {
  if (limits === undefined) return undefined;
  const { timeout_ms: timeoutMs, max_attempts: maxAttempts, deadline_ms: deadlineMs, deadline_at } = limits;
  const deadlineAt = deadline_at === undefined ? undefined : Date.parse(deadline_at);
  return { timeoutMs, maxAttempts, deadlineMs, deadlineAt };
}

/** The limit of money that a request sets for its job. */
export function spendingLimit(limits: Limits | undefined): NanoUsd | undefined {
  return nanoOf(limits?.spending_usd) ?? undefined;
}

export function listQuery(
  { status, workflow, code, after, limit }: ListQuery,
  labels: Record<string, string>,
): EngineListQuery {
  return { status, workflow, code, labels, after, limit };
}

export function keyJson({ id, name, scopes, createdAt, revokedAt }: KeyView) {
  const revoked = revokedAt === null ? null : new Date(revokedAt).toISOString();
  return { id, name, scopes, created_at: new Date(createdAt).toISOString(), revoked_at: revoked };
}

export function workflowJson({ name, version, inputFile, inputJsonSchema }: WorkflowView) {
  return { name, version, input_file: inputFile, input_schema: inputJsonSchema };
}
