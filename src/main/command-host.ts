/** What the commands need of this process: servers, stores and desks, opened by the settings. */
import { createHttpDesk } from '../cli/http-desk.ts';
import { EXIT, Problem } from '../cli/problem.ts';
import { createLocalDesk } from '../cli/local-desk.ts';
import type { Desk, WorkflowJson } from '../cli/desk.ts';
import type { DeskOptions, Flags, Host, Io, SettingFlag } from '../cli/host.ts';
import { workflowTable, workflowViews } from '../engine/define.ts';
import { schemaVersion } from '../stores/sqlite/migrate.ts';
import { LOCAL_CALLER } from './caller.ts';
import { NO_WORKFLOWS, knownWorkflows } from './known-workflows.ts';
import { databaseOf, openStore, outstandingSql, requireStore } from './open-store.ts';
import { GROUPS, SETTINGS, flagOf } from './setting-table.ts';
import type { Setting } from './setting-table.ts';
import { readSettings } from './settings.ts';
import { createTelemetry } from './telemetry.ts';
import { VERSION } from './version.ts';

const SILENT = createTelemetry({ level: 'silent', process: 'cli' });

/** @param command what a reader types to call this program */
export function commandHost(io: Io, command: string): Host {
  return {
    version: VERSION,
    command,
    io,
    settingFlags: settingFlags(),
    // Loaded where they are run: a server's parts would triple the time of every other command.
    serve: async (flags, options) => (await import('./serve.ts')).serve(flags, options, io, command),
    work: async (flags, options) => (await import('./work.ts')).work(flags, options, io),
    demo: () => demo(io),
    migrate,
    migrationSql,
    workflows,
    openDesk,
  };
}

function settingFlags(): SettingFlag[] {
  return Object.entries<Setting>(SETTINGS).map(([key, setting]) => ({
    key,
    flags: `${flagOf(key)} <${placeholder(setting)}>`,
    doc: helpOf(setting),
    group: setting.group,
    groupTitle: GROUPS[setting.group].title,
  }));
}

function placeholder(setting: Setting): string {
  if (setting.kind === 'integer') return setting.unit === '' ? 'n' : setting.unit;
  if (setting.kind === 'amount') return 'usd';
  if (setting.kind === 'choice') return setting.choices.join('|');
  return setting.kind === 'path' ? 'dir' : setting.kind;
}

function helpOf({ doc, default: standard }: Setting): string {
  return standard === null ? doc : `${doc} (default: ${standard})`;
}

async function demo(io: Io): Promise<boolean> {
  const { runDemo } = await import('./demo.ts');
  const { passed } = await runDemo({ write: (line: string) => io.out(`${line}\n`) });
  return passed;
}

/** Opening the store is what migrates it. */
async function migrate(flags: Flags): Promise<{ description: string; version: number }> {
  const settings = readSettings(flags);
  const parts = await openStore(settings, NO_WORKFLOWS, SILENT);
  const { description } = parts.store;
  await parts.close();
  if (databaseOf(settings) === null) return { description, version: schemaVersion() };
  const postgres = await import('../stores/postgres/migrate.ts');
  return { description, version: postgres.schemaVersion() };
}

async function migrationSql(flags: Flags): Promise<string> {
  const database = databaseOf(readSettings(flags));
  if (database !== null) return outstandingSql(database);
  throw new Problem('--dry-run is for a database: set CLAIMCHECK_DATABASE_URL.', EXIT.usage);
}

/** No store is opened for it: the list is the same without. */
async function workflows(flags: Flags, { demo: withExamples }: { demo: boolean }): Promise<WorkflowJson[]> {
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

async function openDesk(flags: Flags, options: DeskOptions): Promise<Desk> {
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
