/** An answer comes back from where it is stored as it was put there. */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { answerOf, storedOf } from './stored.ts';
import type { Answer } from './stored.ts';

const NAMES = ['$bytes', '$instant', '$$bytes', '$$$instant', 'bytes', '$other', 'a', '__proto__'];

const { value: anything } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.string(),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.uint8Array({ maxLength: 8 }),
    fc.date({ noInvalidDate: true }),
    fc.array(tie('value'), { maxLength: 3 }),
    fc
      .array(fc.tuple(fc.constantFrom(...NAMES), tie('value')), { maxLength: 3 })
      .map((entries) => Object.fromEntries(entries)),
  ),
}));

function again(content: unknown[]): unknown {
  const stored = storedOf({ content } as unknown as Answer, null);
  return answerOf(JSON.parse(JSON.stringify(stored)) as typeof stored).content;
}

test('whatever a provider says is given again as it came', () => {
  fc.assert(
    fc.property(fc.array(anything, { maxLength: 3 }), (content) => {
      expect(again(content)).toEqual(content);
    }),
    { numRuns: 500 },
  );
});

test('keys that look like our marks are the provider’s own', () => {
  const content = [{ $bytes: 'aGk=' }, { $instant: 7 }, { $$bytes: 'x' }, { $bytes: 'x', more: 1 }];
  expect(again(content)).toEqual(content);
});
