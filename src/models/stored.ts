/**
 * An answer in the form in which it is stored: JSON, in which bytes and instants are marked. It can be given again as it came, or as a
 * stream, whichever the function asks for the next time.
 */
import type { StoredResponse } from '../ports/models.ts';
import type { LanguageModel } from '../ports/models.ts';

export type Answer = Awaited<ReturnType<LanguageModel['doGenerate']>>;
export type Part =
  Awaited<ReturnType<LanguageModel['doStream']>>['stream'] extends ReadableStream<infer Item> ? Item : never;
type Content = Answer['content'][number];

/** @param answer null where the call failed */
export function storedOf(answer: Answer | null, raw: unknown): StoredResponse {
  return { version: 1, raw: toJson(raw ?? null), result: answer === null ? null : toJson(kept(answer)) };
}

/** @throws Error where it is no answer */
export function answerOf({ result }: StoredResponse): Answer {
  const answer = fromJson(result) as Answer | null;
  if (answer === null || !Array.isArray(answer.content)) throw new Error('the stored response is no answer');
  return answer;
}

/** Headers and what was sent stay out. */
function kept({ content, finishReason, usage, providerMetadata, warnings, response }: Answer) {
  const { id, modelId, timestamp } = response ?? {};
  return { content, finishReason, usage, providerMetadata, warnings, response: { id, modelId, timestamp } };
}

/** The answer as the parts of a stream. */
export function streamOf(answer: Answer): ReadableStream<Part> {
  const { content, finishReason, usage, providerMetadata, warnings, response } = answer;
  const { id, modelId, timestamp } = response ?? {};
  const metadata = providerMetadata === undefined ? {} : { providerMetadata };
  const parts: Part[] = [
    { type: 'stream-start', warnings },
    {
      type: 'response-metadata',
      ...(id === undefined ? {} : { id }),
      ...(modelId === undefined ? {} : { modelId }),
      ...(timestamp === undefined ? {} : { timestamp }),
    },
    ...content.flatMap(partsOf),
    { type: 'finish', finishReason, usage, ...metadata },
  ];
  return new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
}

function partsOf(content: Content, index: number): Part[] {
  if (content.type !== 'text' && content.type !== 'reasoning') return [content];
  const { type, text, providerMetadata } = content;
  const id = `stored-${index}`;
  const metadata = providerMetadata === undefined ? {} : { providerMetadata };
  return [
    { type: `${type}-start`, id },
    { type: `${type}-delta`, id, delta: text },
    { type: `${type}-end`, id, ...metadata },
  ];
}

/** The text of an answer. */
export function textOf({ content }: Answer): string {
  return content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('');
}

const BYTES = '$bytes';
const INSTANT = '$instant';

/** A provider's own key of such a name has one `$` more here, so that it comes back as it was. */
const MARKED = /^\$+(bytes|instant)$/;
const ESCAPED = /^\$\$+(bytes|instant)$/;

function toJson(value: unknown): unknown {
  if (value === null || typeof value !== 'object') return typeof value === 'bigint' ? String(value) : value;
  if (value instanceof Uint8Array) return { [BYTES]: Buffer.from(value).toString('base64') };
  if (value instanceof Date) return { [INSTANT]: value.getTime() };
  if (Array.isArray(value)) return value.map(toJson);
  const entries = Object.entries(value).filter(
    ([, item]) => item !== undefined && typeof item !== 'function',
  );
  return Object.fromEntries(entries.map(([key, item]) => [MARKED.test(key) ? `$${key}` : key, toJson(item)]));
}

function fromJson(value: unknown): unknown {
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map(fromJson);
  const { [BYTES]: bytes, [INSTANT]: instant } = value as Record<string, unknown>;
  const entries = Object.entries(value);
  if (entries.length === 1 && typeof bytes === 'string') return new Uint8Array(Buffer.from(bytes, 'base64'));
  if (entries.length === 1 && typeof instant === 'number') return new Date(instant);
  return Object.fromEntries(
    entries.map(([key, item]) => [ESCAPED.test(key) ? key.slice(1) : key, fromJson(item)]),
  );
}
