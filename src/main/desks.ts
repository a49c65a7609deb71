/** What most commands work at, opened by the settings: a server's API, or the store in the data directory. */
import { createHttpDesk } from '../cli/http-desk.ts';
import { createLocalDesk } from '../cli/local-desk.ts';
import { EXIT, Problem } from '../cli/problem.ts';
import type { Desk, WorkflowJson } from '../cli/desk.ts';
import type { DeskOptions, Flags } from '../cli/host.ts';
import { workflowTable, workflowViews } from '../engine/define.ts';
import { LOCAL_CALLER } from './caller.ts';
import { NO_WORKFLOWS, knownWorkflows } from './known-workflows.ts';
import { databaseOf, openStore, outstandingSql, requireStore } from './open-store.ts';
import { readSettings } from './settings.ts';
import { SILENT } from './silent.ts';

/** Opening the store is what migrates it. */
export async function migrate(flags: Flags): Promise<{ description: string; version: number }> {
  const settings = readSettings(flags);
  const parts = await openStore(settings, NO_WORKFLOWS, SILENT);
  const { description } = parts.store;
  await parts.close();
  const { schemaVersion } =
    databaseOf(settings) === null
      ? await import('../stores/sqlite/migrate.ts')
      : await import('../stores/postgres/migrate.ts');
  return { description, version: schemaVersion() };
}

export async function migrationSql(flags: Flags): Promise<string> {
  const database = databaseOf(readSettings(flags));
  if (database !== null) return outstandingSql(database);
  throw new Problem('--dry-run is for a database: set CLAIMCHECK_DATABASE_URL.', EXIT.usage);
}

/** No store is opened for it: the list is the same without. */
export async function workflows(
  flags: Flags,
  { demo: withExamples }: { demo: boolean },
): Promise<WorkflowJson[]> {
  const { url, apiKey, workflows: path } = readSettings(flags);
  if (url !== null) return createHttpDesk({ url, apiKey }).workflows();
  const known = await knownWorkflows(path, withExamples);
  return workflowViews(workflowTable(known.workflows)).map(
    ({ name, version, inputFile, inputJsonSchema }) => ({
      name,
      version,
      input_file: inputFile,
      input_schema: inputJsonSchema,
    }),
  );
}

export async function openDesk(flags: Flags, options: DeskOptions): Promise<Desk> {
  const settings = readSettings(flags);
  const { url, apiKey } = settings;
  if (url !== null) return createHttpDesk({ url, apiKey });
  if (!options.makesStore) await requireStore(settings);
  const known = options.needsWorkflows
    ? await knownWorkflows(settings.workflows, options.demo)
    : NO_WORKFLOWS;
  const parts = await openStore(settings, known, SILENT);
  return createLocalDesk({ engine: parts.engine, caller: LOCAL_CALLER, close: () => parts.close() });
}
