/** What a call is, before it is made: hashes instead of text, and of its settings those that are known to be harmless. */
import { hash } from 'node:crypto';
import { createRequire } from 'node:module';
import { canonicalJson } from '../domain/json.ts';
import type { JsonValue } from '../domain/json.ts';
import type { CallOpening } from '../domain/model-call.ts';
import type { CallSize, LanguageModel } from '../ports/models.ts';
import { boundsOf } from './bounds.ts';

export type CallParams = Parameters<LanguageModel['doGenerate']>[0];

export interface CallKind {
  account: string;
  streamed: boolean;
  repair: boolean;
}

export interface Opened {
  opening: CallOpening;
  size: CallSize;
}

export function openingOf(model: LanguageModel, params: CallParams, kind: CallKind): Opened {
  const { prompt, responseFormat, tools, toolChoice, providerOptions, stopSequences, maxOutputTokens } =
    params;
  const seen = { hasBytes: false };
  const promptText = canonical(prompt, seen);
  const schema: unknown = responseFormat?.type === 'json' ? responseFormat.schema : undefined;
  const schemaText = schema === undefined ? null : canonical(schema, seen);
  const toolsText = tools === undefined ? '' : canonical(tools, seen);
  const promptSha256 = sha256(promptText);
  const provider = providerOf(model);
  const { hasFiles, isUnbounded, thinkingTokens } = boundsOf(params);
  const shape = {
    // whole: `openai.chat` and `openai.responses` answer in forms of their own
    provider: model.provider,
    account: kind.account,
    model: model.modelId,
    promptSha256,
    responseFormat,
    tools: toolsText,
    toolChoice,
    providerOptions,
    stopSequences,
    ...numbersOf(params),
  };
  return {
    opening: {
      provider,
      account: kind.account,
      requestedModel: model.modelId,
      promptSha256,
      schemaSha256: schemaText === null ? null : sha256(schemaText),
      requestSha256: sha256(canonical(shape, seen)),
      parameters: parametersOf(params),
      sdk: sdkOf(params),
      streamed: kind.streamed,
      repair: kind.repair,
    },
    size: {
      promptBytes: [promptText, schemaText ?? '', toolsText].reduce(
        (sum, text) => sum + Buffer.byteLength(text),
        0,
      ),
      maxOutputTokens: maxOutputTokens === undefined ? null : maxOutputTokens + thinkingTokens,
      hasFiles: hasFiles || seen.hasBytes,
      isUnbounded,
    },
  };
}

/** `openai` of `openai.responses`. */
function providerOf({ provider }: LanguageModel): string {
  return provider.split('.')[0] ?? provider;
}

const NUMBERS = [
  'temperature',
  'maxOutputTokens',
  'topP',
  'topK',
  'seed',
  'presencePenalty',
  'frequencyPenalty',
] as const;

function numbersOf(params: CallParams): Record<string, number> {
  const numbers: Record<string, number> = {};
  for (const name of NUMBERS) if (typeof params[name] === 'number') numbers[name] = params[name];
  return numbers;
}

function parametersOf(params: CallParams): CallOpening['parameters'] {
  const { stopSequences, tools, toolChoice, responseFormat } = params;
  return {
    ...numbersOf(params),
    ...(stopSequences === undefined ? {} : { stopSequences: stopSequences.length }),
    ...(tools === undefined || tools.length === 0 ? {} : { tools: tools.map(({ name }) => name) }),
    ...(toolChoice === undefined || tools === undefined ? {} : { toolChoice: toolChoice.type }),
    ...(responseFormat === undefined ? {} : { responseFormat: responseFormat.type }),
  };
}

/** `generateText` tells the provider which version of the SDK it is of. `streamText` does not: it is of the one that is installed. */
function sdkOf({ headers }: CallParams): string {
  const told = /\bai\/(\d[\w.-]*)/.exec(headers?.['user-agent'] ?? '')?.[1];
  return `ai@${told ?? installedVersion()}`;
}

let installed: string | null = null;

/** Read from the package's own description: to load the SDK for its number takes a fifth of a second. */
function installedVersion(): string {
  installed ??= (createRequire(import.meta.url)('ai/package.json') as { version: string }).version;
  return installed;
}

/** Equal requests give equal text. Bytes go in by their digest. */
function canonical(value: unknown, seen: { hasBytes: boolean }): string {
  return canonicalJson(plain(value, seen));
}

function plain(value: unknown, seen: { hasBytes: boolean }): JsonValue {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object') return null;
  if (Array.isArray(value)) return value.map((item) => plain(item, seen));
  if (value instanceof Uint8Array) seen.hasBytes = true;
  return textOf(value) ?? plainObject(value, seen);
}

/** What is one value, though it is an object. */
function textOf(value: object): string | null {
  if (value instanceof Uint8Array) return `sha256:${hash('sha256', value, 'hex')}`;
  if (value instanceof URL) return value.href;
  return value instanceof Date ? value.toISOString() : null;
}

function plainObject(value: object, seen: { hasBytes: boolean }): JsonValue {
  // without a prototype, so that `__proto__` is a key as any other
  const object = Object.create(null) as Record<string, JsonValue>;
  for (const [key, item] of Object.entries(value) as [string, unknown][]) {
    if (item !== undefined && typeof item !== 'function') object[key] = plain(item, seen);
  }
  return object;
}

function sha256(text: string): string {
  return hash('sha256', text, 'hex');
}
