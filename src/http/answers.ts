/** What callers get back, as schemas of the OpenAPI document; tests hold real answers against them. */
import { z } from 'zod';
import { ERROR_CODES, STATUSES } from './schemas.ts';

const status = z.enum(STATUSES);
const code = z.enum(ERROR_CODES);
const instant = z.iso.datetime();
const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const count = z.int().min(0);
const issues = z.array(z.strictObject({ path: z.string().describe('JSON Pointer'), message: z.string() }));

export const Ticket = z
  .strictObject({ job_id: z.string(), status, status_url: z.string() })
  .meta({ id: 'Ticket' });

export const Tickets = z.strictObject({ jobs: z.array(Ticket) }).meta({ id: 'Tickets' });

const Artifact = z
  .strictObject({ uri: z.string(), sha256, bytes: count, media_type: z.string() })
  .meta({ id: 'Artifact' });

const statusKeys = {
  job_id: z.string(),
  status,
  attempt: count,
  artifact: Artifact.nullable(),
  error: z.strictObject({ code, message: z.string(), attempt: count }).nullable(),
  updated_at: instant,
};

export const Status = z.strictObject(statusKeys).meta({ id: 'Status' });

export const Page = z
  .strictObject({
    jobs: z.array(z.strictObject({ ...statusKeys, workflow: z.string() })),
    next: z.string().nullable(),
  })
  .meta({ id: 'Page' });

const Event = z
  .strictObject({
    seq: z.int().min(1),
    type: z.string(),
    from: status.nullable(),
    to: status,
    at: instant,
    attempt: count,
    code: code.optional(),
    due: instant.optional(),
    worker: z.string().optional(),
    actor: z.string().optional(),
    reason: z.string().optional(),
    detail: z.unknown().optional(),
  })
  .meta({ id: 'Event' });

export const Events = z.strictObject({ events: z.array(Event) }).meta({ id: 'Events' });

const ErrorEntry = z
  .strictObject({
    attempt: count,
    code,
    message: z.string(),
    at: instant,
    elapsed_ms: z.number(),
    limit_ms: z.number().optional(),
    issues: issues.optional(),
    evidence: z.array(z.strictObject({ kind: z.string(), uri: z.string(), sha256, bytes: count })).optional(),
    rule: z.string().optional(),
  })
  .meta({ id: 'ErrorEntry' });

const Decision = z
  .strictObject({
    decision_id: z.string(),
    open: z.boolean(),
    code,
    question: z.string(),
    choices: z.array(z.string()),
    choice: z.string().optional(),
    actor: z.string().optional(),
    reason: z.string().optional(),
    taken_at: instant.optional(),
  })
  .meta({ id: 'Decision' });

const usd = z.number().min(0).describe('Dollars.');
const tokens = count.nullable();

export const Call = z
  .strictObject({
    n: z.int().min(1),
    attempt: count,
    provider: z.string(),
    account: z.string(),
    requested_model: z.string(),
    served_model: z.string().nullable(),
    served_another: z.boolean().describe('Whether another model answered than was asked for.'),
    prompt_sha256: sha256,
    schema_sha256: sha256.nullable(),
    request_sha256: sha256,
    parameters: z.record(z.string(), z.unknown()),
    sdk: z.string(),
    streamed: z.boolean(),
    repair: z.boolean(),
    started_at: instant,
    latency_ms: z.number().nullable(),
    finish_reason: z.string().nullable(),
    request_id: z.string().nullable().describe('The provider’s own.'),
    http_status: z.int().nullable(),
    usage: z
      .strictObject({
        input: tokens,
        cached_input: tokens,
        cache_write: tokens,
        output: tokens,
        reasoning: tokens,
        unpriced: z
          .literal(true)
          .optional()
          .describe('The buckets do not tell all that counts for the bill.'),
      })
      .nullable()
      .describe('Tokens in buckets that share none; null where the provider did not say.'),
    reserved_usd: usd,
    cost_usd: usd.nullable(),
    billing: z
      .enum(['settled', 'none', 'unknown'])
      .nullable()
      .describe('Null while the call is under way; `unknown`: what was reserved stays held.'),
    code: code.nullable(),
    rule: z.string().nullable(),
    response: z
      .strictObject({ uri: z.string(), sha256, bytes: count, erased_at: instant.optional() })
      .nullable(),
    reused_from: z.int().nullable(),
    settled_by: z.strictObject({ actor: z.string(), reason: z.string(), at: instant }).nullable(),
  })
  .meta({ id: 'Call' });

export const SpendingLimit = z
  .strictObject({
    scope: z.enum(['workflow', 'day']),
    name: z.string().describe('The workflow’s, or the day (UTC).'),
    limit_usd: usd.nullable(),
    limit_from: z
      .enum(['person', 'workflow', 'settings'])
      .nullable()
      .describe('Who says so; null where nobody does.'),
    spent_usd: usd,
    reserved_usd: usd,
    set_by: z.strictObject({ actor: z.string(), reason: z.string(), at: instant }).nullable(),
  })
  .meta({ id: 'SpendingLimit' });

export const Spending = z.strictObject({ accounts: z.array(SpendingLimit) }).meta({ id: 'Spending' });

export const Record = z
  .strictObject({
    job_id: z.string(),
    tenant: z.string(),
    workflow: z.string(),
    workflow_version: z.string(),
    output_schema_sha256: z.string(),
    status,
    attempt: count,
    priority: z.int(),
    labels: z.record(z.string(), z.string()),
    input: z.unknown(),
    input_ref: z.string().nullable(),
    input_sha256: z.string(),
    limits: z.strictObject({
      timeout_ms: z.int(),
      max_attempts: z.int(),
      deadline_at: instant,
      spending_usd: usd.optional(),
    }),
    run_at: instant,
    lease: z.strictObject({ worker: z.string(), token: z.int(), until: instant }).nullable(),
    progress: z.strictObject({ fraction: z.number(), note: z.string().nullable(), at: instant }).optional(),
    errors: z.array(ErrorEntry),
    events: z.array(Event),
    artifact: Artifact.nullable(),
    artifacts: z.array(
      z.strictObject({ name: z.string(), uri: z.string(), sha256, bytes: count, media_type: z.string() }),
    ),
    calls: z.array(Call).optional(),
    spending: z.strictObject({ limit_usd: usd.nullable(), spent_usd: usd, reserved_usd: usd }).optional(),
    decision: Decision.nullable(),
    answers: z.strictObject({
      requested: z.string(),
      now: z.string(),
      tried: z.string(),
      artifact: z.string(),
      decision: z.string(),
    }),
    created_at: instant,
    updated_at: instant,
    started_at: instant.nullable(),
    finished_at: instant.nullable(),
  })
  .meta({ id: 'Record' });

export const Brief = z
  .strictObject({
    id: z.string(),
    status,
    attempt: count,
    errors: z.array(code),
    events: z.array(z.string()),
  })
  .meta({ id: 'Brief' });

export const Upload = z
  .strictObject({ input_ref: z.string(), sha256, bytes: count, media_type: z.string() })
  .meta({ id: 'Upload' });

export const Workflows = z
  .strictObject({
    workflows: z.array(
      z.strictObject({
        name: z.string(),
        version: z.string(),
        input_file: z.enum(['none', 'optional', 'required']),
        input_schema: z
          .record(z.string(), z.unknown())
          .nullable()
          .describe(
            'JSON Schema (2020-12) of `input`; null where the workflow’s schema cannot be said in it.',
          ),
      }),
    ),
  })
  .meta({ id: 'Workflows' });

const keyFields = {
  id: z.string(),
  name: z.string(),
  scopes: z.array(z.string()),
  created_at: instant,
  revoked_at: instant.nullable(),
};

export const NewKey = z
  .strictObject({ key: z.string().describe('Shown this once.'), ...keyFields })
  .meta({ id: 'NewKey' });

export const Keys = z.strictObject({ keys: z.array(z.strictObject(keyFields)) }).meta({ id: 'Keys' });

export const Health = z.strictObject({ status: z.literal('ok') }).meta({ id: 'Health' });

export const ProblemDetails = z
  .strictObject({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    code: z.string(),
    detail: z.string(),
    errors: issues,
  })
  .meta({ id: 'Problem' });
