/**
 * Calls to models and the money they cost. A call is written, and its estimate reserved, before it is made; what it cost
 * is settled afterwards. Both writes are fenced by the lease's token: a call whose attempt ended before it did has
 * billing `unknown`, and its reservation stays held until a person (or a reconciliation) says what it cost.
 *
 * Three limits are held at every moment, spent and reserved together: the job's own, the workflow's of the day, the
 * deployment's of the day (UTC, by the store's clock). A limit that a person set (`setLimit`) replaces the one of the
 * workflow or of the settings.
 */
import type { CallEnd, CallOpening, ModelCall } from '../domain/model-call.ts';
import type { NanoUsd } from '../domain/money.ts';
import type { InlineBlob } from './job-store.ts';

/** What a limit is of. */
export type LimitScope = 'job' | 'workflow' | 'day';

export interface LimitLine {
  scope: LimitScope;
  /** The job's id, the workflow's name, or the day (`2026-11-30`). */
  name: string;
  /** Null: no limit. */
  limit: NanoUsd | null;
  spent: NanoUsd;
  reserved: NanoUsd;
}

/** An account of today with the limit that a person set for it. */
export interface KnownLimit extends LimitLine {
  /** Null where nobody set one: that of the workflow or of the settings holds then, which the store does not know. */
  setBy: { actor: string; reason: string; at: number } | null;
}

export type CallBegun =
  | { outcome: 'begun'; n: number }
  | { outcome: 'lease_lost' }
  /** Nothing was reserved; `line` is the first limit that the call would have passed. */
  | { outcome: 'over_limit'; line: LimitLine }
  /** The provider asked for a pause: nothing was reserved. */
  | { outcome: 'paused'; forMs: number };

/** One provider's account and model. */
export interface Upstream {
  provider: string;
  account: string;
  model: string;
}

export interface Ledger {
  /**
   * Writes the call's intent and reserves its estimate, all or nothing. The job's limit is the record's; `limits` are those
   * of the workflow and of the settings, null where there is none. A begin that was not answered may be sent again: one attempt
   * has one call of each `place`, and the second gets the first's answer.
   * @param place 1, 2, ... within the attempt
   * @param reusedFrom a call whose stored response stands in: nothing is reserved, and no pause holds it
   */
  begin(params: {
    jobId: string;
    token: number;
    attempt: number;
    place: number;
    workflow: string;
    opening: CallOpening;
    estimate: NanoUsd;
    limits: { workflow: NanoUsd | null; day: NanoUsd | null };
    reusedFrom: number | null;
  }): Promise<CallBegun>;

  /**
   * Writes the end of a call with its response (a small one in the same transaction) and settles its reservation:
   * `cost` null leaves it held, as `unknown`; `'none'` says that nothing was billed. False where the token is not the job's
   * current one, or began no such call: nothing is written. An end that was not answered may be sent again: of a call that
   * this token ended before it changes nothing, and is true.
   */
  end(params: {
    jobId: string;
    token: number;
    n: number;
    end: CallEnd;
    cost: NanoUsd | 'none' | null;
    response: { uri: string; sha256: string; bytes: number } | null;
    blob: InlineBlob | null;
  }): Promise<boolean>;

  /** All calls of a job, oldest first. */
  calls(params: { jobId: string }): Promise<ModelCall[]>;

  /** A person (or a reconciliation) says what a call of unknown billing cost. */
  settleUnknown(params: {
    tenant: string;
    jobId: string;
    n: number;
    cost: NanoUsd;
    actor: string;
    reason: string;
  }): Promise<'settled' | 'not_found' | 'not_unknown'>;

  /** Calls of unknown billing, oldest first, of all tenants: for a reconciliation. */
  unknownCalls(params: {
    limit: number;
  }): Promise<{ jobId: string; tenant: string; workflow: string; call: ModelCall }[]>;

  /** Sets a limit of a workflow's day or of the deployment's day (name null), for today and the days after; null lifts it. */
  setLimit(params: {
    scope: 'workflow' | 'day';
    name: string | null;
    limit: NanoUsd | null;
    actor: string;
    reason: string;
  }): Promise<void>;

  /** Today's accounts: the deployment's first, then those of workflows that made calls today or whose limit a person set, by name. */
  limits(): Promise<KnownLimit[]>;

  /** Calls to it are refused until then, to every worker; a shorter pause than the one that is known changes nothing. */
  pause(upstream: Upstream, forMs: number): Promise<void>;

  /** Notes that jobs of this workflow wait for it, until its pause has passed; nothing where it has passed already. */
  holdWorkflow(upstream: Upstream, workflow: string): Promise<void>;

  /** Workflows whose jobs wait for a provider now, with the milliseconds that are left, of several the most. */
  heldWorkflows(): Promise<{ workflow: string; forMs: number }[]>;
}
