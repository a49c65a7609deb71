/** OpenAI Chat Completions, and what speaks like it: `POST /v1/chat/completions`. */
import { cut } from './sse.ts';
import type { EventStream, SseEvent } from './sse.ts';
import type { Ending, Said } from './said.ts';

const FINISH: Record<Ending, string> = {
  stop: 'stop',
  length: 'length',
  // a refusal is a message of its own kind, and its end is an ordinary one
  refusal: 'stop',
  content_filter: 'content_filter',
  tool_calls: 'tool_calls',
};

export function chatJson(said: Said): object {
  const refused = said.ending === 'refusal';
  const words = said.text === '' ? null : said.text;
  const tool_calls = said.toolCalls.map((call) => ({
    id: `call_${call.id}`,
    type: 'function',
    function: { name: call.name, arguments: call.arguments },
  }));
  const message = {
    role: 'assistant',
    content: refused ? null : words,
    refusal: refused ? words : null,
    annotations: [],
    ...(tool_calls.length > 0 ? { tool_calls } : {}),
  };
  return {
    ...head(said, 'chat.completion'),
    choices: [{ index: 0, message, logprobs: null, finish_reason: FINISH[said.ending] }],
    ...usageOf(said),
  };
}

/** @param withUsage the request asked for a last chunk with the usage */
export function chatStream(said: Said, withUsage: boolean): EventStream {
  const chunk = (delta: object, finish_reason: string | null = null) => ({
    ...head(said, 'chat.completion.chunk'),
    choices: [{ index: 0, delta, logprobs: null, finish_reason }],
    ...(withUsage ? { usage: null } : {}),
  });
  const piece = (delta: object): SseEvent => ({ data: chunk(delta), delta: true });
  const kind = said.ending === 'refusal' ? 'refusal' : 'content';
  const usage = usageOf(said);
  return {
    start: [{ data: chunk({ role: 'assistant', content: '', refusal: null }) }],
    body: [
      ...cut(said.text, said.chunks).map((words) => piece({ [kind]: words })),
      ...toolDeltas(said).map((tool_call) => piece({ tool_calls: [tool_call] })),
    ],
    final: [
      { data: chunk({}, FINISH[said.ending]) },
      ...(withUsage && 'usage' in usage
        ? [{ data: { ...head(said, 'chat.completion.chunk'), choices: [], ...usage } }]
        : []),
      { data: '[DONE]' },
    ],
  };
}

/** Each call's name, and then its arguments in pieces. */
function toolDeltas({ toolCalls }: Said): object[] {
  return toolCalls.flatMap((call, index) => [
    {
      index,
      id: `call_${call.id}`,
      type: 'function',
      function: { name: call.name, arguments: '' },
    },
    ...cut(call.arguments, 2).map((piece) => ({ index, function: { arguments: piece } })),
  ]);
}

function head(said: Said, object: string): object {
  return {
    id: `chatcmpl-${said.id}`,
    object,
    created: said.createdAt,
    model: said.model,
    service_tier: 'default',
    system_fingerprint: 'fp_fake',
  };
}

function usageOf({ usage }: Said): object {
  if (usage === null) return {};
  const prompt_tokens = usage.input + usage.cachedInput + usage.cacheWrite;
  const completion_tokens = usage.output + usage.reasoning;
  const written = usage.cacheWrite > 0 ? { cache_write_tokens: usage.cacheWrite } : {};
  return {
    usage: {
      prompt_tokens,
      completion_tokens,
      total_tokens: prompt_tokens + completion_tokens,
      prompt_tokens_details: { cached_tokens: usage.cachedInput, audio_tokens: 0, ...written },
      completion_tokens_details: {
        reasoning_tokens: usage.reasoning,
        audio_tokens: 0,
        accepted_prediction_tokens: 0,
        rejected_prediction_tokens: 0,
      },
    },
  };
}
