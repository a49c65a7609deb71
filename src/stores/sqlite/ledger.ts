/**
 * Calls to models and their money. Each verb runs within a transaction of the writer's, so a look at the lease, at a pause and at
 * the accounts is still true when the call is written.
 */
import type { Billing } from '../../domain/model-call.ts';
import type { NanoUsd } from '../../domain/money.ts';
import type { CallBegun, Ledger } from '../../ports/ledger.ts';
import { askedOf, billOf, callOf, knownLimitOf, limitName, passedBy } from '../shared/calls.ts';
import type { CallRow, KnownLimitRow, LineRow } from '../shared/calls.ts';
import { quoted } from '../shared/rows.ts';
import { blobKeeper } from './blobs.ts';
import type { StoreContext } from './context.ts';
import { prepared } from './statements.ts';
import { together } from './together.ts';

interface HeldCall {
  id: string;
  job: number;
  workflow: string;
  day: string;
  reserved: NanoUsd;
  billing: Billing;
  ended_at: number | null;
  living: 0 | 1;
}

type Begin = Parameters<Ledger['begin']>[0];
type End = Parameters<Ledger['end']>[0];
type Settlement = Parameters<Ledger['settleUnknown']>[0];

export function ledgerOf(context: StoreContext): Ledger {
  const { connection, lanes, now } = context;
  const calls = new Calls(context);
  const write = together(connection);
  const sql = prepared<{
    calls: CallRow & { current: number | null };
    unknownCalls: CallRow & { id: string; lane: number; workflow: string };
    setLimit: never;
    limits: KnownLimitRow;
    pause: never;
    holdWorkflow: never;
    heldWorkflows: { workflow: string; for_ms: number };
  }>(connection.db, 'ledger');

  return {
    begin: (params) => write(() => calls.begin(params, now())),
    end: (params) => write(() => calls.end(params, now())),
    settleUnknown: (params) => connection.write(() => calls.settleUnknown(params, now())),

    calls: ({ jobId }) =>
      connection.read(() => sql.calls.all({ id: jobId }).map((row) => callOf(row, row.current))),

    unknownCalls: ({ limit }) =>
      connection.read(() =>
        sql.unknownCalls.all({ limit }).map((row) => {
          const { id: jobId, workflow } = row;
          return { jobId, tenant: lanes.get(row.lane).tenant, workflow, call: callOf(row, null) };
        }),
      ),

    setLimit: ({ scope, name, limit, actor, reason }) =>
      connection.write(() => {
        const who = { actor: quoted(actor), reason: quoted(reason), now: now() };
        sql.setLimit.run({ scope, name: limitName({ scope, name }), amount: limit, ...who });
      }),

    limits: () => connection.read(() => sql.limits.all({ day: dayOf(now()) }).map(knownLimitOf)),

    pause: ({ provider, account, model }, forMs) =>
      connection.write(() => {
        const upstream = { provider: quoted(provider), account: quoted(account), model: quoted(model) };
        sql.pause.run({ ...upstream, now: now(), until: now() + forMs });
      }),

    holdWorkflow: ({ provider, account, model }, workflow) =>
      connection.write(() => {
        const upstream = { provider: quoted(provider), account: quoted(account), model: quoted(model) };
        sql.holdWorkflow.run({ ...upstream, now: now(), workflow });
      }),

    heldWorkflows: () =>
      connection.read(() =>
        sql.heldWorkflows.all({ now: now() }).map(({ workflow, for_ms }) => ({ workflow, forMs: for_ms })),
      ),
  };
}

/** What a call goes through. Only within a write. */
class Calls {
  readonly #sql;
  readonly #keep;

  constructor({ connection }: StoreContext) {
    this.#sql = prepared<{
      held: { job: number; spending_limit: NanoUsd | null };
      begun: { n: number };
      paused: { for_ms: number };
      newestLimit: { amount: NanoUsd | null };
      lines: LineRow;
      reserve: { scope: LineRow['scope']; calls: number };
      add: never;
      call: HeldCall;
      end: never;
      settle: never;
      release: never;
    }>(connection.db, 'ledger');
    this.#keep = blobKeeper(connection);
  }

  begin(params: Begin, now: number): CallBegun {
    const { jobId, token, place, reusedFrom } = params;
    const held = this.#sql.held.get({ id: jobId, token });
    if (held === undefined) return { outcome: 'lease_lost' };
    const begun = this.#sql.begun.get({ job: held.job, token, place });
    if (begun !== undefined) return { outcome: 'begun', n: begun.n };
    const forMs = reusedFrom === null ? this.#pausedForMs(params, now) : 0;
    if (forMs > 0) return { outcome: 'paused', forMs };
    return this.#reserve(params, held, now);
  }

  #pausedForMs({ opening }: Begin, now: number): number {
    const { provider, account, requestedModel } = opening;
    const upstream = { provider: quoted(provider), account: quoted(account), model: quoted(requestedModel) };
    return this.#sql.paused.get({ ...upstream, now })?.for_ms ?? 0;
  }

  #reserve(params: Begin, held: { job: number; spending_limit: NanoUsd | null }, now: number): CallBegun {
    const { jobId, token, attempt, place, workflow, opening, limits, reusedFrom } = params;
    const { estimate, limited } = askedOf(params);
    const day = dayOf(now);
    const accounts = {
      id: jobId,
      workflow,
      day,
      job_limit: limited ? held.spending_limit : null,
      workflow_limit: limited ? this.#limit('workflow', workflow, limits.workflow) : null,
      day_limit: limited ? this.#limit('day', '', limits.day) : null,
    };
    const reserved = this.#sql.reserve.all({ ...accounts, estimate });
    const n = reserved.find(({ scope }) => scope === 'job')?.calls;
    if (n === undefined) return this.#overLimit(accounts, estimate);
    this.#sql.add.run({
      job: held.job,
      n,
      token,
      attempt,
      place,
      workflow,
      day,
      now,
      estimate,
      opening: JSON.stringify(opening),
      reused_from: reusedFrom,
    });
    return { outcome: 'begun', n };
  }

  /** What a person said last holds, be it that there is none. */
  #limit(scope: 'workflow' | 'day', name: string, otherwise: NanoUsd | null): NanoUsd | null {
    const newest = this.#sql.newestLimit.get({ scope, name });
    return newest === undefined ? otherwise : newest.amount;
  }

  #overLimit(accounts: Record<string, string | number | null>, estimate: NanoUsd): CallBegun {
    const line = passedBy(this.#sql.lines.all(accounts), estimate);
    if (line === null) throw new Error('a call was refused, and passes no limit');
    return { outcome: 'over_limit', line };
  }

  end({ jobId, token, n, end, cost, response, blob }: End, now: number): boolean {
    const call = this.#sql.call.get({ id: jobId, n, token, tenant: null });
    if (call === undefined) return false;
    if (call.ended_at !== null) return true;
    if (call.living === 0) return false;
    const bill = billOf(cost);
    this.#sql.end.run({
      job: call.job,
      n,
      now,
      ...bill,
      ended: JSON.stringify(end),
      response: response === null ? null : JSON.stringify(response),
    });
    if (bill.cost !== null) this.#release(jobId, call, bill.cost);
    if (blob !== null) this.#keep(blob);
    return true;
  }

  settleUnknown({ tenant, jobId, n, cost, actor, reason }: Settlement, now: number) {
    const call = this.#sql.call.get({ id: jobId, n, token: null, tenant });
    if (call?.id !== jobId) return 'not_found';
    const underWay = call.ended_at === null && call.living === 1;
    if (call.billing !== 'unknown' || underWay) return 'not_unknown';
    this.#sql.settle.run({ job: call.job, n, cost, settled_by: JSON.stringify({ actor, reason }), now });
    this.#release(jobId, call, cost);
    return 'settled';
  }

  /** What was held is given back, and what it cost is spent, in the accounts of the day on which the call began. */
  #release(id: string, { workflow, day, reserved }: HeldCall, cost: NanoUsd): void {
    this.#sql.release.run({ id, workflow, day, reserved, cost });
  }
}

/** The day in which an instant lies, in UTC. */
function dayOf(now: number): string {
  return new Date(now).toISOString().slice(0, 10);
}
