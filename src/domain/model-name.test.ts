import { expect, test } from 'vitest';
import { isVersionOf, namesVersion } from './model-name.ts';

test.each([
  'gpt-5-2025-08-07',
  'claude-sonnet-4-5-20250929',
  'claude-sonnet-4-5@20250929',
  'gpt-4-0613',
  'mistral-large-2411',
  'gemini-1.5-pro-002',
  'ft:gpt-4o-mini-2024-07-18:team::id',
])('%s names a version', (model) => {
  expect(namesVersion(model)).toBe(true);
});

test.each([
  'gpt-5',
  'gpt-4.1-mini',
  'claude-sonnet-4-5',
  'gpt-3.5-turbo-16k',
  'mistral-large-latest',
  'chatgpt-4o-0513-latest',
  'o3',
  'llama3.2:3b',
  'Qwen/Qwen2.5-7B-Instruct',
])('%s is an alias', (model) => {
  expect(namesVersion(model)).toBe(false);
});

test('a version of an alias is the name and a version after it', () => {
  expect(isVersionOf('gpt-5-2025-08-07', 'gpt-5')).toBe(true);
  expect(isVersionOf('mistral-large-2411', 'mistral-large-latest')).toBe(true);
  expect(isVersionOf('o3', 'o3')).toBe(true);
  expect(isVersionOf('gpt-5-mini-2025-08-07', 'gpt-5')).toBe(false);
  expect(isVersionOf('gpt-5', 'gpt-5-2025-08-07')).toBe(false);
  expect(isVersionOf('gpt-50', 'gpt-5')).toBe(false);
});
