/** The nouns of a call to a language model, as the record keeps it. Text of prompts and answers is only in the evidence. */
import type { ErrorCode } from './failures.ts';
import type { NanoUsd, Usage } from './money.ts';

/** `settled`: the cost is known and in the ledger. `none`: nothing was billed. `unknown`: the estimate stays held. */
export type Billing = 'settled' | 'none' | 'unknown';

/** What a call is, before it is made. */
export interface CallOpening {
  /** `openai` of `openai.responses`. */
  provider: string;
  /** Tells credentials of one provider apart; `default` where the workflow does not. */
  account: string;
  requestedModel: string;
  /** SHA-256 of the prompt as the SDK gives it to the provider, as canonical JSON. */
  promptSha256: string;
  /** SHA-256 of the JSON schema of the answer; null where none was asked for. */
  schemaSha256: string | null;
  /** SHA-256 of everything that shapes the answer: model, prompt, schema, tools, parameters. */
  requestSha256: string;
  /** Allow-listed parameters: temperature, maxOutputTokens, topP, topK, seed, penalties, stop sequences' number, tool names. */
  parameters: Readonly<Record<string, string | number | boolean | readonly string[]>>;
  /** `ai@6.0.325`. */
  sdk: string;
  streamed: boolean;
  /** True for the one call that gives the validator's issues back to the model. */
  repair: boolean;
}

/** How a call ended. */
export interface CallEnd {
  servedModel: string | null;
  finishReason: string | null;
  /** The provider's id of the request, for its support. */
  requestId: string | null;
  usage: Usage | null;
  latencyMs: number;
  /** Null where the call succeeded. */
  code: ErrorCode | null;
  /** The line of the classification that says so. */
  rule: string | null;
  /** HTTP status, where there was one. */
  httpStatus: number | null;
  /** It failed before anything was sent, so nothing can have been billed; told once, and not kept. */
  unsent?: boolean;
}

export interface ResponseRef {
  uri: string;
  sha256: string;
  bytes: number;
  /** Set once its bytes had their time. */
  erasedAt?: number;
}

/** A call as the record has it. */
export interface ModelCall extends CallOpening {
  /** 1, 2, ... within the job. */
  n: number;
  attempt: number;
  token: number;
  /** 1, 2, ... within the attempt. */
  place: number;
  startedAt: number;
  /** What was held for it before it began; held until its billing is known. */
  reserved: NanoUsd;
  /** Null while it is under way, and for ever where its attempt ended before it did. */
  end: (CallEnd & { endedAt: number }) | null;
  /** Null while it is under way under the job's current lease. */
  billing: Billing | null;
  /** Null unless `settled` or `none`. */
  cost: NanoUsd | null;
  response: ResponseRef | null;
  /** The call of an earlier attempt (or of this one, under a repair) whose stored response was used instead of a call. */
  reusedFrom: number | null;
  /** Who settled a cost that nobody knew, and why. */
  settledBy: { actor: string; reason: string; at: number } | null;
}

/** Whether another model answered than the one that was asked for. An alias that resolves to a dated version counts: the record says so. */
export function servedAnother(call: Pick<ModelCall, 'requestedModel' | 'end'>): boolean {
  const served = call.end?.servedModel ?? null;
  return served !== null && served !== call.requestedModel;
}
