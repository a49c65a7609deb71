/** Which workflows a process knows, and what their `model` is. */
import { EXIT, Problem } from '../cli/problem.ts';
import { noModel } from '../engine/no-model.ts';
import { workflowTable } from '../engine/define.ts';
import type { WorkflowDefinition } from '../engine/workflow.ts';
import type { Model } from '../ports/model.ts';

export interface Known {
  workflows: WorkflowDefinition[];
  model: Model;
}

/** The user's workflows where there is a module of them; the built-in examples where there is none, or besides. */
export async function knownWorkflows(path: string | null, demo: boolean): Promise<Known> {
  const own = path === null ? [] : await ownWorkflows(path);
  if (path !== null && !demo) return { workflows: own, model: noModel };
  const { exampleWorkflows, ruleBasedModel } = await import('../examples/index.ts');
  const workflows: WorkflowDefinition[] = [...own, ...(exampleWorkflows as unknown as WorkflowDefinition[])];
  try {
    workflowTable(workflows);
  } catch (error) {
    throw new Problem(`With the built-in examples, ${(error as Error).message}.`, EXIT.usage, {
      cause: error,
    });
  }
  return { workflows, model: ruleBasedModel() };
}

/** The loader brings a compiler, which most commands have no use for. */
async function ownWorkflows(path: string): Promise<WorkflowDefinition[]> {
  const { loadWorkflows } = await import('./workflow-module.ts');
  return loadWorkflows(path);
}

/** For a command that accepts no jobs: it needs none. */
export const NO_WORKFLOWS: Known = { workflows: [], model: noModel };
