/** A complete file for `smoke` to start from. */
export const SMOKE_EXAMPLE = {
  name: 'invoice-total',
  provider: 'openai',
  api: 'responses',
  api_key_env: 'OPENAI_API_KEY',
  model: 'gpt-5-mini-2025-08-07',
  prompt: {
    system: 'You read invoices. Answer with what they say, and nothing else.',
    user: 'Invoice 2026-117 of Example Ltd., to mail@example.com: two chairs at 40.00 EUR each, total 80.00 EUR. What is the total?',
  },
  schema: {
    type: 'object',
    properties: {
      total: { type: 'number' },
      currency: { type: 'string', enum: ['EUR', 'USD', 'GBP'] },
    },
    required: ['total', 'currency'],
    additionalProperties: false,
  },
  stream: false,
  max_output_tokens: 2000,
  redact: [{ regex: '[\\w.+-]+@[\\w-]+(\\.[\\w-]+)+' }, { pointer: '/output/iban' }],
  timeout_ms: 60_000,
  spending_limit_usd: 0.05,
  usd_per_million: { input: 0.25, cached_input: 0.025, output: 2 },
  calls: 2,
};
