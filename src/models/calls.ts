/**
 * What a call to a model passes through on its way: the desk lets it begin, it is made under the attempt's signal, and its end
 * is durable before the function sees of it. What it failed with is told to the function in our own errors, which no retry of the
 * SDK's answers to, and which quote nothing that a provider said.
 */
import type { CallEnd } from '../domain/model-call.ts';
import { judge } from '../domain/model-outcome.ts';
import type { CallsBefore, Judgement, Seen } from '../domain/model-outcome.ts';
import { classify } from '../domain/thrown.ts';
import { read } from '../domain/untrusted.ts';
import type { CallDesk, LanguageModel, StoredResponse } from '../ports/models.ts';
import { errorOf } from './errors.ts';
import { openingOf } from './opening.ts';
import type { CallKind, CallParams } from './opening.ts';
import {
  factsOfError,
  isUnsent,
  requestIdOf,
  seenOfAnswer,
  seenOfStreamEnd,
  seenOfStreamError,
  seenOfThrown,
} from './seen.ts';
import { answerOf, storedOf } from './stored.ts';
import type { Answer } from './stored.ts';
import type { Taken } from './streams.ts';
import { usageOf } from './usage.ts';

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

/** How a call failed, and what the function gets. */
export interface Failed {
  judgement: Judgement;
  error: unknown;
}

export type Begun =
  | { type: 'call'; under: Under }
  | { type: 'reuse'; answer: Answer }
  | ({ type: 'refused' } & Failed);

/** @throws the reason of the attempt's signal, where that has fired */
export async function begin(
  { desk, signal }: CallRoom,
  model: LanguageModel,
  params: CallParams,
  kind: CallKind,
): Promise<Begun> {
  signal().throwIfAborted();
  const { opening, size } = openingOf(model, params, kind);
  const permit = await desk.begin(opening, size);
  switch (permit.type) {
    case 'refused':
      return { type: 'refused', judgement: permit.judgement, error: errorOf(permit.judgement) };
    case 'reuse':
      return { type: 'reuse', answer: answerOf(permit.response) };
    case 'call': {
      const { n, known } = permit;
      return { type: 'call', under: { n, known, startedMs: performance.now(), model } };
    }
  }
}

/** The request is broken off with the attempt, and where the function itself gives it up. */
export function joined(signal: AbortSignal, params: CallParams): CallParams {
  const { abortSignal } = params;
  const both = abortSignal === undefined ? signal : AbortSignal.any([signal, abortSignal]);
  return { ...params, abortSignal: both };
}

/** Resolves once the end of the call is durable; null where it succeeded. */
export async function finishAnswer(room: CallRoom, under: Under, answer: Answer): Promise<Failed | null> {
  const judgement = judge(seenOfAnswer(answer), under.known);
  const stored = storedOf(judgement === null ? answer : null, answer.response?.body);
  await tell(room, under, judgement, endOfAnswer(answer, answer.response?.headers), stored);
  return judgement && { judgement, error: errorOf(judgement) };
}

export async function finishThrown(room: CallRoom, under: Under, error: unknown): Promise<Failed> {
  const seen = seenOfThrown(error, room.signal(), Date.now());
  const raw = bodyOf200(error);
  const stored = raw === null ? null : storedOf(null, raw);
  const end = endOfError(error, seen);
  // a model of the user's own may say by our errors what it failed with
  const own = seen.type === 'signal' ? null : judgementOfOurs(error);
  if (own === null) return finishFailed(room, under, { seen, end, stored });
  const { judgement } = await finishFailed(room, under, {
    seen: { type: 'guard', judgement: own },
    end,
    stored,
  });
  return { judgement, error };
}

/** @returns how the stream failed; null where it did not */
export async function finishStream(
  room: CallRoom,
  under: Under,
  taken: Taken,
  headers: unknown,
): Promise<Failed | null> {
  const { how, answer, raw } = taken;
  const seen = seenOfStream(taken, room.signal());
  const judgement = judge(seen, under.known);
  const end = endOfAnswer(answer, headers);
  const stored =
    raw?.length === 0 && judgement !== null ? null : storedOf(judgement === null ? answer : null, raw);
  if (judgement === null) await tell(room, under, null, end, stored);
  // what was said before an end is no end, and its numbers are not the whole
  const whole = how.type === 'finished' ? end : { ...end, finishReason: null, usage: null };
  return judgement === null ? null : finishFailed(room, under, { seen, end: whole, stored });
}

async function finishFailed(
  room: CallRoom,
  under: Under,
  { seen, end, stored }: { seen: Seen; end: EndSeen; stored: StoredResponse | null },
): Promise<Failed> {
  const judgement = judge(seen, under.known) ?? UNKNOWN;
  await tell(room, under, judgement, end, stored);
  const { aborted, reason } = room.signal() as { aborted: boolean; reason: unknown };
  return { judgement, error: aborted ? reason : errorOf(judgement) };
}

const OURS = Symbol.for('claimcheck.error');

function judgementOfOurs(error: unknown): Judgement | null {
  if (read(error, OURS) !== true) return null;
  const { code, rule = 'model/threw', retryAfterMs } = classify(error);
  return { code, rule, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
}

/** A thrown thing is never a success. */
const UNKNOWN: Judgement = judge({ type: 'other' }, { brokenJson: false }) as Judgement;

function seenOfStream({ how, answer: { finishReason }, refused }: Taken, signal: AbortSignal): Seen {
  if (how.type === 'finished') return seenOfStreamEnd(finishReason, refused);
  const fired = seenOfThrown(null, signal, Date.now());
  if (fired.type === 'signal') return fired;
  switch (how.type) {
    case 'broke':
      return seenOfStreamError(how.error, Date.now());
    case 'cut':
      return seenOfStreamEnd(null, refused);
    case 'dropped':
      return { type: 'aborted' };
  }
}

type EndSeen = Omit<CallEnd, 'code' | 'rule' | 'latencyMs'>;

function endOfAnswer({ content, response, finishReason, usage }: Answer, headers: unknown): EndSeen {
  const told = response?.modelId;
  const servedModel = told !== undefined && MODEL_NAME.test(told) ? told : null;
  const ranTools = content.some((part) => part.type === 'tool-call' && part.providerExecuted === true);
  // a model without a usable name is not taken for the one that was asked for
  const isUnpriced = ranTools || (told !== undefined && servedModel === null);
  return {
    servedModel,
    finishReason: finishReason.unified,
    requestId: requestIdOf(headers),
    usage: { ...usageOf(usage), ...(isUnpriced ? { unpriced: true } : {}) },
    httpStatus: headers === undefined ? null : 200,
  };
}

/** Anything else that a server says is no name, and is not kept. */
const MODEL_NAME = /^[A-Za-z0-9._:/@-]{1,200}$/;

function endOfError(error: unknown, seen: Seen): EndSeen {
  return {
    servedModel: null,
    finishReason: null,
    usage: null,
    ...factsOfError(error),
    ...(isUnsent(seen) ? { unsent: true } : {}),
  };
}

/** What came with a 200 and could not be used is an answer all the same, and paid for. */
function bodyOf200(error: unknown): unknown {
  const status = read(error, 'statusCode');
  return typeof status === 'number' && status >= 200 && status < 300
    ? (read(error, 'responseBody') ?? null)
    : null;
}

async function tell(
  { desk }: CallRoom,
  { n, startedMs }: Under,
  judgement: Judgement | null,
  seen: EndSeen,
  response: StoredResponse | null,
): Promise<void> {
  const latencyMs = Math.round(performance.now() - startedMs);
  const { code = null, rule = null, retryAfterMs = null } = judgement ?? {};
  await desk.end(n, { ...seen, latencyMs, code, rule }, response, retryAfterMs);
}
