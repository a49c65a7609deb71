/** What a smoke check takes of one answer, in one piece or streamed. */
import type { LanguageModel } from '../ports/models.ts';
import { isRefusalChunk } from './seen.ts';

export type CallOptions = Parameters<LanguageModel['doGenerate']>[0];
type Answer = Awaited<ReturnType<LanguageModel['doGenerate']>>;
type Stream = Awaited<ReturnType<LanguageModel['doStream']>>['stream'];

export interface Taken {
  /** The text so far, reasoning left out; null where there was none. */
  text: string | null;
  finishReason: Answer['finishReason'] | null;
  usage: Answer['usage'] | null;
  servedModel: string | null;
  warnings: Answer['warnings'];
  /** When the first piece of any content came, by `performance.now()`; a streamed answer only. */
  firstTokenAtMs: number | null;
}

export type How =
  | { type: 'answered'; answer: Answer }
  | { type: 'stream_ended'; refused: boolean }
  /** The stream says itself that it failed. */
  | { type: 'stream_failed'; error: unknown }
  | { type: 'thrown'; error: unknown };

/** What came before it failed is kept. Nothing of it is asked for twice: a call is one request. */
export async function answerOf(
  model: LanguageModel,
  options: CallOptions,
  isStreamed: boolean,
): Promise<{ taken: Taken; how: How }> {
  const taken: Taken = {
    text: null,
    finishReason: null,
    usage: null,
    servedModel: null,
    warnings: [],
    firstTokenAtMs: null,
  };
  try {
    if (isStreamed) return { taken, how: await takeStream(model, options, taken) };
    const answer = await model.doGenerate(options);
    takeWhole(answer, taken);
    return { taken, how: { type: 'answered', answer } };
  } catch (error) {
    return { taken, how: { type: 'thrown', error } };
  }
}

function takeWhole(answer: Answer, taken: Taken): void {
  const texts = answer.content.flatMap((part) => (part.type === 'text' ? [part.text] : []));
  taken.text = texts.length === 0 ? null : texts.join('');
  taken.finishReason = answer.finishReason;
  taken.usage = answer.usage;
  taken.servedModel = answer.response?.modelId ?? null;
  taken.warnings = answer.warnings;
}

async function takeStream(model: LanguageModel, options: CallOptions, taken: Taken): Promise<How> {
  const { stream } = await model.doStream({ ...options, includeRawChunks: true });
  let refused = false;
  for await (const part of stream) {
    if (part.type === 'error') return { type: 'stream_failed', error: part.error };
    if (part.type === 'raw') refused ||= isRefusalChunk(part.rawValue);
    takePart(part, taken);
  }
  return { type: 'stream_ended', refused };
}

function takePart(part: Stream extends ReadableStream<infer Part> ? Part : never, taken: Taken): void {
  if ('delta' in part) taken.firstTokenAtMs ??= performance.now();
  if (part.type === 'text-delta') taken.text = (taken.text ?? '') + part.delta;
  if (part.type === 'stream-start') taken.warnings = part.warnings;
  if (part.type === 'response-metadata') taken.servedModel = part.modelId ?? taken.servedModel;
  if (part.type !== 'finish') return;
  taken.finishReason = part.finishReason;
  taken.usage = part.usage;
}
