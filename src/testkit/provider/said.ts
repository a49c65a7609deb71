/** What an answer says, before it takes the form of an API. */
import { createHash } from 'node:crypto';
import type { Asked, ProviderToolCall, ProviderUsage, SpokenReply } from './replies.ts';

/** Why the model stopped. */
export type Ending = 'stop' | 'length' | 'refusal' | 'content_filter' | 'tool_calls';

export interface SaidToolCall {
  id: string;
  name: string;
  /** As the model wrote them: JSON, unless the fault says otherwise. */
  arguments: string;
}

export interface Said {
  /** Text; of a refusal, its words. */
  text: string;
  toolCalls: readonly SaidToolCall[];
  ending: Ending;
  model: string;
  usage: Required<ProviderUsage> | null;
  chunks: number;
  /** What the ids of this answer end with. */
  id: string;
  /** Seconds. */
  createdAt: number;
}

/** The model's words where the script has none. */
const DEFAULT_TEXT = 'Hello from the fake provider.';
const DEFAULT_JSON = { answer: 42 };
const DEFAULT_REFUSAL = "I'm sorry, but I can't help with that.";
const DEFAULT_USAGE = { input: 12, output: 5 };
const NO_TOKENS = { input: 0, cachedInput: 0, cacheWrite: 0, output: 0, reasoning: 0 };
/** Every answer of a seed is the same for ever, so none asks a clock. */
const FIRST_SECOND = 1_760_000_000;

/** 24 hexadecimal digits that follow from the seed, the number of the call and what they are for. */
export function idOf({ seed, index }: Asked, of: string): string {
  return createHash('sha256').update(`${seed}:${index}:${of}`).digest('hex').slice(0, 24);
}

export function said(reply: SpokenReply, asked: Asked): Said {
  const toolCalls = toolCallsOf(reply, asked).map(({ name, input }, number) => ({
    id: idOf(asked, `tool ${number}`),
    name: name ?? firstTool(asked) ?? 'tool',
    arguments: reply.reply === 'malformed_tool_call' ? cutShort(input) : JSON.stringify(input ?? {}),
  }));
  const silent = reply.usage === null || reply.reply === 'no_usage';
  return {
    text: toolCalls.length > 0 && reply.text === undefined ? '' : textOf(reply),
    toolCalls,
    ending: endingOf(reply, toolCalls.length > 0),
    model: reply.model ?? (reply.reply === 'wrong_model' ? `${asked.model}-other` : asked.model),
    usage: silent ? null : { ...NO_TOKENS, ...(reply.usage ?? DEFAULT_USAGE) },
    chunks: reply.chunks ?? 3,
    id: idOf(asked, 'answer'),
    createdAt: FIRST_SECOND + asked.index,
  };
}

function textOf(reply: SpokenReply): string {
  if (reply.reply === 'malformed_output') return malformed(reply);
  if (reply.text !== undefined) return reply.text;
  if ('json' in reply) return JSON.stringify(reply.json);
  if (reply.reply === 'refusal') return DEFAULT_REFUSAL;
  return reply.reply === 'length_with_json' ? JSON.stringify(DEFAULT_JSON) : DEFAULT_TEXT;
}

function malformed(reply: Extract<SpokenReply, { reply: 'malformed_output' }>): string {
  if (reply.text !== undefined) return reply.text;
  if (reply.as === 'prose') return 'The answer is forty-two, I should think.';
  const json = JSON.stringify(reply.json ?? DEFAULT_JSON);
  return `Here is the JSON you asked for:\n\n\`\`\`json\n${json}\n\`\`\`\n\nLet me know if you need more.`;
}

function endingOf({ reply }: SpokenReply, calls: boolean): Ending {
  if (reply === 'length_with_json') return 'length';
  if (reply === 'refusal' || reply === 'content_filter') return reply;
  return calls ? 'tool_calls' : 'stop';
}

/** A tool that the request forces is called with the answer's JSON, as a model would have to. */
function toolCallsOf(reply: SpokenReply, asked: Asked): readonly ProviderToolCall[] {
  if (reply.toolCalls !== undefined) return reply.toolCalls;
  if (reply.reply === 'malformed_tool_call') return [{ input: { city: 'Paris' } }];
  const forced = forcedTool(asked);
  if (forced === undefined || reply.text !== undefined) return [];
  if ('json' in reply) return [{ name: forced, input: reply.json }];
  return reply.reply === 'length_with_json' ? [{ name: forced, input: DEFAULT_JSON }] : [];
}

function forcedTool({ body }: Asked): string | undefined {
  const choice = body['tool_choice'];
  if (typeof choice !== 'object' || choice === null) return undefined;
  const { type, name, function: named } = choice as ToolShape;
  if (type !== 'any') return name ?? named?.name;
  const names = toolNames(body);
  return names.includes('json') ? 'json' : names[0];
}

function firstTool({ body }: Asked): string | undefined {
  return toolNames(body)[0];
}

interface ToolShape {
  type?: string;
  name?: string;
  function?: { name?: string };
}

function toolNames(body: Record<string, unknown>): string[] {
  const tools = Array.isArray(body['tools']) ? (body['tools'] as ToolShape[]) : [];
  return tools.flatMap((tool) => tool.name ?? tool.function?.name ?? []);
}

function cutShort(input: unknown): string {
  return JSON.stringify(input ?? {}).slice(0, -2);
}
