import { beforeAll, describe, expect, test } from 'vitest';
import { drawPdf } from '../../../test/invoices/paper.ts';
import { SAMPLES } from '../../../test/invoices/samples.ts';
import { extractText } from './extract.ts';
import { readInvoice } from './parse/fields.ts';

/** The text of each sample; all are pages of one document, so that one process reads them. */
const texts: string[] = [];

beforeAll(async () => {
  const { pdf, pages } = await drawPdf(SAMPLES.map((sample) => (paper) => sample.draw(paper)));
  const file = { bytes: pdf.length, read: async () => pdf };
  const read = await extractText(file, { signal: new AbortController().signal });
  const papers = read.split('\n\f\n');
  for (const count of pages) texts.push(papers.splice(0, count).join('\n\f\n'));
});

describe('the rules read a sample invoice', () => {
  test.for(SAMPLES.map((sample, index) => ({ ...sample, index })))('$name', ({ says, index }) => {
    const text = texts[index] as string;
    const { supplier, invoiceNumber, invoiceDate, total, currency } = readInvoice(text);
    expect(
      { supplier, number: invoiceNumber, date: invoiceDate, amount: total?.amount, currency },
      text,
    ).toEqual(says);
  });
});
