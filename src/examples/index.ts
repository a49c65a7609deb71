/** The built-in workflows, written as a user would write them. */
import type { WorkflowDefinition } from '../engine/workflow.ts';
import { demoWorkflow } from './demo.ts';
import { invoiceSummaryWorkflow } from './invoice/workflow.ts';

export { ruleBasedModel } from './invoice/rule-based.ts';
export { sampleInvoice } from './invoice/sample.ts';
export { demoWorkflow, invoiceSummaryWorkflow };

export const exampleWorkflows: readonly WorkflowDefinition[] = [invoiceSummaryWorkflow, demoWorkflow];
