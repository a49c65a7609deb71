/** A stand-in for a language model that needs no network, no key and no money, and always says the same. */
import { InvalidRequestError } from '../../domain/thrown.ts';
import type { LanguageModel } from '../../ports/models.ts';
import { readInvoice } from './parse/fields.ts';
import type { InvoiceFields } from './parse/fields.ts';
import { documentIn } from './prompt.ts';

/** As its answers are signed. */
export const RULE_BASED = 'rule-based';
/** What it does is free, as all that the provider `fake` does. */
export const STAND_IN = `fake.${RULE_BASED}`;

const MODEL = 'invoice-rules-1';
const NOTHING = { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0, text: 0, reasoning: 0 };

/**
 * Reads ordinary invoices in English, German, French and Dutch by fixed rules, and answers null for what they do
 * not find. It understands the prompts of `invoice_summary` and no others.
 */
export function ruleBasedModel(): LanguageModel {
  return {
    specificationVersion: 'v3',
    provider: STAND_IN,
    modelId: MODEL,
    supportedUrls: {},
    async doGenerate({ prompt, abortSignal }) {
      abortSignal?.throwIfAborted();
      const asked = prompt.at(-1)?.content[0];
      const document = typeof asked === 'object' && asked.type === 'text' ? documentIn(asked.text) : null;
      if (document === null) throw readsInvoicesOnly();
      return {
        content: [{ type: 'text', text: JSON.stringify(answer(readInvoice(document))) }],
        finishReason: { unified: 'stop', raw: 'stop' },
        usage: { inputTokens: NOTHING, outputTokens: NOTHING },
        warnings: [],
        response: { modelId: MODEL },
      };
    },
    doStream: () => Promise.reject(readsInvoicesOnly()),
  };
}

function readsInvoicesOnly(): Error {
  return new InvalidRequestError(
    'The rule-based stand-in reads invoices only, and all at once: give this workflow a language model.',
  );
}

function answer(fields: InvoiceFields) {
  return {
    supplier: fields.supplier,
    invoice_number: fields.invoiceNumber,
    invoice_date: fields.invoiceDate,
    currency: fields.currency,
    total: fields.total,
    summary: summarize(fields),
  };
}

function summarize({ supplier, invoiceNumber, invoiceDate, total }: InvoiceFields): string {
  const amount = total ? `${total.currency} ${total.amount}` : 'an unknown amount';
  const number = invoiceNumber ? ` ${invoiceNumber}` : '';
  const date = invoiceDate ? ` of ${invoiceDate}` : '';
  return `Invoice${number}${date} from ${supplier ?? 'an unknown supplier'} over ${amount}.`;
}
