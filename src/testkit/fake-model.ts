/**
 * A model that needs no provider and is the same every time. A mode says what it does at each call; a script says it
 * call by call and comes first. It keeps every request, so that a test can count calls exactly.
 */
import { RetryableError } from '../domain/thrown.ts';
import type { Model, ModelRequest, ModelResponse } from '../ports/model.ts';

export type FakeReply =
  /** Answers with `text`: the fake's own, where none is given. */
  | { mode: 'success'; text?: string }
  /** Answers after `ms`, or rejects with the signal's reason as soon as that fires. */
  | { mode: 'slow'; ms: number; text?: string }
  /** Answers with text that is no JSON: the fake's own, where none is given. */
  | { mode: 'malformed'; text?: string }
  /** Throws `RetryableError` at each call. */
  | { mode: 'always_fail'; retryAfterMs?: number }
  /** Throws `RetryableError` at the first `failTimes` calls, then answers. */
  | { mode: 'flaky'; failTimes: number; text?: string };

export interface FakeModel extends Model {
  /** The requests of all calls, oldest first, those that failed included. */
  readonly requests: readonly ModelRequest[];
  /** What the calls that no script answers get from now on. `flaky` counts from here. */
  use(reply: FakeReply): void;
}

const SUCCESS_TEXT = '{"summary":"A summary made by the fake model."}';
const MALFORMED_TEXT = 'not json {{';

/**
 * @param reply what every call gets
 * @param script what the first calls get instead, in order
 */
export function fakeModel(
  reply: FakeReply = { mode: 'success' },
  script: readonly FakeReply[] = [],
): FakeModel {
  const requests: ModelRequest[] = [];
  const queue = [...script];
  let lasting = reply;
  let failed = 0;

  function fails(current: FakeReply): boolean {
    if (current.mode !== 'flaky') return current.mode === 'always_fail';
    failed += 1;
    return failed <= current.failTimes;
  }

  return {
    requests,
    use(next) {
      lasting = next;
      failed = 0;
    },
    async generate(request, { signal }) {
      requests.push(request);
      const current = queue.shift() ?? lasting;
      signal.throwIfAborted();
      if (current.mode === 'slow') await pause(current.ms, signal);
      if (fails(current)) {
        const after = current.mode === 'always_fail' ? current.retryAfterMs : undefined;
        throw new RetryableError(
          'The fake model is unavailable.',
          after === undefined ? {} : { retryAfterMs: after },
        );
      }
      return responseOf(current, request);
    },
  };
}

function responseOf(reply: FakeReply, request: ModelRequest): ModelResponse {
  const own = reply.mode === 'malformed' ? MALFORMED_TEXT : SUCCESS_TEXT;
  const text = ('text' in reply ? reply.text : undefined) ?? own;
  const prompt = `${request.system ?? ''}${request.prompt}`;
  return {
    text,
    finishReason: 'stop',
    provider: 'fake',
    model: reply.mode,
    usage: { inputTokens: tokens(prompt), outputTokens: tokens(text) },
  };
}

/** Four characters a token: no tokenizer, and always the same. */
function tokens(text: string): number {
  return Math.ceil(text.length / 4);
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const aborted = () => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', aborted);
      resolve();
    }, ms);
    signal.addEventListener('abort', aborted, { once: true });
  });
}
