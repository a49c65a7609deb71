/**
 * A model of the AI SDK's, recorded: it has the same interface, so whatever takes a model takes it. This is what the SDK's own
 * `wrapLanguageModel` does with a middleware; it is done by hand, in the few lines of `recorded`, since to load the SDK's main
 * package takes a fifth of a second, which a process that makes no call is not to pay.
 */
import type { Judgement } from '../domain/model-outcome.ts';
import type { LanguageModel } from '../ports/models.ts';
import type { Answers } from './answers.ts';
import { begin, finishAnswer, finishStream, finishThrown, joined } from './calls.ts';
import type { CallRoom, Under } from './calls.ts';
import type { CallKind, CallParams } from './opening.ts';
import { streamOf, textOf } from './stored.ts';
import type { Answer } from './stored.ts';
import { watched } from './streams.ts';

type StreamResult = Awaited<ReturnType<LanguageModel['doStream']>>;

interface Recording {
  room: CallRoom;
  account: string;
  answers: Answers;
  /** A stream failed: whatever the function makes of it, its attempt has failed. */
  onFailure: (judgement: Judgement) => void;
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

/** One call that is not streamed. */
export async function recordedAnswer(
  room: CallRoom,
  model: LanguageModel,
  params: CallParams,
  kind: CallKind,
): Promise<Answer> {
  const begun = await begin(room, model, params, kind);
  if (begun.type === 'reuse') return begun.answer;
  let answer: Answer;
  try {
    answer = await model.doGenerate(joined(room.signal(), params));
  } catch (error) {
    throw await finishThrown(room, begun.under, error);
  }
  return finishAnswer(room, begun.under, answer);
}

async function stream(model: LanguageModel, params: CallParams, recording: Recording): Promise<StreamResult> {
  const { room, account, answers } = recording;
  const before = replayed(answers);
  if (before !== null) return { stream: streamOf(before) };
  const got = answers.place();
  const onAnswer = (answer: Answer) => got({ model, account, params, answer });
  try {
    const begun = await begin(room, model, params, { account, streamed: true, repair: false });
    if (begun.type === 'call') return await open(begun.under, params, { ...recording, onAnswer });
    onAnswer(begun.answer);
    room.desk.partial(textOf(begun.answer));
    return { stream: streamOf(begun.answer) };
  } catch (error) {
    got({ error });
    throw error;
  }
}

async function open(
  under: Under,
  params: CallParams,
  { room, onAnswer, onFailure }: Recording & { onAnswer: (answer: Answer) => void },
): Promise<StreamResult> {
  const { model } = under;
  let result: StreamResult;
  try {
    result = await model.doStream({ ...joined(room.signal(), params), includeRawChunks: true });
  } catch (error) {
    throw await finishThrown(room, under, error);
  }
  const parts = watched(result.stream, {
    wantsRaw: params.includeRawChunks === true,
    signal: room.signal(),
    onText: (text) => room.desk.partial(text),
    async onEnd(taken) {
      const failed = await finishStream(room, under, taken);
      if (failed === null) {
        onAnswer(taken.answer);
        return null;
      }
      // what the function itself gave up is no failure of its attempt
      if (taken.how.type !== 'dropped') onFailure(failed.judgement);
      return failed.error;
    },
  });
  return { ...result, stream: parts };
}

/** What the call got before, where the function runs again. @throws what it got, where that was an error */
function replayed(answers: Answers): Answer | null {
  const before = answers.replayed();
  if (before === null) return null;
  if ('error' in before) throw before.error;
  return before.answer;
}
