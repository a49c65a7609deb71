/**
 * What a worker was told about its attempts, line by line, so that a checker can hold the store to it. For tests of faults:
 * a line is handed on before the worker acts on what it says, so a worker that is killed has written down all that it acted on.
 */
import type { Claimed, JobStore, Settled, Settlement } from '../ports/job-store.ts';
import { telling } from './crash-points.ts';

export type AttemptLine =
  | { type: 'claimed'; jobId: string; attempt: number; token: number }
  | {
      type: 'settled';
      jobId: string;
      token: number;
      command: Settlement['command']['type'];
      /** `nothing`: the store did not answer, and may or may not have written it. */
      told: 'settled' | 'lease_lost' | 'nothing';
    };

export type WriteAttempts = (lines: AttemptLine[]) => void;

/** The store, writing down what it answers to claims and settlements. */
export function withAttemptLog(store: JobStore, write: WriteAttempts): JobStore {
  const { standBy } = store;
  const claimed = ({ jobs }: Claimed) =>
    write(jobs.map(({ jobId, attempt, token }) => ({ type: 'claimed', jobId, attempt, token })));
  return {
    ...store,
    async claim(params) {
      const claim = await store.claim(params);
      claimed(claim);
      return claim;
    },
    ...(standBy === undefined ? {} : { standBy: (params) => telling(standBy(params), claimed) }),
    async settle(settlements) {
      try {
        const settled = await store.settle(settlements);
        write(settlements.map((settlement, index) => lineOf(settlement, settled[index])));
        return settled;
      } catch (error) {
        write(settlements.map((settlement) => lineOf(settlement, undefined)));
        throw error;
      }
    },
  };
}

function lineOf({ jobId, token, command }: Settlement, settled: Settled | undefined): AttemptLine {
  const told = settled === undefined ? 'nothing' : (settled.refused ?? 'settled');
  return { type: 'settled', jobId, token, command: command.type, told };
}
