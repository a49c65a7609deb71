/** What callers may send. The same schemas check requests and describe them in the OpenAPI document. */
import { z } from 'zod';
import type { ErrorCode } from '../domain/failures.ts';
import { ALLOWED_USD, MOST_USD, nanoOf } from '../domain/dollars.ts';
import { FAILURES } from '../domain/failures.ts';
import { SCOPES } from '../domain/scopes.ts';

export const ERROR_CODES = Object.keys(FAILURES) as [ErrorCode, ...ErrorCode[]];
export const STATUSES = ['queued', 'running', 'completed', 'dead_letter'] as const;

const BATCH_LIMIT = 1000;
const PAGE_LIMIT = 500;
const REASON_LIMIT = 2000;

/** One line of text that every store keeps and every terminal shows as it is. */
function line(limit: number) {
  return z
    .string()
    .min(1, { error: 'must not be empty', abort: true })
    .max(limit)
    .refine((text) => text.isWellFormed() && !/\p{Cc}/u.test(text), {
      error: 'must not contain control characters or lone surrogates',
    });
}

const instant = z.iso.datetime({
  offset: true,
  error: 'must be an ISO 8601 instant with its zone, such as 2026-01-31T08:00:00Z',
});

const amount = z
  .number()
  .refine((usd) => nanoOf(usd) !== null, { error: `must be ${ALLOWED_USD}` })
  .meta({ minimum: 0, maximum: MOST_USD });

const Limits = z
  .strictObject({
    timeout_ms: z.int().min(1).optional().describe('Of one attempt.'),
    max_attempts: z.int().min(1).optional(),
    deadline_ms: z
      .int()
      .min(1)
      .optional()
      .describe('When the answer stops being useful, counted from acceptance.'),
    deadline_at: instant.optional().describe('The same as an instant; give one of the two.'),
    spending_usd: amount
      .optional()
      .describe('Dollars that all calls of the job to models may cost together.'),
  })
  .meta({ id: 'Limits' });

export const JobBody = z
  .strictObject({
    workflow: line(100),
    version: line(100).optional().describe('Version of the workflow; the newest by default.'),
    input: z.unknown().optional().describe('Whatever JSON the workflow takes.'),
    input_ref: line(200).optional().describe('A file, by the reference that POST /uploads answered with.'),
    limits: Limits.optional(),
    run_at: instant.optional().describe('Not to start before.'),
    priority: z.int().min(-100).max(100).optional().describe('Higher first; 0 by default.'),
    labels: z.record(z.string(), z.string()).optional(),
  })
  .meta({ id: 'JobRequest' });

export const BatchBody = z
  .strictObject({ jobs: z.array(JobBody).min(1).max(BATCH_LIMIT) })
  .meta({ id: 'BatchRequest' });

const reason = line(REASON_LIMIT).refine((text) => text.trim() !== '', { error: 'must say why' });

export const CancelBody = z.strictObject({ reason }).meta({ id: 'CancelRequest' });

export const ReplayBody = z
  .strictObject({
    reason,
    decision_id: line(100)
      .optional()
      .describe('The decision that this replay takes; whichever is open by default.'),
    limits: Limits.optional().describe('For the attempts to come.'),
    from_evidence: z
      .boolean()
      .optional()
      .describe('Answer its calls to models with stored responses, and call no provider.'),
  })
  .meta({ id: 'ReplayRequest' });

export const SettleBody = z
  .strictObject({ cost_usd: amount.describe('What the call cost, in dollars.'), reason })
  .meta({ id: 'SettleRequest' });

export const SpendingLimitBody = z
  .discriminatedUnion('scope', [
    z.strictObject({ scope: z.literal('workflow'), name: line(100), usd: amount.nullable(), reason }),
    z.strictObject({ scope: z.literal('day'), usd: amount.nullable(), reason }),
  ])
  .meta({ id: 'SpendingLimitRequest' });

export const KeyBody = z
  .strictObject({
    name: line(100),
    scopes: z
      .array(z.enum(SCOPES))
      .min(1)
      .max(SCOPES.length)
      .optional()
      .describe('What it may do; `admin`, which is all of it, by default.'),
  })
  .meta({ id: 'KeyRequest' });

export const StatusQuery = z.strictObject({
  wait: z
    .string()
    .regex(/^\d{1,2}(\.\d{1,3})?$/, { error: 'must be a number of seconds from 0 to 60' })
    .transform(Number)
    .refine((seconds) => seconds <= 60, { error: 'must be at most 60 seconds' })
    .optional()
    .describe('Seconds (0 to 60) to hold the answer until the ETag changes.'),
});

export const RecordQuery = z.strictObject({ view: z.literal('brief').optional() });

export const EvidenceQuery = z.strictObject({ uri: line(500).describe('As in the record.') });

/** Any number of `label.<name>` come on top; they are taken out before this schema sees the query. */
export const ListQuery = z.strictObject({
  status: z.enum(STATUSES).optional(),
  workflow: line(100).optional(),
  code: z.enum(ERROR_CODES).optional().describe('The code of the error that a dead letter ended with.'),
  after: z
    .string()
    .regex(/^job_[0-9A-HJKMNP-TV-Z]{26}$/, { error: 'must be the `next` of an earlier page' })
    .optional()
    .describe('The `next` of the page before: the id of its last job.'),
  limit: z
    .string()
    .regex(/^\d{1,4}$/, { error: 'must be a whole number' })
    .transform(Number)
    .pipe(z.int().min(1).max(PAGE_LIMIT))
    .optional()
    .describe(`Jobs a page, 1 to ${PAGE_LIMIT}; 50 by default.`),
});

export type JobBody = z.output<typeof JobBody>;
export type Limits = z.output<typeof Limits>;
export type ListQuery = z.output<typeof ListQuery>;
