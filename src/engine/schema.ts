/** Validation by any Standard Schema, with issues as JSON Pointers. */
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { pointer } from '../domain/json.ts';
import type { ValidationIssue } from '../domain/record.ts';
import { boundedIssues } from '../domain/thrown.ts';

export type Validated = { issues: null; value: unknown } | { issues: ValidationIssue[] };

/**
 * Resolves at once, without a promise, where the schema does.
 * @throws what the schema itself throws (a defect of the schema)
 */
export function validate(
  schema: StandardSchemaV1,
  value: unknown,
  root = '',
): Validated | Promise<Validated> {
  const result = schema['~standard'].validate(value);
  return 'then' in result ? Promise.resolve(result).then((late) => read(late, root)) : read(result, root);
}

function read(result: StandardSchemaV1.Result<unknown>, root: string): Validated {
  if (result.issues === undefined) return { issues: null, value: result.value };
  const issues = result.issues.map((issue) => ({ path: pathOf(issue, root), message: issue.message }));
  return { issues: boundedIssues(issues) };
}

function pathOf(issue: StandardSchemaV1.Issue, root: string): string {
  return (issue.path ?? []).reduce<string>((path, segment) => {
    const key = typeof segment === 'object' ? segment.key : segment;
    return pointer(path, typeof key === 'symbol' ? key.toString() : key);
  }, root);
}
