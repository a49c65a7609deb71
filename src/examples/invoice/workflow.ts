/** From a PDF invoice to its supplier, number, date, total and one line of summary. */
import { z } from 'zod';
import { defineWorkflow } from '../../engine/define.ts';
import { answerSchema, parseAnswer } from './answer.ts';
import { extractText } from './extract.ts';
import { promptFor, SYSTEM } from './prompt.ts';
import { RULE_BASED, STAND_IN } from './rule-based.ts';

const outputSchema = answerSchema.extend({
  /** Who read the invoice, so that the artifact itself says how far to trust it. */
  produced_by: z.strictObject({ provider: z.string(), model: z.string(), note: z.string() }),
});

/** Room for every field at its longest. */
const MAX_OUTPUT_TOKENS = 1_000;

export const invoiceSummaryWorkflow = defineWorkflow({
  name: 'invoice_summary',
  version: '1',
  input: z.strictObject({}).optional(),
  output: outputSchema,
  inputFile: 'required',
  async run({ file, model, signal, log, progress }) {
    const { generateText, jsonSchema, Output } = await import('ai'); // dear to load: once the first invoice is there
    if (!file) throw new TypeError('invoice_summary was started without its file');
    const text = await extractText(file, { signal });
    log.info({ chars: text.length }, 'text extracted');
    progress(0.5, 'text extracted');
    const reader = model();
    const { text: answer, response } = await generateText({
      model: reader,
      system: SYSTEM,
      prompt: promptFor(text),
      // without a validator of its own: `parseAnswer` is stricter
      output: Output.object({
        schema: jsonSchema(z.toJSONSchema(answerSchema) as Parameters<typeof jsonSchema>[0]),
      }),
      maxOutputTokens: MAX_OUTPUT_TOKENS,
      abortSignal: signal,
    });
    return { ...parseAnswer(answer), produced_by: producedBy(reader.provider, response.modelId) };
  },
});

function producedBy(provider: string, model: string) {
  if (provider !== STAND_IN)
    return { provider, model, note: 'Read by a language model: check it against the invoice.' };
  const note = 'Read by fixed rules that stand in for a language model: check it against the invoice.';
  return { provider: RULE_BASED, model, note };
}
