/**
 * Calls whose cost nobody knows, asked about by themselves: the operator's hook is given one after another, the oldest
 * first and a few at a time. One that the hook knows nothing about (yet) is asked about again later, so that the next ones have their turn;
 * a hook that fails, or does not answer, costs its calls that turn and nothing else.
 */
import { callJson } from '../domain/call-view.ts';
import type { CallJson } from '../domain/call-view.ts';
import { nanoOf } from '../domain/dollars.ts';
import type { NanoUsd } from '../domain/money.ts';
import type { Clock } from '../ports/clock.ts';
import type { Ledger } from '../ports/ledger.ts';
import type { Log } from '../ports/telemetry.ts';
import { nameOf } from './faults.ts';
import { createPause } from './pause.ts';

/** A call of unknown billing, as the record has it, and whose it is. */
export interface DoubtfulCall extends CallJson {
  job_id: string;
  workflow: string;
}

/** Says what a call cost, in dollars, or null where it is not known (yet). */
export type Reconcile = (
  call: DoubtfulCall,
) => Promise<{ costUsd: number } | null> | { costUsd: number } | null;

interface DoubtsDeps {
  ledger: Pick<Ledger, 'unknownCalls' | 'settleUnknown'>;
  reconcile: Reconcile;
  clock: Clock;
  log: Log;
}

const PERIOD_MS = 5_000;
/** Calls that are asked about in one round. */
const ROUND = 5;
const ASK_AGAIN_MS = 300_000;
const ANSWER_MS = 30_000;
/** Of the oldest so many, those that were not asked about of late. */
const LOOK = 500;

const ACTOR = 'reconcile';
const REASON = 'settled by the reconciliation hook';

export function createDoubts({ ledger, reconcile, clock, log }: DoubtsDeps): { start(): void; stop(): void } {
  const stopping = new AbortController();
  const pause = createPause(clock);
  /** When each was asked about last. */
  let asked = new Map<string, number>();

  async function round(): Promise<void> {
    const found = await ledger.unknownCalls({ limit: LOOK });
    const unknown = found.filter(({ call }) => call.billing === 'unknown');
    const nowMs = clock.monotonicMs();
    const names = unknown.map(nameOfCall);
    asked = new Map([...asked].filter(([name]) => names.includes(name)));
    const due = unknown.filter((one) => nowMs - (asked.get(nameOfCall(one)) ?? -Infinity) >= ASK_AGAIN_MS);
    for (const one of due.slice(0, ROUND)) {
      if (stopping.signal.aborted) return;
      asked.set(nameOfCall(one), nowMs);
      await settle(one);
    }
  }

  async function settle({ jobId, tenant, workflow, call }: Unknown): Promise<void> {
    const cost = await costOf({ ...callJson(call), job_id: jobId, workflow });
    if (cost === null) return;
    await ledger.settleUnknown({ tenant, jobId, n: call.n, cost, actor: ACTOR, reason: REASON });
    log.info({ audit: true, job_id: jobId, call: call.n, key: ACTOR }, 'the cost of a call was settled');
  }

  async function costOf(call: DoubtfulCall): Promise<NanoUsd | null> {
    const where = { job_id: call.job_id, call: call.n };
    try {
      const answer = await within(ANSWER_MS, clock, async () => reconcile(call));
      if (answer === null || answer === undefined) return null;
      const cost = nanoOf(answer.costUsd);
      if (cost === null) log.warn(where, 'the reconciliation hook gave no amount of dollars as costUsd');
      return cost;
    } catch (error) {
      log.warn(
        { ...where, error_name: nameOf(error) },
        'the reconciliation hook failed; it is asked again later',
      );
      return null;
    }
  }

  async function loop(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        await round();
      } catch (error) {
        log.warn(
          { error_name: nameOf(error) },
          'calls in doubt could not be read; they are looked for again',
        );
      }
      await pause.wait(PERIOD_MS, stopping.signal);
    }
  }

  return { start: () => void loop(), stop: () => stopping.abort() };
}

type Unknown = Awaited<ReturnType<Ledger['unknownCalls']>>[number];

function nameOfCall({ jobId, call }: Unknown): string {
  return `${jobId} ${call.n}`;
}

class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError';
}

function within<T>(ms: number, clock: Clock, act: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(ms, () => reject(new NoAnswerError()), { unref: true });
    void act().then(resolve, reject).finally(cancel);
  });
}
