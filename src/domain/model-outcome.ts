/** What a call to a model meant: one versioned table from what was thrown or returned to a code of the record. */
import type { ErrorCode } from './failures.ts';

/** `rule` names the line of the table, for the error entry. */
export interface Judgement {
  code: ErrorCode;
  rule: string;
  /** From the provider's Retry-After. */
  retryAfterMs?: number;
}
