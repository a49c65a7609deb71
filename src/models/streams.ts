/**
 * A stream of a model's on its way to the function. What passes is also collected, so that the whole can be stored; the
 * part that ends it is held back until that is durable. However it ends without one (the connection breaks, it is
 * closed early, the provider says that it failed), the function gets one part of type `error`, and never what looks like an end.
 */
import { isRefusalChunk } from './seen.ts';
import type { Answer, Part } from './stored.ts';

/** What a stream gave, and how it ended. */
export interface Taken {
  how:
    | { type: 'finished' }
    /** It was closed without an end, or the function wanted no more of it. */
    | { type: 'cut' | 'dropped' }
    | { type: 'broke'; error: unknown };
  /** Whole only where it finished. */
  answer: Answer;
  /** Null where they were too many to be kept. */
  raw: unknown[] | null;
  /** Whether one of the chunks was part of a refusal. */
  refused: boolean;
}

/** How much of a provider's own chunks is kept of one stream, in characters of JSON; of a longer one, only what the SDK made of it. */
const MAX_RAW_CHARS = 8_000_000;
/** A stream that says more than this is broken off. */
const MAX_CONTENT_CHARS = 64_000_000;

export interface StreamWatch {
  /** Whether the function asked for the provider's own chunks. */
  wantsRaw: boolean;
  signal: AbortSignal;
  onText: (text: string) => void;
  /** Resolves when the end is durable: with what the function is to get in its place, where it is no success. */
  onEnd: (taken: Taken) => Promise<{ error: unknown } | null>;
}

export function watched(source: ReadableStream<Part>, watch: StreamWatch): ReadableStream<Part> {
  const flow = new Flow(source.getReader(), watch);
  return new ReadableStream<Part>(
    {
      pull: (controller) => flow.pull(controller),
      cancel: (reason) => flow.drop(reason),
    },
    { highWaterMark: 0 },
  );
}

const UNKNOWN_USAGE: Answer['usage'] = {
  inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: undefined, text: undefined, reasoning: undefined },
};

class Flow {
  readonly #reader: ReadableStreamDefaultReader<Part>;
  readonly #watch: StreamWatch;
  #raw: unknown[] | null = [];
  #rawChars = 0;
  #refused = false;
  #contentChars = 0;
  readonly #content = new Content();
  readonly #stop: () => void;
  #answer: Omit<Answer, 'content'> = {
    finishReason: { unified: 'other', raw: undefined },
    usage: UNKNOWN_USAGE,
    warnings: [],
    response: {},
  };
  #ended = false;

  constructor(reader: ReadableStreamDefaultReader<Part>, watch: StreamWatch) {
    this.#reader = reader;
    this.#watch = watch;
    // a model that does not heed the signal is not waited for
    this.#stop = () => void reader.cancel(watch.signal.reason).catch(() => {});
    watch.signal.addEventListener('abort', this.#stop, { once: true });
  }

  async pull(controller: ReadableStreamDefaultController<Part>): Promise<void> {
    for (;;) {
      const next = await this.#read();
      if (this.#ended) return;
      if ('how' in next) return this.#end(controller, next.how, null);
      const { part } = next;
      if (part.type === 'finish') return this.#finish(controller, part);
      if (part.type === 'error') return this.#end(controller, { type: 'broke', error: part.error }, null);
      this.#take(part);
      if (this.#contentChars > MAX_CONTENT_CHARS) {
        return this.#end(
          controller,
          { type: 'broke', error: new Error('the answer is too long to be kept') },
          null,
        );
      }
      if (part.type === 'raw' && !this.#watch.wantsRaw) continue;
      return controller.enqueue(part);
    }
  }

  async drop(reason: unknown): Promise<void> {
    if (this.#ended) return;
    this.#ended = true;
    this.#close();
    await this.#reader.cancel(reason).catch(() => {});
    await this.#watch.onEnd(this.#taken({ type: 'dropped' }));
  }

  async #read(): Promise<{ part: Part } | { how: Taken['how'] }> {
    try {
      const next = await this.#reader.read();
      return next.done ? { how: { type: 'cut' } } : { part: next.value };
    } catch (error) {
      return { how: { type: 'broke', error } };
    }
  }

  #take(part: Part): void {
    if (part.type === 'raw') this.#keepRaw(part.rawValue);
    else if (part.type === 'stream-start') this.#answer.warnings = part.warnings;
    else if (part.type === 'response-metadata') {
      const { type: _, ...metadata } = part;
      this.#answer.response = { ...this.#answer.response, ...metadata };
    } else this.#content.take(part);
    if ('delta' in part) this.#contentChars += part.delta.length;
    if (part.type === 'text-delta') this.#watch.onText(part.delta);
  }

  #keepRaw(chunk: unknown): void {
    this.#refused ||= isRefusalChunk(chunk);
    this.#rawChars += JSON.stringify(chunk)?.length ?? 0;
    if (this.#rawChars > MAX_RAW_CHARS) this.#raw = null;
    this.#raw?.push(chunk);
  }

  #finish(controller: ReadableStreamDefaultController<Part>, part: Part & { type: 'finish' }): Promise<void> {
    const { finishReason, usage, providerMetadata } = part;
    const metadata = providerMetadata === undefined ? {} : { providerMetadata };
    this.#answer = { ...this.#answer, finishReason, usage, ...metadata };
    return this.#end(controller, { type: 'finished' }, part);
  }

  async #end(
    controller: ReadableStreamDefaultController<Part>,
    how: Taken['how'],
    last: Part | null,
  ): Promise<void> {
    this.#ended = true;
    this.#close();
    if (last === null) void this.#reader.cancel().catch(() => {});
    else void this.#drain();
    const failed = await this.#watch.onEnd(this.#taken(how));
    if (failed !== null) controller.enqueue({ type: 'error', error: failed.error });
    else if (last !== null) controller.enqueue(last);
    controller.close();
  }

  #taken(how: Taken['how']): Taken {
    return {
      how,
      answer: { ...this.#answer, content: this.#content.whole() },
      raw: this.#raw,
      refused: this.#refused,
    };
  }

  #close(): void {
    this.#watch.signal.removeEventListener('abort', this.#stop);
  }

  /** To its very end, so that its connection can be used again. */
  async #drain(): Promise<void> {
    while ('part' in (await this.#read()));
  }
}

type Item = Answer['content'][number];

/** The parts of a stream, put together to the content of one answer. */
class Content {
  readonly #items: Item[] = [];
  readonly #open = new Map<string, Item & { type: 'text' | 'reasoning' }>();

  take(part: Part): void {
    // oxlint-disable-next-line switch-exhaustiveness-check -- the others are no content
    switch (part.type) {
      case 'text-start':
      case 'reasoning-start': {
        const type = part.type === 'text-start' ? 'text' : 'reasoning';
        const item = { type, text: '', ...metadataOf(part) } as const;
        this.#items.push(item);
        return void this.#open.set(`${type} ${part.id}`, item);
      }
      case 'text-delta':
      case 'text-end':
        return this.#add(`text ${part.id}`, part);
      case 'reasoning-delta':
      case 'reasoning-end':
        return this.#add(`reasoning ${part.id}`, part);
      case 'tool-call':
      case 'tool-result':
      case 'tool-approval-request':
      case 'file':
      case 'source':
        return void this.#items.push(part);
      default:
    }
  }

  whole(): Item[] {
    return this.#items;
  }

  #add(key: string, part: Part): void {
    const item = this.#open.get(key);
    if (item === undefined) return;
    if ('delta' in part) item.text += part.delta;
    Object.assign(item, metadataOf(part));
  }
}

function metadataOf(part: Part): { providerMetadata?: NonNullable<Answer['providerMetadata']> } {
  return 'providerMetadata' in part && part.providerMetadata !== undefined
    ? { providerMetadata: part.providerMetadata }
    : {};
}
