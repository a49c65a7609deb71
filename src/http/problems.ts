/** Problem details (RFC 9457): every answer that is not a success, from one table of codes. */
import type { RefusalCode } from '../engine/api.ts';
import type { ValidationIssue } from '../domain/record.ts';

export type ProblemCode =
  | RefusalCode
  | 'unauthorized'
  | 'forbidden'
  | 'method_not_allowed'
  | 'request_timeout'
  | 'unsupported_media_type'
  | 'expectation_failed'
  | 'rate_limited'
  | 'head_too_large'
  | 'internal'
  | 'unavailable'
  | 'storage_full';

interface ProblemRule {
  status: number;
  title: string;
  /** When to come back, where coming back may help. */
  retryAfterS?: number;
}

export const PROBLEMS: Readonly<Record<ProblemCode, ProblemRule>> = {
  invalid_request: { status: 400, title: 'The request is not valid' },
  unknown_workflow: { status: 400, title: 'No such workflow' },
  unknown_input_ref: { status: 400, title: 'No such uploaded file' },
  unauthorized: { status: 401, title: 'A valid API key is needed' },
  forbidden: { status: 403, title: 'The key is not good for this' },
  not_found: { status: 404, title: 'Not found' },
  artifact_not_ready: { status: 404, title: 'There is no artifact yet' },
  method_not_allowed: { status: 405, title: 'Method not allowed' },
  request_timeout: { status: 408, title: 'The request came too slowly' },
  already_ended: { status: 409, title: 'The job has ended' },
  not_dead_letter: { status: 409, title: 'The job is not a dead letter' },
  decision_taken: { status: 409, title: 'The decision was taken' },
  call_not_unknown: { status: 409, title: 'What the call cost is known' },
  evidence_expired: { status: 410, title: 'The evidence was erased' },
  too_large: { status: 413, title: 'Too large' },
  unsupported_media_type: { status: 415, title: 'Unsupported media type' },
  expectation_failed: { status: 417, title: 'The expectation cannot be met' },
  idempotency_key_reused: { status: 422, title: 'The Idempotency-Key belongs to another request' },
  rate_limited: { status: 429, title: 'Too many at once', retryAfterS: 5 },
  head_too_large: { status: 431, title: 'The head of the request is too large' },
  internal: { status: 500, title: 'Internal error' },
  unavailable: { status: 503, title: 'Unavailable for the moment', retryAfterS: 2 },
  storage_full: { status: 507, title: 'The storage is full', retryAfterS: 60 },
};

/** An expected refusal on its way to the caller. The engine's `Refused` is one. */
export interface Problem {
  ok: false;
  code: ProblemCode;
  detail: string;
  errors: ValidationIssue[];
  headers?: Record<string, string>;
  /** The body was not read to its end, so the connection is of no more use. */
  closes?: boolean;
}

export type Parsed<T> = { ok: true; value: T } | Problem;

export function problem(code: ProblemCode, detail: string, errors: ValidationIssue[] = []): Problem {
  return { ok: false, code, detail, errors };
}

/** One answer for no key, a garbled, a revoked and an expired one. */
export const UNAUTHORIZED: Problem = {
  ...problem('unauthorized', 'Send an API key: Authorization: Bearer ck_...'),
  headers: { 'www-authenticate': 'Bearer realm="claimcheck"' },
};

export function invalidRequest(errors: ValidationIssue[]): Problem {
  const [first] = errors;
  const where = first === undefined || first.path === '' ? '' : `${first.path}: `;
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : '';
  return problem('invalid_request', `${where}${first?.message ?? 'the request is not valid'}${more}`, errors);
}

export function closing(refusal: Problem): Problem {
  return { ...refusal, closes: true };
}

export function problemJson({ code, detail, errors }: Problem) {
  const { status, title } = PROBLEMS[code];
  return {
    type: `urn:claimcheck:problem:${code}`,
    title,
    status,
    code,
    detail: shortened(detail, TEXT_LIMIT),
    errors: errors.map(({ path, message }) => ({
      path: shortened(path, PATH_LIMIT),
      message: shortened(message, TEXT_LIMIT),
    })),
  };
}

const PATH_LIMIT = 200;
const TEXT_LIMIT = 500;

/** Both ends of a text that is too long: what a caller wrote, such as a key of a megabyte, is not sent back whole. */
function shortened(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const half = Math.floor((limit - 1) / 2);
  return `${text.slice(0, half)}…${text.slice(-half)}`.toWellFormed();
}

export function problemHeaders({ code, headers, closes }: Problem): Record<string, string> {
  const { retryAfterS } = PROBLEMS[code];
  return {
    'content-type': 'application/problem+json',
    'cache-control': 'no-store',
    ...(retryAfterS === undefined ? {} : { 'retry-after': String(retryAfterS) }),
    ...(closes === true ? { connection: 'close' } : {}),
    ...headers,
  };
}

/**
 * What a thrown error is to a caller. Stores say by an error's name that they cannot be reached or are full;
 * all else is a defect, of which the caller learns nothing but a number to ask about.
 */
export function thrownProblem(error: unknown, requestId: string): Problem {
  const name = error instanceof Error ? error.name : '';
  if (name === 'StoreUnavailableError') {
    const known = 'The store did not answer, so it is not known whether the request was carried out.';
    return problem('unavailable', `${known} Send it again; with an Idempotency-Key it is carried out once.`);
  }
  if (name === 'StorageFullError') {
    return problem('storage_full', 'The disk is full, and nothing was kept. Make room, then send it again.');
  }
  return problem('internal', `Something went wrong here. The log names the cause under ${requestId}.`);
}
