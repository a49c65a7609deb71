/** What was spent today, by a workflow or by all of them together, beside its limit. */
import { usdOf } from './dollars.ts';
import type { NanoUsd } from './money.ts';

export interface SpendingAccount {
  scope: 'workflow' | 'day';
  /** The workflow's name, or the day (`2026-11-30`). */
  name: string;
  /** Null: no limit. */
  limit: NanoUsd | null;
  /** Who says so; null where nobody does. */
  limitFrom: 'person' | 'workflow' | 'settings' | null;
  spent: NanoUsd;
  /** Held for calls that are under way, and for those whose cost nobody knows. */
  reserved: NanoUsd;
  /** The person who set the limit, where one did. */
  setBy: { actor: string; reason: string; at: number } | null;
}

export interface AccountJson {
  scope: 'workflow' | 'day';
  name: string;
  limit_usd: number | null;
  limit_from: SpendingAccount['limitFrom'];
  spent_usd: number;
  reserved_usd: number;
  set_by: { actor: string; reason: string; at: string } | null;
}

export function accountJson({ limitFrom, setBy, ...account }: SpendingAccount): AccountJson {
  const { scope, name, limit, spent, reserved } = account;
  return {
    scope,
    name,
    limit_usd: limit === null ? null : usdOf(limit),
    limit_from: limitFrom,
    spent_usd: usdOf(spent),
    reserved_usd: usdOf(reserved),
    set_by: setBy && { ...setBy, at: new Date(setBy.at).toISOString() },
  };
}
