/** What a workflow needs of a language model. */
export interface ModelRequest {
  /** What the model is to do, apart from the data. */
  system?: string;
  prompt: string;
  /** JSON Schema of the answer, where a JSON answer is wanted. */
  jsonSchema?: object;
  maxOutputTokens?: number;
}

export interface ModelResponse {
  text: string;
  finishReason: 'stop' | 'length' | 'refused' | 'other';
  /** Who answered, e.g. `fake` / `success`. */
  provider: string;
  model: string;
  usage: { inputTokens: number; outputTokens: number } | null;
}

export interface Model {
  /** Makes exactly one call: retries belong to the queue. Rejects soon after `signal` fires. */
  generate(request: ModelRequest, options: { signal: AbortSignal }): Promise<ModelResponse>;
}
