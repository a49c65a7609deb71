/** Defining workflows, and the table of those that a process knows. */
import { createHash } from 'node:crypto';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { didYouMean } from '../domain/did-you-mean.ts';
import { ALLOWED_USD, nanoOf } from '../domain/dollars.ts';
import { canonicalJson, jsonIssue } from '../domain/json.ts';
import type { JsonValue } from '../domain/json.ts';
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
  return (
    strayProblem(name, unknown) ??
    choiceProblem(name, { inputFile, isolation }) ??
    limitsProblem(name, limits ?? {}) ??
    spendingProblem(name, spending) ??
    repairProblem(name, repair)
  );
}

const FIELDS = [
  'name',
  'version',
  'input',
  'output',
  'inputFile',
  'limits',
  'spending',
  'repair',
  'isolation',
  'run',
] as const;

function strayProblem(name: string, unknown: object): string | null {
  const [stray] = Object.keys(unknown);
  return stray === undefined
    ? null
    : `\`${stray}\` of ${name} is no field of a workflow; ${knownNames(stray, FIELDS)}`;
}

/** The one that was meant, or all that there are. */
function knownNames(stray: string, names: readonly string[]): string {
  const near = didYouMean(stray, names);
  if (near !== null) return `did you mean ${near}?`;
  return `there are ${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}

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

const LIMITS = ['timeoutMs', 'maxAttempts', 'deadlineMs'] as const;

function limitsProblem(name: string, limits: object): string | null {
  for (const [key, value] of Object.entries(limits)) {
    if (!LIMITS.some((known) => known === key)) {
      return `\`limits.${key}\` of ${name} is unknown; ${knownNames(key, LIMITS)}`;
    }
    if (value !== undefined && (!Number.isSafeInteger(value) || value < 1)) {
      return `\`limits.${key}\` of ${name} must be a whole number of at least 1`;
    }
  }
  return null;
}

const SPENDING = ['perJobUsd', 'perDayUsd', 'perCallUsd'] as const;

function spendingProblem(name: string, spending: unknown): string | null {
  if (spending === undefined) return null;
  if (spending === null || typeof spending !== 'object') {
    return `\`spending\` of ${name} must be an object such as { perJobUsd: 0.25 }`;
  }
  for (const [key, value] of Object.entries(spending)) {
    if (!SPENDING.some((known) => known === key)) {
      return `\`spending.${key}\` of ${name} is unknown; ${knownNames(key, SPENDING)}`;
    }
    if (value !== undefined && nanoOf(value) === null) {
      return `\`spending.${key}\` of ${name} must be ${ALLOWED_USD}`;
    }
  }
  return null;
}

function repairProblem(name: string, repair: unknown): string | null {
  if (repair === undefined) return null;
  const isOnce =
    typeof repair === 'object' && repair !== null && 'max' in repair && Object.keys(repair).length === 1;
  return isOnce && repair.max === 1
    ? null
    : `\`repair\` of ${name} must be { max: 1 }: one answer is mended once`;
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
    find(name, version) {
      for (const workflow of known.get(name) ?? [])
        if (version === undefined || workflow.definition.version === version) return workflow;
      return null;
    },
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
