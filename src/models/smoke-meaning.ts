/** What a call of a smoke check meant, by the same table as the calls of workflows. */
import { judge } from '../domain/model-outcome.ts';
import type { Judgement, Seen } from '../domain/model-outcome.ts';
import { isUnsent, seenOfAnswer, seenOfStreamEnd, seenOfStreamError, seenOfThrown } from './seen.ts';
import type { How, Taken } from './smoke-answer.ts';

export interface Meaning {
  /** Null where the call succeeded; whether its answer fits the schema is another question. */
  judgement: Judgement | null;
  /** False where nothing went out: there was nobody to connect to. */
  wasSent: boolean;
}

/** @param signal fires with `TIMED_OUT` where the check's own limit ends the call */
export function meaningOf(taken: Taken, how: How, signal: AbortSignal): Meaning {
  const seen = seenOf(taken, how, signal);
  // every call stands for itself: a 200 that nobody can read is no habit yet
  return { judgement: judge(seen, { brokenJson: false }), wasSent: !isUnsent(seen) };
}

/** An answer that is whole, and does not fit the schema. */
export const MALFORMED = judge({ type: 'malformed' }, { brokenJson: false });

/** Why the signal fires, in the words of an attempt's. */
export const TIMED_OUT = { ending: 'timeout' } as const;

function seenOf(taken: Taken, how: How, signal: AbortSignal): Seen {
  const now = Date.now();
  switch (how.type) {
    case 'answered':
      return seenOfAnswer(how.answer);
    case 'stream_ended':
      return seenOfStreamEnd(taken.finishReason, how.refused);
    case 'stream_failed':
      return signal.aborted ? seenOfThrown(how.error, signal, now) : seenOfStreamError(how.error, now);
    case 'thrown':
      return seenOfThrown(how.error, signal, now);
  }
}
