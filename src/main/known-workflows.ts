/** Which workflows a process knows, and what their `model` is. */
import { resolve } from 'node:path';
import { EXIT, Problem } from '../cli/problem.ts';
import { workflowTable } from '../engine/define.ts';
import type { Reconcile } from '../engine/doubts.ts';
import type { WorkflowDefinition } from '../engine/workflow.ts';
import type { LanguageModel } from '../ports/models.ts';
import type { WorkflowSource } from './isolation.ts';
import type { Loaded } from './workflow-module.ts';

export interface Known {
  workflows: WorkflowDefinition[];
  model: LanguageModel | null;
  /** Says what calls cost of which nobody knows it; null where nobody can. */
  reconcile: Reconcile | null;
  /** Where another process finds the same. */
  source: WorkflowSource;
}

/** The user's workflows where there is a module of them; the built-in examples where there is none, or besides. */
export async function knownWorkflows(path: string | null, demo: boolean): Promise<Known> {
  const own = path === null ? { workflows: [], model: null, reconcile: null } : await ownWorkflows(path);
  const { reconcile } = own;
  const source = { module: path === null ? null : resolve(path), demo };
  if (path !== null && !demo) return { workflows: own.workflows, model: own.model, reconcile, source };
  const { exampleWorkflows, ruleBasedModel } = await import('../examples/index.ts');
  const workflows: WorkflowDefinition[] = [...own.workflows, ...exampleWorkflows];
  try {
    workflowTable(workflows);
  } catch (error) {
    throw new Problem(`With the built-in examples, ${(error as Error).message}.`, EXIT.usage, {
      cause: error,
    });
  }
  return { workflows, model: own.model ?? ruleBasedModel(), reconcile, source };
}

/** The loader brings a compiler, which most commands have no use for. */
async function ownWorkflows(path: string): Promise<Loaded> {
  const { loadWorkflows } = await import('./workflow-module.ts');
  return loadWorkflows(path);
}

/** For a command that accepts no jobs: it needs none. */
export const NO_WORKFLOWS: Known = {
  workflows: [],
  model: null,
  reconcile: null,
  source: { module: null, demo: false },
};
