/**
 * A language model of the AI SDK's that needs no provider and is the same every time. A mode says what it does at each call; a
 * script says it call by call and comes first. It keeps every request, so that a test can count calls exactly. Its provider is
 * `fake`, which costs nothing.
 */
import { RetryableError } from '../domain/thrown.ts';
import type { LanguageModel } from '../ports/models.ts';

/** What a call was asked, as the SDK hands it to a provider. */
export type FakeRequest = Parameters<LanguageModel['doGenerate']>[0];

/** The same at each call, or made from the text of the prompt's last message. */
export type FakeText = string | ((prompt: string) => string);

export type FakeReply =
  /** Answers with `text`: the fake's own, where none is given. */
  | { mode: 'success'; text?: FakeText }
  /** Answers after `ms`, or rejects with the signal's reason as soon as that fires. */
  | { mode: 'slow'; ms: number; text?: FakeText }
  /** Answers with text that is no JSON: the fake's own, where none is given. */
  | { mode: 'malformed'; text?: FakeText }
  /** Throws `RetryableError` at each call. */
  | { mode: 'always_fail'; retryAfterMs?: number }
  /** Throws `RetryableError` at the first `failTimes` calls, then answers. */
  | { mode: 'flaky'; failTimes: number; text?: FakeText };

export interface FakeModel extends LanguageModel {
  /** The requests of all calls, oldest first, those that failed included. */
  readonly requests: readonly FakeRequest[];
  /** What the calls that no script answers get from now on. `flaky` counts from here. */
  use(reply: FakeReply): void;
}

type Result = Awaited<ReturnType<LanguageModel['doGenerate']>>;
type Streamed = Awaited<ReturnType<LanguageModel['doStream']>>;

const SUCCESS_TEXT = '{"summary":"A summary made by the fake model."}';
const MALFORMED_TEXT = 'not json {{';
const MODEL = 'fake-1';

/**
 * @param reply what every call gets
 * @param script what the first calls get instead, in order
 */
export function fakeModel(
  reply: FakeReply = { mode: 'success' },
  script: readonly FakeReply[] = [],
): FakeModel {
  const requests: FakeRequest[] = [];
  const queue = [...script];
  let lasting = reply;
  let failed = 0;

  function fails(current: FakeReply): boolean {
    if (current.mode !== 'flaky') return current.mode === 'always_fail';
    failed += 1;
    return failed <= current.failTimes;
  }

  async function answer(request: FakeRequest): Promise<Result> {
    requests.push(request);
    const current = queue.shift() ?? lasting;
    const { abortSignal } = request;
    abortSignal?.throwIfAborted();
    if (current.mode === 'slow') await pause(current.ms, abortSignal);
    if (fails(current)) {
      const after = current.mode === 'always_fail' ? current.retryAfterMs : undefined;
      throw new RetryableError(
        'The fake model is unavailable.',
        after === undefined ? {} : { retryAfterMs: after },
      );
    }
    return resultOf(current, request);
  }

  return {
    specificationVersion: 'v3',
    provider: 'fake',
    modelId: MODEL,
    supportedUrls: {},
    requests,
    use(next) {
      lasting = next;
      failed = 0;
    },
    doGenerate: answer,
    doStream: async (request) => streamed(await answer(request)),
  };
}

function resultOf(reply: FakeReply, { prompt }: FakeRequest): Result {
  const own = reply.mode === 'malformed' ? MALFORMED_TEXT : SUCCESS_TEXT;
  const given = 'text' in reply ? reply.text : undefined;
  const text = typeof given === 'function' ? given(textOf(prompt.slice(-1))) : (given ?? own);
  const input = tokens(textOf(prompt));
  const output = tokens(text);
  return {
    content: [{ type: 'text', text }],
    finishReason: { unified: 'stop', raw: 'stop' },
    usage: {
      inputTokens: { total: input, noCache: input, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: output, text: output, reasoning: 0 },
    },
    warnings: [],
    response: { modelId: MODEL },
  };
}

/** The same answer word by word. */
function streamed({ content, finishReason, usage }: Result): Streamed {
  const [part] = content;
  const words = part?.type === 'text' ? (part.text.match(/\S*\s*/g) ?? []).filter((word) => word !== '') : [];
  return {
    stream: new ReadableStream({
      start(controller) {
        controller.enqueue({ type: 'stream-start', warnings: [] });
        controller.enqueue({ type: 'response-metadata', modelId: MODEL });
        controller.enqueue({ type: 'text-start', id: '0' });
        for (const delta of words) controller.enqueue({ type: 'text-delta', id: '0', delta });
        controller.enqueue({ type: 'text-end', id: '0' });
        controller.enqueue({ type: 'finish', finishReason, usage });
        controller.close();
      },
    }),
  };
}

function textOf(messages: FakeRequest['prompt']): string {
  return messages
    .flatMap(({ content }) =>
      typeof content === 'string'
        ? [content]
        : content.map((part) => (part.type === 'text' ? part.text : '')),
    )
    .join('');
}

/** Four characters a token: no tokenizer, and always the same. */
function tokens(text: string): number {
  return Math.ceil(text.length / 4);
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const aborted = () => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', aborted);
      resolve();
    }, ms);
    signal?.addEventListener('abort', aborted, { once: true });
  });
}
