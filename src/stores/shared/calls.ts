/** Calls to models and what they cost, in every store: rows, and what they mean in the domain's words. */
import type { Billing, CallEnd, CallOpening, ModelCall, ResponseRef } from '../../domain/model-call.ts';
import type { NanoUsd } from '../../domain/money.ts';
import type { KnownLimit, Ledger, LimitLine, LimitScope } from '../../ports/ledger.ts';
import { parsed } from './rows.ts';

/** A row of `model_calls`. What a call is and how it ended are JSON texts: nothing is ever looked up by them. */
export interface CallRow {
  n: number;
  token: number;
  attempt: number;
  place: number;
  started_at: number;
  reserved: NanoUsd;
  opening: string;
  reused_from: number | null;
  ended_at: number | null;
  /** Null as long as `ended_at` is. */
  ended: string | null;
  response: string | null;
  /** `unknown` from the beginning, until an end or a person says otherwise. */
  billing: Billing;
  cost: NanoUsd | null;
  settled_by: string | null;
  settled_at: number | null;
}

/** @param current the token of the job's lease; null where it has none */
export function callOf(row: CallRow, current: number | null): ModelCall {
  const open = row.ended_at === null && row.token === current;
  return {
    ...parsed<CallOpening>(row.opening),
    n: row.n,
    attempt: row.attempt,
    token: row.token,
    place: row.place,
    startedAt: row.started_at,
    reserved: row.reserved,
    end:
      row.ended === null || row.ended_at === null
        ? null
        : { ...parsed<CallEnd>(row.ended), endedAt: row.ended_at },
    billing: open ? null : row.billing,
    cost: row.cost,
    response: row.response === null ? null : parsed<ResponseRef>(row.response),
    reusedFrom: row.reused_from,
    settledBy: settledBy(row),
  };
}

function settledBy({ settled_by, settled_at }: CallRow): ModelCall['settledBy'] {
  if (settled_by === null || settled_at === null) return null;
  return { ...parsed<{ actor: string; reason: string }>(settled_by), at: settled_at };
}

/** What an end says of its bill, as the tables keep it. */
export function billOf(cost: NanoUsd | 'none' | null): { billing: Billing; cost: NanoUsd | null } {
  if (cost === null) return { billing: 'unknown', cost };
  return cost === 'none' ? { billing: 'none', cost: 0 } : { billing: 'settled', cost };
}

/** What a call asks of its accounts: one that a stored response answers costs nothing, and no limit keeps it. */
export function askedOf({ reusedFrom, estimate }: Parameters<Ledger['begin']>[0]): {
  estimate: NanoUsd;
  limited: boolean;
} {
  return reusedFrom === null ? { estimate, limited: true } : { estimate: 0, limited: false };
}

/** The accounts of one call, in the order in which their limits are looked at. */
export interface LineRow {
  scope: LimitScope;
  name: string;
  day: string;
  amount: NanoUsd | null;
  spent: NanoUsd;
  reserved: NanoUsd;
}

function lineOf({ scope, name, day, amount: limit, spent, reserved }: LineRow): LimitLine {
  return { scope, name: scope === 'day' ? day : name, limit, spent, reserved };
}

export function passedBy(lines: readonly LineRow[], estimate: NanoUsd): LimitLine | null {
  const passed = lines.find(
    ({ amount, spent, reserved }) => amount !== null && spent + reserved + estimate > amount,
  );
  return passed === undefined ? null : lineOf(passed);
}

export interface KnownLimitRow extends LineRow {
  actor: string | null;
  reason: string | null;
  at: number | null;
}

export function knownLimitOf(row: KnownLimitRow): KnownLimit {
  const { actor, reason, at } = row;
  const isSet = actor !== null && reason !== null && at !== null;
  const setBy = isSet ? { actor: parsed<string>(actor), reason: parsed<string>(reason), at } : null;
  return { ...lineOf(row), setBy };
}

/** The name under which a limit is kept: the deployment has none. */
export function limitName({ scope, name }: { scope: 'workflow' | 'day'; name: string | null }): string {
  const fits = name === null ? scope === 'day' : scope === 'workflow' && isNameOfWorkflow(name);
  if (!fits) throw new Error('a limit is of a workflow, by its name, or of the day');
  return name ?? '';
}

/** No store keeps U+0000 or lone surrogates in a name, and no workflow has them in its own. */
function isNameOfWorkflow(name: string): boolean {
  return name !== '' && !name.includes('\u0000') && name.isWellFormed();
}
