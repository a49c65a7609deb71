/** Defining workflows, and the table of those that a process knows. */
import { createHash } from 'node:crypto';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { canonicalJson, jsonIssue } from '../domain/json.ts';
import type { JsonValue } from '../domain/json.ts';
import { ALLOWED_USD, nanoOf } from '../domain/dollars.ts';
import type { Lane } from '../ports/job-store.ts';
import type { WorkflowView } from './api.ts';
import type { WorkflowDefinition } from './workflow.ts';

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

/**
 * Checks a definition and gives it back, its types flowing from the schemas to `run`.
 * @throws TypeError that names the field that is wrong
 */
export function defineWorkflow<InputSchema extends StandardSchemaV1, OutputSchema extends StandardSchemaV1>(
  definition: WorkflowDefinition<InputSchema, OutputSchema>,
): WorkflowDefinition<InputSchema, OutputSchema> {
  const problem = definitionProblem(definition);
  if (problem !== null) throw new TypeError(`defineWorkflow: ${problem}`);
  return definition;
}

/** What is wrong with something that claims to be a workflow, or null. */
export function definitionProblem(definition: unknown): string | null {
  if (definition === null || typeof definition !== 'object') return 'a workflow is an object';
  const { name, version, input, output, inputFile, limits, spending, repair, isolation, run, ...unknown } =
    definition as Record<string, unknown>;
  if (typeof name !== 'string' || !NAME.test(name)) {
    return '`name` must be 1 to 100 letters, digits, ".", "_" or "-", starting with a letter or digit';
  }
  if (typeof version !== 'string' || !NAME.test(version)) {
    return `\`version\` of ${name} must be a string such as "1": 1 to 100 letters, digits, ".", "_" or "-"`;
  }
  if (!isSchema(input)) return `\`input\` of ${name} must be a Standard Schema (zod, valibot, arktype, ...)`;
  if (!isSchema(output))
    return `\`output\` of ${name} must be a Standard Schema (zod, valibot, arktype, ...)`;
  if (typeof run !== 'function') return `\`run\` of ${name} must be a function`;
  const [stray] = Object.keys(unknown);
  if (stray !== undefined) return `\`${stray}\` of ${name} is no field of a workflow; there are ${FIELDS}`;
  return choiceProblem(name, { inputFile, isolation }) ?? policyProblem(name, { limits, spending, repair });
}

const FIELDS = 'name, version, input, output, inputFile, limits, spending, repair, isolation and run';

const CHOICES: Readonly<Record<string, readonly string[]>> = {
  inputFile: ['none', 'optional', 'required'],
  isolation: ['none', 'process'],
};

function choiceProblem(name: string, chosen: Readonly<Record<string, unknown>>): string | null {
  for (const [field, choices] of Object.entries(CHOICES)) {
    const choice = chosen[field];
    if (choice === undefined || choices.some((known) => known === choice)) continue;
    return `\`${field}\` of ${name} must be ${choices.map((known) => `"${known}"`).join(', ')}`;
  }
  return null;
}

function policyProblem(name: string, { limits, spending, repair }: Record<string, unknown>): string | null {
  return (
    limitsProblem(name, limits ?? {}) ?? spendingProblem(name, spending ?? {}) ?? repairProblem(name, repair)
  );
}

function limitsProblem(name: string, limits: object): string | null {
  for (const [key, value] of Object.entries(limits)) {
    if (!['timeoutMs', 'maxAttempts', 'deadlineMs'].includes(key)) {
      return `\`limits.${key}\` of ${name} is unknown; there are timeoutMs, maxAttempts and deadlineMs`;
    }
    if (value !== undefined && (!Number.isSafeInteger(value) || value < 1)) {
      return `\`limits.${key}\` of ${name} must be a whole number of at least 1`;
    }
  }
  return null;
}

const SPENDING = ['perJobUsd', 'perDayUsd', 'perCallUsd'];

function spendingProblem(name: string, spending: object): string | null {
  for (const [key, value] of Object.entries(spending) as [string, unknown][]) {
    if (!SPENDING.includes(key))
      return `\`spending.${key}\` of ${name} is unknown; there are ${SPENDING.join(', ')}`;
    if (value === undefined || nanoOf(value) !== null) continue;
    return `\`spending.${key}\` of ${name} must be ${ALLOWED_USD}`;
  }
  return null;
}

function repairProblem(name: string, repair: unknown): string | null {
  if (repair === undefined) return null;
  const isOnce = typeof repair === 'object' && repair !== null && 'max' in repair && repair.max === 1;
  return isOnce ? null : `\`repair\` of ${name} must be { max: 1 }, where it is given`;
}

function isSchema(value: unknown): value is StandardSchemaV1 {
  if (value === null || (typeof value !== 'object' && typeof value !== 'function')) return false;
  const standard = (value as Partial<StandardSchemaV1>)['~standard'];
  return typeof standard?.validate === 'function';
}

export interface KnownWorkflow {
  definition: WorkflowDefinition;
  lane: Lane;
}

/** The workflows that one process knows, by name, version and output schema. */
export interface WorkflowTable {
  /** Of those that run in the worker itself. */
  lanes: Lane[];
  /** Of those that run in processes of their own. */
  isolatedLanes: Lane[];
  /** The version named, or the newest. */
  find(name: string, version?: string): KnownWorkflow | null;
  names(): string[];
  /** Of this workflow, the newest first; none where it is not known. */
  versions(name: string): string[];
  all(): KnownWorkflow[];
}

/** @throws TypeError where one is no workflow, or two have the same name and version */
export function workflowTable(definitions: readonly WorkflowDefinition[]): WorkflowTable {
  const known = new Map<string, KnownWorkflow[]>();
  for (const definition of definitions) {
    const problem = definitionProblem(definition);
    if (problem !== null) throw new TypeError(problem);
    const versions = known.get(definition.name) ?? [];
    if (versions.some((other) => other.definition.version === definition.version)) {
      throw new TypeError(`two workflows are named ${definition.name} version ${definition.version}`);
    }
    versions.push({ definition, lane: laneOf(definition) });
    versions.sort((a, b) => byVersion(b.definition.version, a.definition.version));
    known.set(definition.name, versions);
  }
  const all = [...known.values()].flat();
  const lanesOf = (workflows: KnownWorkflow[]) => workflows.map(({ lane }) => lane);
  return {
    lanes: lanesOf(all.filter(({ definition }) => definition.isolation !== 'process')),
    isolatedLanes: lanesOf(all.filter(({ definition }) => definition.isolation === 'process')),
    find: (name, version) =>
      known.get(name)?.find((workflow) => version === undefined || workflow.definition.version === version) ??
      null,
    names: () => [...known.keys()],
    versions: (name) => (known.get(name) ?? []).map(({ definition }) => definition.version),
    all: () => all,
  };
}

/** The table as callers see it. */
export function workflowViews(table: WorkflowTable): WorkflowView[] {
  return table.all().map(({ definition: { name, version, input, inputFile = 'none' } }) => {
    const schema = jsonSchema(input, 'input');
    return { name, version, inputFile, inputJsonSchema: typeof schema === 'object' ? schema : null };
  });
}

function byVersion(a: string, b: string): number {
  return a.localeCompare(b, 'en', { numeric: true });
}

function laneOf(definition: WorkflowDefinition): Lane {
  return {
    workflow: definition.name,
    version: definition.version,
    outputSchemaSha256: createHash('sha256').update(schemaText(definition)).digest('hex'),
  };
}

/**
 * The output schema as text: its JSON Schema where its library gives one (Standard JSON Schema), else the name of the
 * workflow, its version and the library.
 */
function schemaText({ name, version, output }: WorkflowDefinition): string {
  const schema = jsonSchema(output, 'output');
  return schema === null ? `${name}@${version} (${output['~standard'].vendor})` : canonicalJson(schema);
}

interface JsonSchemaProps {
  jsonSchema?: Partial<Record<'input' | 'output', (options: { target: string }) => unknown>>;
}

/** What a schema takes, or gives, as JSON Schema; null where its library or JSON Schema cannot say it. */
function jsonSchema(schema: StandardSchemaV1, side: 'input' | 'output'): JsonValue {
  try {
    const convert = (schema['~standard'] as JsonSchemaProps).jsonSchema?.[side];
    const json = convert?.({ target: 'draft-2020-12' });
    return json === undefined || jsonIssue(json) !== null ? null : (json as JsonValue);
  } catch {
    return null; // a schema that JSON Schema cannot express
  }
}
