/** What an invoice says, by fixed rules: the same text always gives the same answer. */
import { mainCurrency, toMoney } from './currencies.ts';
import type { Money } from './currencies.ts';
import { dateOrder } from './dates.ts';
import { findIssued } from './issued.ts';
import { readLines } from './lines.ts';
import { findNumber } from './number.ts';
import { findSupplier } from './supplier.ts';
import { findTotal } from './total.ts';

/** Null for what the rules do not find: nothing is guessed. */
export interface InvoiceFields {
  supplier: string | null;
  invoiceNumber: string | null;
  /** ISO 8601, as in `2026-03-14`. */
  invoiceDate: string | null;
  currency: string | null;
  total: Money | null;
}

export function readInvoice(text: string): InvoiceFields {
  const lines = readLines(text);
  const total = findTotal(lines);
  const currency = total?.currency ?? mainCurrency(text);
  return {
    supplier: findSupplier(lines),
    invoiceNumber: findNumber(lines),
    invoiceDate: findIssued(lines, dateOrder(text, currency)),
    currency,
    total: total && currency ? toMoney(total.number, currency) : null,
  };
}
