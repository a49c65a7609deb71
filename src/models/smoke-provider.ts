/** The AI SDK's model for the pins of a smoke check. Its library is loaded here, when it is needed. */
import type { SmokePins } from '../domain/smoke/pins.ts';
import type { LanguageModel } from '../ports/models.ts';

export interface SmokeProvider {
  /** `@ai-sdk/openai@3.0.141` */
  sdk: string;
  model(send: typeof fetch): LanguageModel;
}

/** @param apiKey null where the server takes none */
export async function loadProvider(pins: SmokePins, apiKey: string | null): Promise<SmokeProvider> {
  const { baseUrl: baseURL, model, api } = pins;
  // Said even where it is empty: the libraries would look for a key in variables of their own choice.
  const key = { apiKey: apiKey ?? '' };
  switch (pins.provider) {
    case 'openai': {
      const { createOpenAI, VERSION } = await import('@ai-sdk/openai');
      return {
        sdk: `@ai-sdk/openai@${VERSION}`,
        model(send) {
          const provider = createOpenAI({ baseURL, ...key, fetch: send });
          return api === 'responses' ? provider.responses(model) : provider.chat(model);
        },
      };
    }
    case 'anthropic': {
      const { createAnthropic, VERSION } = await import('@ai-sdk/anthropic');
      return {
        sdk: `@ai-sdk/anthropic@${VERSION}`,
        model: (send) => createAnthropic({ baseURL, ...key, fetch: send })(model),
      };
    }
    case 'openai-compatible': {
      const { createOpenAICompatible, VERSION } = await import('@ai-sdk/openai-compatible');
      const settings = { name: 'openai-compatible', baseURL, supportsStructuredOutputs: true };
      const own = apiKey === null ? {} : key;
      return {
        sdk: `@ai-sdk/openai-compatible@${VERSION}`,
        model: (send) =>
          createOpenAICompatible({ ...settings, ...own, includeUsage: true, fetch: send }).chatModel(model),
      };
    }
  }
}
