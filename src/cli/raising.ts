/** `replay --raise-limit`: raises the limit that stopped a job, whichever it was, and has the job run again. */
import { dollars, nanoOf } from '../domain/dollars.ts';
import type { NanoUsd } from '../domain/money.ts';
import { stoppedBy } from '../domain/money-rules.ts';
import type { StoppedBy } from '../domain/money-rules.ts';
import type { RecordJson } from '../domain/view.ts';
import type { ReplayRequest } from '../engine/api.ts';
import type { Desk, TicketJson } from './desk.ts';
import { limitSentence } from './money.ts';
import { EXIT, Problem } from './problem.ts';

export interface Raised {
  ticket: TicketJson;
  /** What was done, in a sentence. */
  said: string;
}

/** @throws Problem where no limit stopped the job, or it is as high already */
export async function raiseAndReplay(
  desk: Desk,
  jobId: string,
  limit: NanoUsd,
  request: ReplayRequest,
): Promise<Raised> {
  const record = await desk.record(jobId);
  const scope = whatStopped(record);
  refuseLower(await presentLimit(desk, record, scope), limit);
  if (scope === 'job') {
    const ticket = await desk.replay(jobId, { ...request, spendingLimit: limit });
    return { ticket, said: `It may cost ${dollars(limit)} now.` };
  }
  const name = scope === 'workflow' ? record.workflow : null;
  const said = limitSentence(await desk.setSpendingLimit({ scope, name, limit, reason: request.reason }));
  const ticket = await desk.replay(jobId, request).catch((error: unknown) => {
    if (!(error instanceof Problem)) throw error;
    throw new Problem(
      `The limit was raised, the job was not replayed: ${error.message} ${said}`,
      error.exitCode,
    );
  });
  return { ticket, said };
}

function whatStopped({ job_id: id, status, errors }: RecordJson): StoppedBy {
  const last = errors.at(-1);
  if (status !== 'dead_letter' || last?.code !== 'spending_limit') {
    throw new Problem(
      `${id} did not stop at a spending limit; replay it without --raise-limit.`,
      EXIT.failed,
    );
  }
  const scope = stoppedBy(last.rule);
  if (scope !== null) return scope;
  throw new Problem(`It was no limit here that stopped ${id}: see what it says with show.`, EXIT.failed);
}

async function presentLimit(desk: Desk, record: RecordJson, scope: StoppedBy): Promise<NanoUsd | null> {
  if (scope === 'job') return nanoOf(record.spending?.limit_usd);
  const accounts = await desk.spending();
  const account = accounts.find(
    (one) => one.scope === scope && (scope === 'day' || one.name === record.workflow),
  );
  return nanoOf(account?.limit_usd);
}

function refuseLower(present: NanoUsd | null, limit: NanoUsd): void {
  if (present === null || limit > present) return;
  throw new Problem(`The limit is ${dollars(present)}: give more than that to --raise-limit.`, EXIT.usage);
}
