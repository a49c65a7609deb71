/**
 * What a call to a model passes through on its way: the desk lets it begin, it is made under the attempt's signal, and its end
 * is durable before the function sees of it. What it failed with is told to the function in our own errors, which no retry of the
 * SDK's answers to, and which quote nothing that a provider said.
 */
import type { CallEnd } from '../domain/model-call.ts';
import type { CallsBefore, Judgement } from '../domain/model-outcome.ts';
import type { CallDesk, CallPermit, LanguageModel, StoredResponse } from '../ports/models.ts';
import { errorOf } from './errors.ts';
import { openingOf } from './opening.ts';
import type { CallKind, CallParams } from './opening.ts';
import { answerEnd, answerJudgement, thrownEnd, thrownJudgement } from './judging.ts';
import { answerOf, storedOf } from './stored.ts';
import type { Answer } from './stored.ts';
import type { Taken } from './streams.ts';

/** What all calls of one attempt share. */
export interface CallRoom {
  desk: CallDesk;
  signal: () => AbortSignal;
}

/** A call that may be made. */
export interface Under {
  n: number;
  known: CallsBefore;
  startedMs: number;
  model: LanguageModel;
}

export type Begun = { type: 'call'; under: Under } | { type: 'reuse'; answer: Answer };

/** @throws what the function is to get where the call is not to be made */
export async function begin(
  { desk, signal }: CallRoom,
  model: LanguageModel,
  params: CallParams,
  kind: CallKind,
): Promise<Begun> {
  signal().throwIfAborted();
  const { opening, size } = openingOf(model, params, kind);
  const permit: CallPermit = await desk.begin(opening, size);
  switch (permit.type) {
    case 'refused':
      throw errorOf(permit.judgement);
    case 'reuse':
      return { type: 'reuse', answer: answerOf(permit.response) };
    case 'call':
      return {
        type: 'call',
        under: { n: permit.n, known: permit.known, startedMs: performance.now(), model },
      };
  }
}

/** The request is broken off with the attempt, and where the function itself gives it up. */
export function joined(signal: AbortSignal, params: CallParams): CallParams {
  const { abortSignal } = params;
  const both = abortSignal === undefined ? signal : AbortSignal.any([signal, abortSignal]);
  return { ...params, abortSignal: both };
}

/**
 * Resolves with the answer once it is durable.
 * @throws ours
 */
export async function finishAnswer(room: CallRoom, under: Under, answer: Answer): Promise<Answer> {
  const judgement = answerJudgement(answer, under.known);
  const raw = answer.response?.body ?? null;
  await tell(room, under, judgement, answerEnd(answer), storedOf(judgement === null ? answer : null, raw));
  if (judgement !== null) throw errorOf(judgement);
  return answer;
}

/** @returns what the function is to get */
export async function finishThrown(room: CallRoom, under: Under, error: unknown): Promise<unknown> {
  const seen = thrownJudgement(error, under.known, room.signal());
  const { judgement, raw } = seen;
  await tell(room, under, judgement, thrownEnd(error), raw === null ? null : storedOf(null, raw));
  return room.signal().aborted ? room.signal().reason : errorOf(judgement);
}

/** @returns how the stream failed, or null where it did not */
export async function finishStream(
  room: CallRoom,
  under: Under,
  taken: Taken,
): Promise<{ judgement: Judgement; error: Error } | null> {
  const { how, answer, raw } = taken;
  const judgement =
    how.type === 'finished'
      ? answerJudgement(answer, under.known)
      : thrownJudgement(how, under.known, room.signal()).judgement;
  const isWhole = how.type === 'finished';
  const end = isWhole ? answerEnd(answer) : { ...thrownEnd(how), ...servedBy(answer) };
  await tell(room, under, judgement, end, storedOf(judgement === null ? answer : null, raw));
  if (judgement === null) return null;
  const { aborted, reason } = room.signal();
  return { judgement, error: aborted && reason instanceof Error ? reason : errorOf(judgement) };
}

function servedBy({ response }: Answer): Pick<CallEnd, 'servedModel'> {
  return { servedModel: response?.modelId ?? null };
}

async function tell(
  { desk }: CallRoom,
  { n, startedMs }: Under,
  judgement: Judgement | null,
  seen: Omit<CallEnd, 'code' | 'rule' | 'latencyMs'>,
  response: StoredResponse | null,
): Promise<void> {
  const latencyMs = Math.round(performance.now() - startedMs);
  const { code = null, rule = null, retryAfterMs = null } = judgement ?? {};
  await desk.end(n, { ...seen, latencyMs, code, rule }, response, retryAfterMs);
}
