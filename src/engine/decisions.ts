/** What persons say about a job: cancel it, or run it again. */
import type { Command, ReplayCommand } from '../domain/decide.ts';
import type { Job } from '../domain/record.ts';
import type { JobStore } from '../ports/job-store.ts';
import type { Announce } from './announce.ts';
import type { Caller, EngineApi, Result, Ticket } from './api.ts';
import type { WorkflowTable } from './define.ts';
import type { EngineSettings } from './settings.ts';
import { raiseRefusal, spendingIssues } from './spending.ts';
import { fromMachine, invalid, noSuchJob, ok, reasonIssues, reasonText } from './refusals.ts';

interface DecisionDeps {
  store: JobStore;
  workflows: WorkflowTable;
  announce: Announce;
  settings: Pick<EngineSettings, 'jobSpendingCap'>;
}

export function createDecisions(deps: DecisionDeps): Pick<EngineApi, 'cancel' | 'replay'> {
  async function act(
    { tenant }: Caller,
    jobId: string,
    command: Extract<Command, { type: 'cancel' }> | ReplayCommand,
  ): Promise<Result<Ticket>> {
    const issues = reasonIssues(command.reason);
    if (issues.length > 0) return invalid(issues);
    const asked = { ...command, reason: reasonText(command.reason) };
    const acted = await deps.store.act({ tenant, jobId, command: asked });
    if (acted.outcome === 'not_found') return noSuchJob(jobId);
    if (acted.outcome === 'refused') return fromMachine(acted.refusal);
    deps.announce([acted.moved]);
    return ok({ jobId, status: acted.moved.status });
  }

  return {
    cancel: (caller, jobId, reason) => act(caller, jobId, { type: 'cancel', actor: caller.actor, reason }),

    async replay(caller, jobId, { reason, decisionId, limits, spendingLimit, fromEvidence }) {
      const cap = deps.settings.jobSpendingCap;
      const issues = spendingIssues(spendingLimit, cap, '');
      if (issues.length > 0) return invalid(issues);
      const job = await deps.store.job({ tenant: caller.tenant, jobId });
      if (job === null) return noSuchJob(jobId);
      const refusal = raiseRefusal(caller, spendingLimit, { present: job.spending.limit, cap, root: '' });
      if (refusal !== null) return refusal;
      const outputSchemaSha256 = mendedSchema(deps.workflows, job);
      return act(caller, jobId, {
        type: 'replay',
        actor: caller.actor,
        reason,
        decisionId,
        limits: { ...limits, spendingLimit },
        fromEvidence: fromEvidence === true ? true : undefined,
        outputSchemaSha256,
      });
    },
  };
}

/**
 * A workflow whose output schema was mended under the same version: the person who replays says that the job may run
 * on the mended one. A job of another version keeps its pin.
 */
function mendedSchema(workflows: WorkflowTable, job: Job): string | undefined {
  const lane = workflows.find(job.workflow, job.workflowVersion)?.lane;
  return lane === undefined || lane.outputSchemaSha256 === job.outputSchemaSha256
    ? undefined
    : lane.outputSchemaSha256;
}
