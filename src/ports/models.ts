/**
 * What a workflow's calls to language models go through. The models are the AI SDK's (v6); this is what the engine and
 * the models' room say to each other, as plain data, so that a call can be made in a process of its own.
 */
import type { LanguageModelV3 } from '@ai-sdk/provider';
import type { CallEnd, CallOpening } from '../domain/model-call.ts';
import type { CallsBefore, Judgement } from '../domain/model-outcome.ts';
import type { ValidationIssue } from '../domain/record.ts';

/** Any language model of the AI SDK, v6: `openai('gpt-5')`, `anthropic('...')`, an OpenAI-compatible one. */
export type LanguageModel = LanguageModelV3;

export interface ModelOptions {
  /** Tells several keys of one provider apart, for its pauses. `default` by default. */
  account?: string;
}

/** `ctx.model`: the model, recorded. Without an argument, the process's own. Hand the result to `generateText`, `streamText`, ... */
export interface RecordedModels {
  (model?: LanguageModel, options?: ModelOptions): LanguageModel;
}

/** What the estimate of a call is made from. */
export interface CallSize {
  /** UTF-8 bytes of the prompt, tools and schema as JSON: no text has more tokens than bytes. */
  promptBytes: number;
  /** What the call sets, thinking included that comes on top; null where it sets none. */
  maxOutputTokens: number | null;
  /** Files and images, whose tokens nobody can tell before. */
  hasFiles: boolean;
  /** The provider may bill what neither the prompt nor the answer holds: an earlier response, tools that it runs itself. */
  isUnbounded: boolean;
}

/** A response in the form it is stored in: what the SDK gave, with the provider's own body, without a header but those allowed. */
export interface StoredResponse {
  version: 1;
  /** The provider's body as it came: JSON, or the chunks of a stream. Null where there was none. */
  raw: unknown;
  /** What `doGenerate` gave (content, finish reason, usage, provider metadata, warnings), to be given again; null where the call failed. */
  result: unknown;
}

export type CallPermit =
  /** Make the call. */
  | { type: 'call'; n: number; known: CallsBefore }
  /** Do not: this is its answer. */
  | { type: 'reuse'; n: number; response: StoredResponse }
  /** Do not: the attempt ends so, unless the function catches it. */
  | { type: 'refused'; judgement: Judgement };

/** The record's side of one attempt's calls. */
export interface CallDesk {
  /** @throws nothing that is expected: refusals are permits */
  begin(opening: CallOpening, size: CallSize): Promise<CallPermit>;
  /** Resolves when the end and the response are durable. `retryAfterMs` of a rate limit slows every worker. */
  end(n: number, end: CallEnd, response: StoredResponse | null, retryAfterMs: number | null): Promise<void>;
  /** What a stream gave since the last call of this; never stored. */
  partial(text: string): void;
}

/** One attempt's models. */
export interface ModelSession {
  model: RecordedModels;
  /** A stream that failed although the function went on: the attempt fails so, whatever it returned. */
  failure(): Judgement | null;
  /**
   * Gives the validator's issues back to the model that answered last, in one more call, and keeps its answer for when the function
   * runs again: every call of that run gets the answers it got before, the last one the mended answer. False where nothing can be asked.
   */
  repair(issues: readonly ValidationIssue[]): Promise<boolean>;
}

/** Opens the models of one attempt. */
export type OpenModels = (desk: CallDesk, signal: () => AbortSignal) => ModelSession;
