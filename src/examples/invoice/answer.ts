/** What the model has to answer, and the strict reading of what it did answer. */
import { z } from 'zod';
import { pointer } from '../../domain/json.ts';
import { MalformedOutputError } from '../../domain/thrown.ts';

const CURRENCIES = new Set(Intl.supportedValuesOf('currency'));

const currency = z
  .string()
  .regex(/^[A-Z]{3}$/, 'expected three capitals, as in EUR')
  .refine((code) => CURRENCIES.has(code), 'expected an ISO 4217 currency code');

/** Amounts are strings: a float cannot hold 0.10. */
export const answerSchema = z.strictObject({
  supplier: z.string().trim().min(1).max(200),
  invoice_number: z.string().trim().min(1).max(100),
  invoice_date: z.iso.date(),
  currency,
  total: z.strictObject({
    amount: z.string().regex(/^-?\d{1,15}(?:\.\d{1,4})?$/, 'expected decimal digits, as in "1234.50"'),
    currency,
  }),
  summary: z
    .string()
    .trim()
    .min(1)
    .max(500)
    .regex(/^[^\r\n]*$/, 'expected one line'),
});

/**
 * Strict: nothing around the JSON, nothing missing, nothing more.
 * @throws MalformedOutputError with the raw answer
 */
export function parseAnswer(text: string): z.infer<typeof answerSchema> {
  const checked = answerSchema.safeParse(parseJson(text));
  if (checked.success) return checked.data;
  const issues = checked.error.issues.map(({ path, message }) => ({
    path: path.reduce<string>((parent, key) => pointer(parent, String(key)), ''),
    message,
  }));
  throw new MalformedOutputError('The answer is not the summary that was asked for.', { raw: text, issues });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const issues = [{ path: '', message: 'expected JSON' }];
    throw new MalformedOutputError('The answer is not JSON.', { raw: text, issues, cause });
  }
}
