import { readFile } from 'node:fs/promises';

/** A one-page PDF of an invoice in which everything is made up; drawn by scripts/make-sample-invoice.mjs. */
export async function sampleInvoice(): Promise<Uint8Array> {
  return await readFile(new URL('./sample-invoice.pdf', import.meta.url));
}
