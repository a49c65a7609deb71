/**
 * A module of workflows, as an app keeps them. Serve it as it is:
 *
 *   CLAIMCHECK_WORKFLOWS=examples/workflows.ts npx claimcheck serve
 */
import { generateText, Output } from 'ai';
import { defineWorkflow, InvalidInputError } from 'claimcheck';
import { z } from 'zod';

const verdict = z.strictObject({
  team: z.enum(['billing', 'shipping', 'other']),
  urgency: z.enum(['low', 'normal', 'high']),
});

/** What `model()` is in the workflows below when the module is served. */
export { keywordModel as model } from './keyword-model.ts';

/** Asks the model to which team a customer's message goes. */
export const triage = defineWorkflow({
  name: 'triage',
  version: '1',
  input: z.strictObject({ message: z.string().min(1).max(10_000) }),
  output: verdict,
  limits: { timeoutMs: 30_000, maxAttempts: 4 },
  async run({ input, model }) {
    const { output } = await generateText({
      model: model(),
      output: Output.object({ schema: verdict }),
      system: 'Which team does the message of a customer go to, and how urgent is it?',
      prompt: input.message,
    });
    return output;
  },
});

/** Counts the words of a text file, and keeps the whole list as an artifact of its own. */
export const wordCount = defineWorkflow({
  name: 'word_count',
  version: '1',
  inputFile: 'required',
  input: z.strictObject({ top: z.int().min(1).max(100).default(3) }).default({ top: 3 }),
  output: z.strictObject({ words: z.int(), most_frequent: z.array(z.string()) }),
  async run({ input, file, signal, progress, saveArtifact }) {
    const text = (await file?.text()) ?? '';
    const counts = new Map<string, number>();
    const words = text.toLowerCase().match(/\p{L}+/gu);
    if (!words) throw new InvalidInputError('The file holds no words: send a text file.');
    for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
    signal.throwIfAborted();
    progress(0.5, 'counted');
    const ranked = [...counts].toSorted(([, one], [, other]) => other - one);
    await saveArtifact('words.csv', ranked.map((row) => row.join(',')).join('\n'), 'text/csv');
    return { words: words.length, most_frequent: ranked.slice(0, input.top).map(([word]) => word) };
  },
});
