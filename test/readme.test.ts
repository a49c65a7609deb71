/** The README's own code runs, as it stands there. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { loadWorkflows } from '../src/main/workflow-module.ts';
import type { LanguageModel, WorkflowDefinition } from '../src/index.ts';
import { sixCases } from '../src/testing.ts';
import { openTemp, tempDir } from './support/claimcheck.ts';

const README = readFileSync(new URL('../README.md', import.meta.url), 'utf8');

async function workflowsOfReadme(): Promise<{ workflow: WorkflowDefinition; model: LanguageModel }> {
  const source = /```ts\n(\/\/ workflows\.ts\n.*?)```/s.exec(README)?.[1];
  if (source === undefined) throw new Error('the README shows no workflows.ts');
  const file = join(await tempDir(), 'workflows.ts');
  writeFileSync(file, source);
  const { workflows, model } = await loadWorkflows(file);
  const [workflow] = workflows;
  if (workflow === undefined || model === null) throw new Error('the README exports no workflow or no model');
  return { workflow, model };
}

it('the workflow of the README runs with the model beside it', async () => {
  const { workflow, model } = await workflowsOfReadme();
  const claimcheck = await openTemp([workflow], { model });
  claimcheck.worker().start();
  const { job_id } = await claimcheck.enqueue('summarise', { text: 'A long story about a queue.' });
  expect(await claimcheck.wait(job_id)).toMatchObject({ status: 'completed' });
  const artifact = await claimcheck.artifact(job_id);
  expect(await json(artifact.stream())).toEqual({ summary: 'A long story about a queue.' });
});

it('and passes the six cases', async () => {
  const { workflow } = await workflowsOfReadme();
  const cases = sixCases({ workflow, input: { text: 'A long story.' }, validText: '{"summary":"Short."}' });
  expect(cases).toHaveLength(6);
  for (const one of cases) await one.run();
});
