/** What AI SDK v6 makes of an answer, told in a line: for the table in docs/fake-provider.md, and the test that holds it to it. */
import { generateText, Output, streamText, tool } from 'ai';
import type { LanguageModel } from 'ai';
import { z } from 'zod';

/** One model asked in three ways. */
export interface Outcome {
  /** `generateText`. */
  whole: string;
  /** `generateText` with `Output.object`. */
  object: string;
  /** `streamText` with `Output.object`: its `fullStream`, then `text` where it rejects. */
  stream: string;
  /** The same call's `output`. */
  streamedObject: string;
}

const output = Output.object({ schema: z.object({ answer: z.number() }) });
const tools = {
  weather: tool({
    description: 'The weather of a city',
    inputSchema: z.object({ city: z.string() }),
    execute: ({ city }) => `Sun in ${city}`,
  }),
};

/** @param withTools the request offers a tool */
export async function outcome(
  model: LanguageModel,
  { withTools, signal }: { withTools: boolean; signal: () => AbortSignal | undefined },
): Promise<Outcome> {
  const asked = (): Asked => {
    const abortSignal = signal();
    return {
      model,
      prompt: 'What is the answer?',
      maxRetries: 0,
      ...(withTools ? { tools } : {}),
      ...(abortSignal ? { abortSignal } : {}),
    };
  };
  const answered = await whole(asked());
  const asObject = await object(asked());
  return {
    whole: answered,
    object: asObject === answered ? 'the same' : asObject,
    ...(await streamed(asked())),
  };
}

interface Asked {
  model: LanguageModel;
  prompt: string;
  maxRetries: number;
  tools?: typeof tools;
  abortSignal?: AbortSignal;
}

async function whole(asked: Asked): Promise<string> {
  try {
    const { finishReason, rawFinishReason, usage, response, toolCalls } = await generateText(asked);
    return [
      toldReason(finishReason, rawFinishReason),
      ...(usage.inputTokens === undefined ? ['no usage'] : []),
      ...(response.modelId.endsWith('-other') ? ['of another model'] : []),
      ...(toolCalls.some(({ invalid }) => invalid) ? ['the call is `invalid`'] : []),
    ].join(', ');
  } catch (error) {
    return `throws ${told(error)}`;
  }
}

/** The provider's own word goes along where more than one thing may be meant. */
function toldReason(unified: string, raw: string | undefined): string {
  const plainly = raw === undefined || unified === 'stop' || unified === 'tool-calls';
  return plainly ? unified : `${unified} (${raw})`;
}

async function object(asked: Asked): Promise<string> {
  try {
    const result = await generateText({ ...asked, output });
    return readingOutput(() => result.output);
  } catch (error) {
    return `throws ${told(error)}`;
  }
}

function readingOutput(read: () => unknown): string {
  try {
    return `\`${JSON.stringify(read())}\``;
  } catch (error) {
    return `reading it throws ${told(error)}`;
  }
}

async function streamed(asked: Asked): Promise<{ stream: string; streamedObject: string }> {
  const result = streamText({ ...asked, output, onError: () => {} });
  const seen: string[] = [];
  try {
    for await (const part of result.fullStream) seen.push(...partTold(part));
  } catch (error) {
    seen.push(`\`fullStream\` throws ${told(error)}`);
  }
  const text = await result.text.then(
    () => [],
    (error: unknown) => [`\`text\` rejects: ${told(error)}`],
  );
  const streamedObject = await result.output.then(
    (value) => `\`${JSON.stringify(value)}\``,
    (error: unknown) => `rejects: ${told(error)}`,
  );
  return { stream: [...seen, ...text].join('; '), streamedObject };
}

interface Part {
  type: string;
  error?: unknown;
  finishReason?: string;
  totalUsage?: { inputTokens: number | undefined };
}

function partTold(part: Part): string[] {
  switch (part.type) {
    case 'error':
      return [`error part ${told(part.error)}`];
    case 'tool-error':
      return ['tool-error part'];
    case 'abort':
      return ['abort part'];
    case 'finish':
      return [
        `finish ${part.finishReason ?? ''}`,
        ...(part.totalUsage?.inputTokens === undefined ? ['no usage'] : []),
      ];
    default:
      return [];
  }
}

/** An error's class, status, whether the SDK would retry it, and what it came from. */
function told(error: unknown): string {
  if (!(error instanceof Error)) return plain(error);
  const { statusCode, isRetryable } = error as { statusCode?: number; isRetryable?: boolean };
  const retried = isRetryable === undefined ? [] : [isRetryable ? 'retryable' : 'final'];
  const from = origin(error.cause);
  return [
    error.name.replace('AI_', ''),
    ...(statusCode === undefined ? [] : [statusCode]),
    ...retried,
    ...(from === undefined ? [] : [`(${from})`]),
  ].join(' ');
}

/** The system's code where a cause has one, else the nearest cause's class. */
function origin(cause: unknown): string | undefined {
  if (!(cause instanceof Error)) return undefined;
  const { code } = cause as { code?: unknown };
  if (typeof code === 'string') return code;
  const deeper = origin(cause.cause);
  return deeper?.match(/^[A-Z_]+$/) ? deeper : cause.name.replace('AI_', '');
}

function plain(error: unknown): string {
  const { type, code, statusCode, isRetryable } = error as Record<string, unknown>;
  return `\`${JSON.stringify({ type, code, statusCode, isRetryable })}\``;
}
