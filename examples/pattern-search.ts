/**
 * A workflow that runs in a process of its own, since nothing else could stop it. Serve it as it is:
 *
 *   CLAIMCHECK_WORKFLOWS=examples/pattern-search.ts npx claimcheck serve
 */
import { defineWorkflow, InvalidInputError } from 'claimcheck';
import { z } from 'zod';

/** Finds a pattern of the caller's in a text. `(a+)+$` in a long row of a's and a b takes longer than anybody waits. */
export const patternSearch = defineWorkflow({
  name: 'pattern_search',
  version: '1',
  isolation: 'process',
  input: z.strictObject({ pattern: z.string().max(1_000), text: z.string().max(100_000) }),
  output: z.strictObject({ matches: z.array(z.string()) }),
  limits: { timeoutMs: 2_000, maxAttempts: 1 },
  run({ input }) {
    return { matches: input.text.match(compiled(input.pattern)) ?? [] };
  },
});

function compiled(pattern: string): RegExp {
  try {
    return new RegExp(pattern, 'gu');
  } catch {
    throw new InvalidInputError('The pattern is no regular expression.');
  }
}
