/** OpenAI Responses: `POST /v1/responses`. */
import { cut } from './sse.ts';
import type { EventStream, SseEvent } from './sse.ts';
import type { Ending, Said, SaidToolCall } from './said.ts';

/** Why a response is incomplete; the other endings complete it. */
const INCOMPLETE: Partial<Record<Ending, string>> = {
  length: 'max_output_tokens',
  content_filter: 'content_filter',
};

/** One item of a response's output, and the events that bring it. */
interface Item {
  whole: Record<string, unknown>;
  events: readonly SseEvent[];
}

export function responsesJson(said: Said): object {
  const output = items(said).map(({ whole }) => whole);
  return { ...response(said, statusOf(said)), output, ...usageOf(said) };
}

export function responsesStream(said: Said): EventStream {
  const output = items(said);
  const type = statusOf(said) === 'incomplete' ? 'response.incomplete' : 'response.completed';
  return numbered({
    start: opening(said),
    body: output.flatMap(({ events }) => events),
    final: [{ data: { type, response: responsesJson(said) } }],
  });
}

/** The response of a 200 that has failed. The API's own error has no `type`. */
export function responsesFailure(
  said: Said,
  error: { code: string; message: string; type?: string },
): object {
  return { ...response(said, 'failed'), error, usage: null };
}

/** The same in a stream, behind `before` of its text. */
export function responsesFailedStream(said: Said, failure: object, before: readonly SseEvent[]): EventStream {
  return numbered({
    start: opening(said),
    body: before,
    final: [{ data: { type: 'response.failed', response: failure } }],
  });
}

function opening(said: Said): SseEvent[] {
  const begun = response(said, 'in_progress');
  return [
    { data: { type: 'response.created', response: begun } },
    { data: { type: 'response.in_progress', response: begun } },
  ];
}

function response(said: Said, status: string): Record<string, unknown> {
  const reason = status === 'incomplete' ? INCOMPLETE[said.ending] : undefined;
  return {
    id: `resp_${said.id}`,
    object: 'response',
    created_at: said.createdAt,
    status,
    background: false,
    error: null,
    incomplete_details: reason === undefined ? null : { reason },
    instructions: null,
    max_output_tokens: null,
    metadata: {},
    model: said.model,
    output: [],
    parallel_tool_calls: true,
    previous_response_id: null,
    reasoning: { effort: null, summary: null },
    service_tier: 'default',
    store: true,
    temperature: 1,
    text: { format: { type: 'text' } },
    tool_choice: 'auto',
    tools: [],
    top_p: 1,
    truncation: 'disabled',
    user: null,
  };
}

function statusOf({ ending }: Said): string {
  return INCOMPLETE[ending] === undefined ? 'completed' : 'incomplete';
}

function usageOf({ usage }: Said): object {
  if (usage === null) return {};
  const input_tokens = usage.input + usage.cachedInput + usage.cacheWrite;
  const output_tokens = usage.output + usage.reasoning;
  const written = usage.cacheWrite > 0 ? { cache_write_tokens: usage.cacheWrite } : {};
  return {
    usage: {
      input_tokens,
      input_tokens_details: { cached_tokens: usage.cachedInput, ...written },
      output_tokens,
      output_tokens_details: { reasoning_tokens: usage.reasoning },
      total_tokens: input_tokens + output_tokens,
    },
  };
}

function items(said: Said): Item[] {
  const spoken = said.text === '' ? [] : [message(said)];
  return [...spoken, ...said.toolCalls.map((call, number) => functionCall(call, spoken.length + number))];
}

function message(said: Said): Item {
  const refused = said.ending === 'refusal';
  const id = `msg_${said.id}`;
  const part = (words: string) =>
    refused
      ? { type: 'refusal', refusal: words }
      : { type: 'output_text', text: words, annotations: [], logprobs: [] };
  const whole = (status: string, content: object[]) => ({
    id,
    type: 'message',
    role: 'assistant',
    status,
    content,
  });
  const done = whole(statusOf(said), [part(said.text)]);
  const at = { item_id: id, output_index: 0, content_index: 0 };
  const kind = refused ? 'response.refusal' : 'response.output_text';
  const events: SseEvent[] = [
    { data: { type: 'response.output_item.added', output_index: 0, item: whole('in_progress', []) } },
    { data: { type: 'response.content_part.added', ...at, part: part('') } },
    ...cut(said.text, said.chunks).map(
      (delta): SseEvent => ({ data: { type: `${kind}.delta`, ...at, delta }, delta: true }),
    ),
    { data: { type: `${kind}.done`, ...at, [refused ? 'refusal' : 'text']: said.text } },
    { data: { type: 'response.content_part.done', ...at, part: part(said.text) } },
    { data: { type: 'response.output_item.done', output_index: 0, item: done } },
  ];
  return { whole: done, events };
}

function functionCall(call: SaidToolCall, output_index: number): Item {
  const id = `fc_${call.id}`;
  const whole = (status: string, args: string) => ({
    id,
    type: 'function_call',
    status,
    call_id: `call_${call.id}`,
    name: call.name,
    arguments: args,
  });
  const at = { item_id: id, output_index };
  const done = whole('completed', call.arguments);
  const events: SseEvent[] = [
    { data: { type: 'response.output_item.added', output_index, item: whole('in_progress', '') } },
    ...cut(call.arguments, 2).map(
      (delta): SseEvent => ({
        data: { type: 'response.function_call_arguments.delta', ...at, delta },
        delta: true,
      }),
    ),
    { data: { type: 'response.function_call_arguments.done', ...at, arguments: call.arguments } },
    { data: { type: 'response.output_item.done', output_index, item: done } },
  ];
  return { whole: done, events };
}

/** Every event names itself twice and carries its number in the stream. */
function numbered({ start, body, final }: EventStream): EventStream {
  const numberFrom = (events: readonly SseEvent[], first: number) =>
    events.map((event, index) => {
      const data = event.data as { type: string };
      return { ...event, event: data.type, data: { ...data, sequence_number: first + index } };
    });
  return {
    start: numberFrom(start, 0),
    body: numberFrom(body, start.length),
    final: numberFrom(final, start.length + body.length),
  };
}
