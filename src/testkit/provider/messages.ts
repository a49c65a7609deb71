/** Anthropic Messages: `POST /v1/messages`. */
import { cut } from './sse.ts';
import type { EventStream, SseEvent } from './sse.ts';
import type { Ending, Said, SaidToolCall } from './said.ts';

const STOP: Record<Ending, string> = {
  stop: 'end_turn',
  length: 'max_tokens',
  refusal: 'refusal',
  // has no stop reason of its own: the API answers 400, and this is never said
  content_filter: 'end_turn',
  tool_calls: 'tool_use',
};

const REFUSED = {
  type: 'refusal',
  category: null,
  explanation: 'This request was declined.',
};

export function messagesJson(said: Said): object {
  const text = said.text === '' ? [] : [{ type: 'text', text: said.text }];
  const tools = said.toolCalls.map((call) => ({ ...toolUse(call), input: inputOf(call) }));
  const { usage } = said;
  return {
    ...head(said),
    content: [...text, ...tools],
    ...stop(said),
    ...(usage === null ? {} : { usage: { ...inputTokens(usage), ...outputTokens(usage) } }),
  };
}

export function messagesStream(said: Said): EventStream {
  const blocks = [
    ...(said.text === '' ? [] : [textBlock]),
    ...said.toolCalls.map((call) => toolBlock(call)),
  ].flatMap((block, index) => block(said, index));
  const { usage } = said;
  const begun = usage === null ? {} : { usage: { ...inputTokens(usage), output_tokens: 1 } };
  const ended = usage === null ? {} : { usage: outputTokens(usage) };
  const message = { ...head(said), content: [], stop_reason: null, stop_sequence: null, ...begun };
  return {
    start: [named({ type: 'message_start', message }), named({ type: 'ping' })],
    body: blocks,
    final: [named({ type: 'message_delta', delta: stop(said), ...ended }), named({ type: 'message_stop' })],
  };
}

function textBlock(said: Said, index: number): SseEvent[] {
  return [
    named({ type: 'content_block_start', index, content_block: { type: 'text', text: '' } }),
    ...cut(said.text, said.chunks).map((text) => delta(index, { type: 'text_delta', text })),
    named({ type: 'content_block_stop', index }),
  ];
}

function toolBlock(call: SaidToolCall) {
  return (_: Said, index: number): SseEvent[] => [
    named({ type: 'content_block_start', index, content_block: { ...toolUse(call), input: {} } }),
    ...cut(call.arguments, 2).map((json) => delta(index, { type: 'input_json_delta', partial_json: json })),
    named({ type: 'content_block_stop', index }),
  ];
}

function delta(index: number, piece: object): SseEvent {
  return { ...named({ type: 'content_block_delta', index, delta: piece }), delta: true };
}

function named(data: { type: string; [member: string]: unknown }): SseEvent {
  return { event: data.type, data };
}

function head(said: Said): object {
  return { id: `msg_${said.id}`, type: 'message', role: 'assistant', model: said.model };
}

function stop({ ending }: Said): object {
  const details = ending === 'refusal' ? { stop_details: REFUSED } : {};
  return { stop_reason: STOP[ending], stop_sequence: null, ...details };
}

function toolUse({ id, name }: SaidToolCall) {
  return { type: 'tool_use', id: `toolu_${id}`, name };
}

/** Arguments that are no JSON can only be told as the text they are. */
function inputOf({ arguments: written }: SaidToolCall): unknown {
  try {
    return JSON.parse(written);
  } catch {
    return written;
  }
}

type Usage = NonNullable<Said['usage']>;

function inputTokens(usage: Usage): object {
  return {
    input_tokens: usage.input,
    cache_creation_input_tokens: usage.cacheWrite,
    cache_read_input_tokens: usage.cachedInput,
  };
}

function outputTokens({ output, reasoning }: Usage): object {
  const thinking = reasoning > 0 ? { output_tokens_details: { thinking_tokens: reasoning } } : {};
  return { output_tokens: output + reasoning, ...thinking };
}
