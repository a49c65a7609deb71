/** A stand-in for a language model that needs no network, no key and no money, and always says the same. */
import { InvalidRequestError } from '../../domain/thrown.ts';
import type { Model } from '../../ports/model.ts';
import { readInvoice } from './parse/fields.ts';
import type { InvoiceFields } from './parse/fields.ts';
import { documentIn } from './prompt.ts';

/** The `provider` of its answers. */
export const RULE_BASED = 'rule-based';

/**
 * Reads ordinary invoices in English, German, French and Dutch by fixed rules, and answers null for what they do
 * not find. It understands the prompts of `invoice_summary` and no others.
 */
export function ruleBasedModel(): Model {
  return {
    async generate({ prompt }, { signal }) {
      signal.throwIfAborted();
      const document = documentIn(prompt);
      if (document === null) {
        throw new InvalidRequestError(
          'The rule-based stand-in reads invoices only: give this workflow a language model.',
        );
      }
      return {
        text: JSON.stringify(answer(readInvoice(document))),
        finishReason: 'stop',
        provider: RULE_BASED,
        model: 'invoice-rules-1',
        usage: null,
      };
    },
  };
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
