/**
 * A model of the AI SDK's, recorded: it has the same interface, so whatever takes a model takes it. This is what the SDK's own
 * `wrapLanguageModel` does with a middleware; it is done by hand, in the few lines of `recorded`, since to load the SDK's main
 * package takes a fifth of a second, which a process that makes no call is not to pay.
 */
import type { Judgement } from '../domain/model-outcome.ts';
import type { LanguageModel } from '../ports/models.ts';
import type { Answers } from './answers.ts';
import { begin, finishAnswer, finishStream, finishThrown, joined } from './calls.ts';
import type { CallRoom, Failed, Under } from './calls.ts';
import type { CallKind, CallParams } from './opening.ts';
import { streamOf, textOf } from './stored.ts';
import type { Answer } from './stored.ts';
import { watched } from './streams.ts';

type StreamResult = Awaited<ReturnType<LanguageModel['doStream']>>;

interface Recording {
  room: CallRoom;
  account: string;
  answers: Answers;
  /** A stream failed: the SDK's functions may return as if it had not, and so its attempt has failed, whatever they do. */
  onStreamFailed: (judgement: Judgement) => void;
}

export function recorded(model: LanguageModel, recording: Recording): LanguageModel {
  return {
    specificationVersion: 'v3',
    provider: model.provider,
    modelId: model.modelId,
    get supportedUrls() {
      return model.supportedUrls;
    },
    doGenerate: (params) => generate(model, params, recording),
    doStream: (params) => stream(model, params, recording),
  };
}

async function generate(model: LanguageModel, params: CallParams, recording: Recording): Promise<Answer> {
  const { room, account, answers } = recording;
  const before = replayed(answers);
  if (before !== null) return before;
  const got = answers.place();
  try {
    const answer = await recordedAnswer(room, model, params, { account, streamed: false, repair: false });
    got({ model, account, params, answer });
    return answer;
  } catch (error) {
    got({ error });
    throw error;
  }
}

/**
 * One call that is not streamed.
 * @throws ours
 */
export async function recordedAnswer(
  room: CallRoom,
  model: LanguageModel,
  params: CallParams,
  kind: CallKind,
): Promise<Answer> {
  const begun = await begin(room, model, params, kind);
  if (begun.type === 'refused') throw begun.error;
  if (begun.type === 'reuse') return begun.answer;
  const answer = await made(room, begun.under, () => model.doGenerate(joined(room.signal(), params)));
  if ('judgement' in answer) throw answer.error;
  const failed = await finishAnswer(room, begun.under, answer);
  if (failed !== null) throw failed.error;
  return answer;
}

async function stream(model: LanguageModel, params: CallParams, recording: Recording): Promise<StreamResult> {
  const { room, account, answers } = recording;
  const before = replayed(answers);
  if (before !== null) return { stream: streamOf(before) };
  const got = answers.place();
  const onAnswer = (answer: Answer) => got({ model, account, params, answer });
  const onFailed = ({ judgement, error }: Failed) => {
    got({ error });
    // what the function gave up by a signal of its own is no failure of its attempt
    if (!judgement.rule.endsWith('/aborted')) recording.onStreamFailed(judgement);
  };
  const begun = await begin(room, model, params, { account, streamed: true, repair: false });
  if (begun.type === 'reuse') {
    onAnswer(begun.answer);
    room.desk.partial(textOf(begun.answer));
    return { stream: streamOf(begun.answer) };
  }
  const opened =
    begun.type === 'refused' ? begun : await open(room, begun.under, params, { onAnswer, onFailed });
  if (!('judgement' in opened)) return opened;
  onFailed(opened);
  throw opened.error;
}

interface StreamEnds {
  onAnswer: (answer: Answer) => void;
  onFailed: (failed: Failed) => void;
}

async function open(
  room: CallRoom,
  under: Under,
  params: CallParams,
  { onAnswer, onFailed }: StreamEnds,
): Promise<StreamResult | Failed> {
  const asked = { ...joined(room.signal(), params), includeRawChunks: true };
  const result = await made(room, under, () => under.model.doStream(asked));
  if ('judgement' in result) return result;
  const parts = watched(result.stream, {
    wantsRaw: params.includeRawChunks === true,
    signal: room.signal(),
    onText: (text) => room.desk.partial(text),
    async onEnd(taken) {
      const failed = await finishStream(room, under, taken, result.response?.headers);
      if (failed === null) onAnswer(taken.answer);
      else onFailed(failed);
      return failed;
    },
  });
  return { ...result, stream: parts };
}

async function made<Made extends object>(
  room: CallRoom,
  under: Under,
  make: () => PromiseLike<Made>,
): Promise<Made | Failed> {
  try {
    return await make();
  } catch (error) {
    return finishThrown(room, under, error);
  }
}

/** What the call got before, where the function runs again. @throws what it got, where that was an error */
function replayed(answers: Answers): Answer | null {
  const before = answers.replayed();
  if (before === null) return null;
  if ('error' in before) throw before.error;
  return before.answer;
}
