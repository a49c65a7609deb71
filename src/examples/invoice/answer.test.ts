import { expect, test } from 'vitest';
import { MalformedOutputError } from '../../domain/thrown.ts';
import { parseAnswer } from './answer.ts';

const GOOD = {
  supplier: 'Oak & Son Ltd',
  invoice_number: 'R-17',
  invoice_date: '2026-03-14',
  currency: 'EUR',
  total: { amount: '120.00', currency: 'EUR' },
  summary: 'Paint.',
};

function response(answer: unknown): string {
  return typeof answer === 'string' ? answer : JSON.stringify(answer);
}

function failure(answer: unknown): unknown {
  try {
    return parseAnswer(response(answer));
  } catch (error) {
    return error;
  }
}

test('an answer with every field is taken as it is', () => {
  expect(parseAnswer(response(GOOD))).toEqual(GOOD);
});

test.for<[string, unknown, string]>([
  ['prose around the JSON', `Here it is: ${JSON.stringify(GOOD)}`, ''],
  ['a code fence around it', `\`\`\`json\n${JSON.stringify(GOOD)}\n\`\`\``, ''],
  ['an amount that is a number', { ...GOOD, total: { amount: 120, currency: 'EUR' } }, '/total/amount'],
  ['an amount with a comma', { ...GOOD, total: { amount: '1,200.00', currency: 'EUR' } }, '/total/amount'],
  ['a day that is none', { ...GOOD, invoice_date: '2026-02-30' }, '/invoice_date'],
  ['a currency that is none', { ...GOOD, currency: 'EUX' }, '/currency'],
  ['a summary of two lines', { ...GOOD, summary: 'a\nb' }, '/summary'],
  ['a field more', { ...GOOD, note: 'x' }, ''],
  ['a list', [GOOD], ''],
])('%s is malformed output, the raw answer kept', ([, answer, path]) => {
  const error = failure(answer) as MalformedOutputError;
  expect(error).toBeInstanceOf(MalformedOutputError);
  expect(error.issues.map((issue) => issue.path)).toContain(path);
  expect(error.raw).toBe(typeof answer === 'string' ? answer : JSON.stringify(answer));
});
