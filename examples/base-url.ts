/** A provider with a base URL of your own: Ollama, vLLM, LM Studio, or a gateway. Nothing of it is ours. */
import { createOpenAI } from '@ai-sdk/openai';
import type { LanguageModel } from 'claimcheck';

/** @param baseURL such as `http://localhost:11434/v1` */
export function modelAt(baseURL: string, name: string, apiKey = 'none'): LanguageModel {
  return createOpenAI({ name: 'local', baseURL, apiKey }).chat(name);
}
