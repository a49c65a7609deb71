/** The one question that a repair asks: what was wrong with the answer, in the validator's words. */
import type { ValidationIssue } from '../domain/record.ts';
import type { Answered } from './answers.ts';
import type { CallParams } from './opening.ts';
import { textOf } from './stored.ts';

const MAX_ISSUES = 20;

/** Null where the answer was no text: there is nothing to correct in it. */
export function mending({ params, answer }: Answered, issues: readonly ValidationIssue[]): CallParams | null {
  const text = textOf(answer);
  if (text === '') return null;
  const { abortSignal: _, includeRawChunks: __, ...asked } = params;
  return {
    ...asked,
    prompt: [
      ...params.prompt,
      { role: 'assistant', content: [{ type: 'text', text }] },
      { role: 'user', content: [{ type: 'text', text: question(issues) }] },
    ],
  };
}

function question(issues: readonly ValidationIssue[]): string {
  const lines = issues
    .slice(0, MAX_ISSUES)
    .map(({ path, message }) => `- ${path === '' ? 'the whole' : path}: ${message}`);
  return [
    'Your answer was checked and is not as it has to be:',
    ...(lines.length === 0 ? ['- it is not in the form that was asked for'] : lines),
    'Give the whole answer again, corrected, and nothing around it.',
  ].join('\n');
}
