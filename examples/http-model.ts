/**
 * A model behind an endpoint of the widespread chat-completions form, with plain `fetch`: one call, no retries of
 * its own, and for every way it can fail the error that says so to the queue.
 */
import { InvalidRequestError, RetryableError, SpendingLimitError } from 'claimcheck';
import type { Model, ModelResponse } from 'claimcheck';
import { z } from 'zod';

const reply = z.object({
  model: z.string(),
  choices: z.tuple([
    z.object({
      message: z.object({ content: z.string().nullable() }),
      finish_reason: z.string().nullable(),
    }),
  ]),
  usage: z.object({ prompt_tokens: z.int(), completion_tokens: z.int() }).nullish(),
});

export function httpModel(options: { url: string; key: string; model: string }): Model {
  return {
    async generate({ system, prompt, maxOutputTokens }, { signal }) {
      const messages = [
        ...(system ? [{ role: 'system', content: system }] : []),
        { role: 'user', content: prompt },
      ];
      // Network errors of the system (a reset, a refused connection) pass through: the queue knows that they are transient.
      const response = await fetch(options.url, {
        method: 'POST',
        headers: { authorization: `Bearer ${options.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: options.model, messages, max_completion_tokens: maxOutputTokens }),
        signal,
      });
      if (!response.ok) throw failureOf(response);
      const { model, choices, usage } = reply.parse(await response.json());
      return {
        text: choices[0].message.content ?? '',
        finishReason: FINISH[choices[0].finish_reason ?? ''] ?? 'other',
        provider: new URL(options.url).host,
        model,
        usage: usage ? { inputTokens: usage.prompt_tokens, outputTokens: usage.completion_tokens } : null,
      };
    },
  };
}

function failureOf({ status, headers }: Response): Error {
  if (status === 429 || status >= 500) {
    const seconds = Number(headers.get('retry-after'));
    return new RetryableError(
      `The provider answered ${status}.`,
      seconds > 0 ? { retryAfterMs: seconds * 1000 } : {},
    );
  }
  if (status === 402) return new SpendingLimitError('The account with the provider is out of credit.');
  return new InvalidRequestError(`The provider answered ${status}.`);
}

const FINISH: Record<string, ModelResponse['finishReason']> = {
  stop: 'stop',
  length: 'length',
  content_filter: 'refused',
};
