/** Calls to models as a worker writes them down, on the real store and without any model. */
import { hash } from 'node:crypto';
import type { Failure } from '../../src/domain/decide.ts';
import type { CallOpening, ResponseRef } from '../../src/domain/model-call.ts';
import type { NanoUsd } from '../../src/domain/money.ts';
import { hostId } from '../../src/main/host.ts';
import type { Parts } from '../../src/main/open.ts';
import type { ClaimedJob } from '../../src/ports/job-store.ts';
import { ANSWERED, OPENING } from '../../src/testkit/store/calls.ts';

export const CENT = 10_000_000;

const sha256 = (text: string) => hash('sha256', text, 'hex');

/** A job under a lease, and what its attempt does with models. */
export interface Attempt {
  job: ClaimedJob;
  /** Begins a call that may cost so much, and gives its number; null where a limit refuses it. */
  begin(estimate: NanoUsd, changes?: Partial<CallOpening>): Promise<number | null>;
  /** Ends it with an answer of these words. Gives the uri of the response. */
  answer(n: number, cost: NanoUsd | null, text?: string): Promise<string>;
  /** Ends it with a response that lies in a file already. */
  answerFrom(n: number, response: ResponseRef): Promise<void>;
  /** Ends the attempt; calls that it left open are in doubt. */
  fail(failure: Omit<Failure, 'elapsedMs'>): Promise<void>;
  complete(): Promise<void>;
}

let sessions = 0;

/** Claims the one job that waits. */
export async function claimNext(parts: Parts): Promise<Attempt> {
  const { jobs, ledger } = parts.store;
  const session = `ses_calls_${(sessions += 1)}`;
  await jobs.openSession({ session, worker: 'test', host: hostId(), leaseMs: 60_000 });
  const { lanes } = parts.workflows;
  const claim = await jobs.claim({ session, worker: 'test', serial: 1, lanes, limit: 1 });
  const [job] = claim.jobs;
  if (job === undefined) throw new Error('no job waits');
  const { jobId, token, attempt, workflow } = job;
  let place = 0;

  const settle = async (command: Parameters<typeof jobs.settle>[0][number]['command']) => {
    const [settled] = await jobs.settle([{ jobId, token, command, blobs: [] }]);
    if (settled?.moved === undefined) throw new Error('the lease was lost');
  };
  const perDay = parts.workflows.find(workflow)?.definition.spending?.perDayUsd;

  return {
    job,
    async begin(estimate, changes = {}) {
      const opening = {
        ...OPENING,
        promptSha256: sha256('a prompt'),
        requestSha256: sha256('a request'),
        ...changes,
      };
      const limits = {
        workflow: perDay === undefined ? null : Math.round(perDay * 100) * CENT,
        day: parts.settings.dayLimit,
      };
      const call = { jobId, token, attempt, place: (place += 1), workflow, opening };
      const begun = await ledger.begin({ ...call, estimate, limits, reusedFrom: null });
      if (begun.outcome === 'over_limit') return null;
      if (begun.outcome !== 'begun') throw new Error(begun.outcome);
      return begun.n;
    },
    async answer(n, cost, text = '{"raw":"an answer","result":null,"version":1}') {
      const bytes = Buffer.from(text);
      const uri = `evidence/${jobId}/${token}/call-${n}.json`;
      const response = { uri, sha256: sha256(text), bytes: bytes.length };
      const blob = { uri, bytes, mediaType: 'application/json' };
      const isEnded = await ledger.end({ jobId, token, n, end: ANSWERED, cost, response, blob });
      if (!isEnded) throw new Error('the lease was lost');
      return uri;
    },
    async answerFrom(n, response) {
      await ledger.end({ jobId, token, n, end: ANSWERED, cost: CENT, response, blob: null });
    },
    fail: (failure) => settle({ type: 'fail', failure: { elapsedMs: 1, ...failure }, jitter: 0 }),
    complete: () => {
      const text = '{}';
      const uri = `artifacts/${jobId}/${token}/output.json`;
      const artifact = { uri, sha256: sha256(text), bytes: 2, mediaType: 'application/json' };
      return settle({ type: 'complete', artifact, artifacts: [] });
    },
  };
}
