/** A model of a real provider, unrecorded, that tells what each of its calls came to, as whoever records calls sees it. */
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type {
  LanguageModelV3,
  LanguageModelV3FinishReason,
  LanguageModelV3StreamPart,
} from '@ai-sdk/provider';
import type { Seen } from '../../src/domain/model-outcome.ts';
import {
  isRefusalChunk,
  seenOfAnswer,
  seenOfStreamEnd,
  seenOfStreamError,
  seenOfThrown,
} from '../../src/models/seen.ts';

export const APIS = ['responses', 'chat', 'messages', 'compatible'] as const;
export type Api = (typeof APIS)[number];

export function modelsAt(url: string): Record<Api, LanguageModelV3> {
  const at = { baseURL: `${url}/v1`, apiKey: 'sk-secret' };
  return {
    responses: createOpenAI(at).responses('gpt-5-mini'),
    chat: createOpenAI(at).chat('gpt-4o-mini'),
    messages: createAnthropic(at)('claude-sonnet-4-5'),
    compatible: createOpenAICompatible({
      name: 'local',
      supportsStructuredOutputs: true,
      includeUsage: true,
      ...at,
    })('qwen3'),
  };
}

/** `told` gets what each call came to. `signal` is the attempt's. */
export function seeing(
  model: LanguageModelV3,
  signal: AbortSignal,
  told: (seen: Seen) => void,
): LanguageModelV3 {
  const thrown = (error: unknown): never => {
    told(seenOfThrown(error, signal, Date.now()));
    throw error;
  };
  return {
    specificationVersion: 'v3',
    provider: model.provider,
    modelId: model.modelId,
    supportedUrls: {},
    async doGenerate(options) {
      const answer = await model.doGenerate(options).then(undefined, thrown);
      told(seenOfAnswer(answer));
      return answer;
    },
    async doStream(options) {
      const result = await model.doStream({ ...options, includeRawChunks: true }).then(undefined, thrown);
      return { ...result, stream: seeingParts(result.stream, told, thrown) };
    },
  };
}

function seeingParts(
  stream: ReadableStream<LanguageModelV3StreamPart>,
  told: (seen: Seen) => void,
  thrown: (error: unknown) => never,
): ReadableStream<LanguageModelV3StreamPart> {
  const reader = stream.getReader();
  let failed: Seen | null = null;
  let finish: LanguageModelV3FinishReason | null = null;
  let refused = false;
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await reader.read().then(undefined, thrown);
      if (done) {
        told(failed ?? seenOfStreamEnd(finish, refused));
        controller.close();
        return;
      }
      if (value.type === 'error') failed ??= seenOfStreamError(value.error, Date.now());
      if (value.type === 'finish') finish = value.finishReason;
      if (value.type === 'raw') refused ||= isRefusalChunk(value.rawValue);
      else controller.enqueue(value);
      if (value.type === 'raw') controller.enqueue({ type: 'raw', rawValue: null });
    },
  });
}
