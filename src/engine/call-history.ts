/**
 * The calls that a job made before this attempt, and which of them answers a call of this one.
 *
 * An answer that an earlier attempt of the same life has paid for is used again where the same is asked: the n-th such call gets the
 * n-th such answer. In a life that a person began from evidence, all that was ever stored stands in: for the same request, else for
 * the same prompt to the same model, whose schema or parameters were mended since. A prompt that was changed is another question.
 */
import type { CallOpening, ModelCall } from '../domain/model-call.ts';
import type { CallsBefore } from '../domain/model-outcome.ts';
import { callsBefore } from '../domain/model-outcome.ts';
import type { Job, JobEvent } from '../domain/record.ts';

/** A call that was answered. */
export type AnsweredCall = ModelCall &
  Required<{ end: NonNullable<ModelCall['end']>; response: NonNullable<ModelCall['response']> }>;

export class CallHistory {
  /** No call of this life is to be made. */
  readonly fromEvidence: boolean;
  readonly before: CallsBefore;
  /** Those that may stand in, each once: the newest attempt's first, in its own order. */
  readonly #answered: AnsweredCall[];
  readonly #used = new Set<number>();

  /** @param attempt the one that asks */
  constructor({ events, calls }: Pick<Job, 'events' | 'calls'>, attempt: number) {
    const replay = events.findLast(isReplay);
    const isOfThisLife = (call: ModelCall) => replay === undefined || call.attempt > replay.attempt;
    this.fromEvidence = replay !== undefined && isFromEvidence(replay);
    this.before = callsBefore(calls.filter(isOfThisLife).map(({ end }) => end?.rule));
    this.#answered = calls
      .filter(isAnswered)
      .filter((call) => call.attempt < attempt && (this.fromEvidence || isOfThisLife(call)))
      .toSorted((a, b) => (this.fromEvidence ? b.attempt - a.attempt : 0) || a.n - b.n);
  }

  /** The call whose response answers this one, or null; asked once for each call of the attempt. */
  answerTo(opening: CallOpening): AnsweredCall | null {
    const found =
      this.#unused((call) => call.requestSha256 === opening.requestSha256) ??
      (this.fromEvidence && !opening.repair ? this.#unused((call) => isSameQuestion(call, opening)) : null);
    if (found !== null) this.#used.add(found.n);
    return found;
  }

  #unused(fits: (call: AnsweredCall) => boolean): AnsweredCall | null {
    return this.#answered.find((call) => fits(call) && !this.#used.has(call.n)) ?? null;
  }
}

function isSameQuestion(
  call: AnsweredCall,
  { provider, requestedModel, promptSha256 }: CallOpening,
): boolean {
  return (
    !call.repair &&
    call.provider === provider &&
    call.requestedModel === requestedModel &&
    call.promptSha256 === promptSha256
  );
}

function isReplay({ type, from }: JobEvent): boolean {
  return type === 'queued' && from === 'dead_letter';
}

function isFromEvidence({ detail }: JobEvent): boolean {
  return (
    typeof detail === 'object' &&
    detail !== null &&
    'from_evidence' in detail &&
    detail['from_evidence'] === true
  );
}

/** One that was itself answered by an earlier one has nothing of its own. */
function isAnswered(call: ModelCall): call is AnsweredCall {
  return call.end?.code === null && call.response !== null && call.reusedFrom === null;
}
