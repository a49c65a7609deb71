/**
 * What persons see of money and say about it: today's accounts and their limits, and what a call in doubt cost. The
 * store knows the limits that persons set; those of workflows and of the settings hold where nobody set one.
 */
import type { SpendingAccount } from '../domain/accounts.ts';
import { MOST_USD, nanoOf, usdOf } from '../domain/dollars.ts';
import type { NanoUsd } from '../domain/money.ts';
import type { ValidationIssue } from '../domain/record.ts';
import { permits } from '../domain/scopes.ts';
import type { JobStore } from '../ports/job-store.ts';
import type { KnownLimit, Ledger } from '../ports/ledger.ts';
import type { Caller, EngineApi, Refused, SpendingLimitRequest } from './api.ts';
import type { WorkflowTable } from './define.ts';
import { invalid, ok, reasonIssues, refused, reasonText } from './refusals.ts';
import type { EngineSettings } from './settings.ts';

interface SpendingDeps {
  ledger: Ledger;
  jobs: Pick<JobStore, 'job'>;
  workflows: WorkflowTable;
  settings: Pick<EngineSettings, 'dayLimit'>;
}

type Spending = Pick<EngineApi, 'spending' | 'setSpendingLimit' | 'settleCall'>;

export function createSpending({ ledger, jobs, workflows, settings }: SpendingDeps): Spending {
  async function accounts(): Promise<SpendingAccount[]> {
    const known = await ledger.limits();
    const lines = known.map((line) => accountOf(line, ownLimit(line)));
    const seen = new Set(lines.map(({ scope, name }) => (scope === 'workflow' ? name : null)));
    const idle = workflows.names().filter((name) => !seen.has(name) && perDay(name) !== null);
    return [...lines, ...idle.map((name) => idleAccount(name, perDay(name)))];
  }

  /** Of the newest version, as calls of all versions share the workflow's account. */
  function perDay(name: string): NanoUsd | null {
    return nanoOf(workflows.find(name)?.definition.spending?.perDayUsd);
  }

  function ownLimit({ scope, name }: KnownLimit): NanoUsd | null {
    return scope === 'day' ? settings.dayLimit : perDay(name);
  }

  return {
    spending: accounts,

    async setSpendingLimit(caller, request) {
      const issues = [...reasonIssues(request.reason), ...nameIssues(request, workflows)];
      if (issues.length > 0) return invalid(issues);
      const { scope, name, limit } = request;
      await ledger.setLimit({ scope, name, limit, actor: caller.actor, reason: reasonText(request.reason) });
      const set = (await accounts()).find(
        (line) => line.scope === scope && (scope === 'day' || line.name === name),
      );
      if (set === undefined) throw new Error('a limit that was just set is not there');
      return ok(set);
    },

    async settleCall({ tenant, actor }, jobId, n, { cost, reason }) {
      const issues = reasonIssues(reason);
      if (issues.length > 0) return invalid(issues);
      const settled = await ledger.settleUnknown({
        tenant,
        jobId,
        n,
        cost,
        actor,
        reason: reasonText(reason),
      });
      if (settled === 'not_unknown') {
        return refused('call_not_unknown', `What call ${n} cost is known, or it is still under way.`);
      }
      const job = settled === 'settled' ? await jobs.job({ tenant, jobId }) : null;
      const call = job?.calls.find((one) => one.n === n);
      return call === undefined ? noSuchCall() : ok(call);
    },
  };
}

/** What a person says about a workflow that nobody knows would limit nothing. */
function nameIssues({ scope, name }: SpendingLimitRequest, workflows: WorkflowTable): ValidationIssue[] {
  if (scope === 'day')
    return name === null ? [] : [{ path: '/name', message: 'goes with the scope workflow' }];
  if (name !== null && workflows.names().includes(name)) return [];
  const known = workflows.names().join(', ');
  return [
    {
      path: '/name',
      message: `must be the name of a workflow: ${known === '' ? 'none is registered' : known}`,
    },
  ];
}

function accountOf({ setBy, limit, ...line }: KnownLimit, own: NanoUsd | null): SpendingAccount {
  const scope = line.scope === 'workflow' ? 'workflow' : 'day';
  if (setBy !== null) return { ...line, scope, limit, limitFrom: 'person', setBy };
  const from = scope === 'day' ? 'settings' : 'workflow';
  return { ...line, scope, limit: own, limitFrom: own === null ? null : from, setBy };
}

function idleAccount(name: string, limit: NanoUsd | null): SpendingAccount {
  return { scope: 'workflow', name, limit, limitFrom: 'workflow', spent: 0, reserved: 0, setBy: null };
}

function noSuchCall(): Refused {
  return refused('not_found', 'The job has no such call.');
}

/**
 * A limit above the one that the job has anyway is for those to set who have a say over money, unless the operator's cap says
 * what anybody may set: or whom a limit has stopped would lift it himself.
 * @param present the job's without the request, or the workflow's; null: none
 */
export function raiseRefusal(
  { scopes }: Caller,
  limit: NanoUsd | undefined,
  { present, cap, root }: { present: NanoUsd | null; cap: NanoUsd | null; root: string },
): Refused | null {
  const isRaised = limit !== undefined && present !== null && limit > present;
  if (!isRaised || cap !== null || scopes === undefined || permits(scopes, 'spending')) return null;
  const message = `is above $${usdOf(present)}, which the job has without it: that needs a key with the scope spending`;
  const path = `${root}/limits/spending_usd`;
  return refused('forbidden', `${path}: ${message}`, [{ path, message }]);
}

/** What is wrong with the limit that a request sets for its job. */
export function spendingIssues(
  limit: NanoUsd | undefined,
  cap: NanoUsd | null,
  root: string,
): ValidationIssue[] {
  if (limit === undefined || (nanoOf(usdOf(limit)) === limit && limit <= (cap ?? limit))) return [];
  const most = cap === null ? MOST_USD : usdOf(cap);
  const message = `must be a number of dollars from 0 to ${most}, and is ${usdOf(limit)}`;
  return [{ path: `${root}/limits/spending_usd`, message }];
}
