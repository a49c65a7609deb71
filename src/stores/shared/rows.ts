/** Rows of the tables, and what they mean in the domain's words. */
import type { Known } from '../../domain/decide.ts';
import type { JsonValue } from '../../domain/json.ts';
import type { Decision, JobEvent, Limits, Status } from '../../domain/record.ts';
import type { ApiKey } from '../../ports/key-store.ts';
import type { Upload } from '../../ports/upload-store.ts';

/** As much of a job as a decision and the writing of its move need: the row of `jobs` with its lease joined in. */
export interface KnownRow {
  number: number;
  id: string;
  lane: number;
  status: Exclude<Status, 'running'>;
  priority: number;
  place: number;
  attempt: number;
  used: number;
  replays: number;
  timeout_ms: number;
  max_attempts: number;
  deadline_at: number;
  deadline_ms: number;
  decision: string | null;
  token: number | null;
  session: string | null;
  worker: string | null;
  since: number | null;
}

/** A job as it was read before its move is written, with the length of its history, which names the version that was read. */
export interface SeenRow extends KnownRow {
  event_count: number;
  /** The store's clock when it was read. */
  now: number;
}

export function knownOf(row: KnownRow): Known {
  const running = row.since === null ? null : { since: row.since, worker: row.worker ?? '' };
  const taken = running === null ? 0 : 1;
  return {
    jobId: row.id,
    status: running === null ? row.status : 'running',
    attempt: row.attempt + taken,
    used: row.used + taken,
    replays: row.replays,
    limits: limitsOf(row),
    decision: decisionOf(row),
    running,
  };
}

export function decisionOf({ decision }: { decision: string | null }): Decision | null {
  return decision === null ? null : (JSON.parse(decision) as Decision);
}

export function limitsOf(
  row: Pick<KnownRow, 'timeout_ms' | 'max_attempts' | 'deadline_at' | 'deadline_ms'>,
): Limits {
  return {
    timeoutMs: row.timeout_ms,
    maxAttempts: row.max_attempts,
    deadlineAt: row.deadline_at,
    deadlineMs: row.deadline_ms,
  };
}

/** The event that a lease stands for until its attempt ends. */
export function runningEvent(lease: { since: number; attempt: number; worker: string }): JobEvent {
  const { since, attempt, worker } = lease;
  return { type: 'running', from: 'queued', to: 'running', at: since, attempt, worker };
}

/** One JSON object a line. JSON escapes line feeds, U+0000 and lone surrogates, so any text survives. */
export function toLines(entries: readonly object[]): string {
  let text = '';
  for (const entry of entries) text += `${JSON.stringify(entry)}\n`;
  return text;
}

export function fromLines<Entry>(text: string): Entry[] {
  return text === '' ? [] : (JSON.parse(`[${text.trimEnd().replaceAll('\n', ',')}]`) as Entry[]);
}

export function labelsOf(text: string | null): Record<string, string> {
  return text === null ? {} : (JSON.parse(text) as Record<string, string>);
}

export function parsed<Value = JsonValue>(text: string): Value {
  return JSON.parse(text) as Value;
}

/** Free text as the tables keep it. */
export function quoted(text: string): string {
  return JSON.stringify(text);
}

export interface KeyRow {
  id: string;
  tenant: string;
  name: string;
  scopes: string;
  secret_sha256: string;
  created_at: number;
  revoked_at: number | null;
}

export function keyOf(row: KeyRow): ApiKey {
  return {
    id: row.id,
    tenant: row.tenant,
    name: parsed<string>(row.name),
    scopes: parsed<string[]>(row.scopes),
    secretSha256: row.secret_sha256,
    createdAt: row.created_at,
    revokedAt: row.revoked_at,
  };
}

export interface UploadRow {
  ref: string;
  tenant: string;
  sha256: string;
  bytes: number;
  media_type: string;
  file_name: string | null;
}

export function uploadOf({ ref, tenant, sha256, bytes, media_type, file_name }: UploadRow): Upload {
  const fileName = file_name === null ? null : parsed<string>(file_name);
  return { ref, tenant, sha256, bytes, mediaType: parsed<string>(media_type), fileName };
}
