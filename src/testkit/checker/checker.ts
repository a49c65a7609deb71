/**
 * The checker: reads a history and says which invariants it breaks. It knows nothing of how the store works, so it can
 * be run after any load, crash or simulation. Each rule says what of its invariant the records allow to check.
 */
import { acceptedIsKept, cancelledStaysCancelled, nothingUnasked, oneJobAKey } from './acceptance-rules.ts';
import {
  budgetHolds,
  deadLettersAsk,
  historyFolds,
  historyIsLegal,
  oneClock,
  oneOutcomeEach,
  orderIsSeq,
  readersSeeAll,
  terminalIsFinal,
} from './history-rules.ts';
import type { History, Violation } from './history.ts';
import { callsAreIntended, moneyAddsUp } from './money-rules.ts';
import {
  dueMoves,
  expiredIsSwept,
  keysAreWrittenOnce,
  objectsReadBack,
  runningHasLease,
  staleWritesNothing,
  startsInTime,
  tokensGrow,
} from './world-rules.ts';

const RULES: readonly ((history: History) => Violation[] | Promise<Violation[]>)[] = [
  acceptedIsKept,
  nothingUnasked,
  oneJobAKey,
  historyIsLegal,
  historyFolds,
  orderIsSeq,
  readersSeeAll,
  runningHasLease,
  tokensGrow,
  staleWritesNothing,
  budgetHolds,
  oneOutcomeEach,
  expiredIsSwept,
  oneClock,
  terminalIsFinal,
  deadLettersAsk,
  cancelledStaysCancelled,
  objectsReadBack,
  keysAreWrittenOnce,
  callsAreIntended,
  moneyAddsUp,
  dueMoves,
  startsInTime,
];

/** Every violation, in the order of the invariants; none where the history holds. */
export async function check(history: History): Promise<Violation[]> {
  const found: Violation[] = [];
  for (const rule of RULES) found.push(...(await rule(history)));
  return found.toSorted((a, b) => a.invariant - b.invariant);
}

/** One line a violation, for a log or a failed test. */
export function report(violations: readonly Violation[]): string {
  return violations
    .map(({ invariant, jobId, message }) => `invariant ${invariant}: ${jobId ?? 'no job'} ${message}`)
    .join('\n');
}
