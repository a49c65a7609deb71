/** Opens the store for one of our own processes; whatever stands in the way becomes a sentence. */
import { randomUUID } from 'node:crypto';
import { accessSync, constants, existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileReason } from '../cli/file-reasons.ts';
import { EXIT, Problem } from '../cli/problem.ts';
import type { Telemetry } from '../ports/telemetry.ts';
import { ownCommand } from './command-name.ts';
import { faultHooks } from './fault-hooks.ts';
import { hostId } from './host.ts';
import { isolationMaker } from './isolation.ts';
import type { Known } from './known-workflows.ts';
import { openParts } from './open.ts';
import type { Database, Parts } from './open.ts';
import { engineSettings } from './settings.ts';
import type { Settings } from './settings.ts';

/** @throws Problem where the database or the data directory cannot be used */
export async function openStore(settings: Settings, known: Known, telemetry: Telemetry): Promise<Parts> {
  const dataDir = resolve(settings.dataDir);
  const { bootstrapKey } = settings;
  const database = databaseOf(settings);
  const { workflows, model, reconcile, source } = known;
  const own = engineSettings(settings);
  const isolation = { source, workflows, settings: own, log: telemetry.log };
  const makeIsolation = await isolationMaker(isolation);
  const options = {
    dataDir,
    database,
    workflows,
    model,
    reconcile,
    makeIsolation,
    telemetry,
    settings: own,
    bootstrapKey,
    faults: faultHooks(settings, telemetry.log),
  };
  try {
    const parts = await openParts(options);
    if (database === null) await refuseOtherMachines(parts);
    return parts;
  } catch (error) {
    throw openProblem(error, { dataDir, database });
  }
}

/** The store takes no session while one of another machine is alive, so opening one asks it. */
async function refuseOtherMachines(parts: Parts): Promise<void> {
  const { store, settings } = parts;
  const session = `ses_probe_${randomUUID()}`;
  try {
    await store.jobs.openSession({ session, worker: 'probe', host: hostId(), leaseMs: settings.leaseMs });
    await store.jobs.closeSession({ session });
  } catch (error) {
    await parts.close();
    throw error;
  }
}

/** @throws Problem where there is no store yet: a command that only reads would make an empty one in the wrong place */
export async function requireStore(settings: Settings): Promise<void> {
  const database = databaseOf(settings);
  if (database !== null) return requireSchema(database);
  const dataDir = resolve(settings.dataDir);
  try {
    accessSync(join(dataDir, 'claimcheck.db'), constants.R_OK);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT' && code !== 'ENOTDIR') throw unusable(dataDir, fileReason(error, 'read'), error);
    throw new Problem(
      `There is no store in ${dataDir}: name another directory with --data-dir, or a server with --url.`,
      EXIT.unavailable,
    );
  }
}

function unusable(dataDir: string, reason: string, cause: unknown): Problem {
  return new Problem(`The data directory ${dataDir} cannot be used: ${reason}.`, EXIT.unavailable, { cause });
}

async function requireSchema(database: Database): Promise<void> {
  if ((await outstandingSql(database)) === '') return;
  throw new Problem(
    `There is no store in the schema ${database.schema}, or an older one: name another schema with --schema, or run ` +
      `\`${ownCommand()} migrate\`.`,
    EXIT.unavailable,
  );
}

/** The SQL that would bring the database's schema up to this version; nothing where it is. */
export async function outstandingSql(database: Database): Promise<string> {
  const { outstandingMigrations } = await import('../stores/postgres/store.ts');
  return outstandingMigrations(database).catch((error: unknown) => {
    throw databaseProblem(error, database);
  });
}

export function databaseOf({ databaseUrl, schema }: Settings): Database | null {
  return databaseUrl === null ? null : { url: databaseUrl, schema };
}

function databaseProblem(error: unknown, { schema }: Database): Problem {
  const reason = `${(error as Error).message.replace(/\.$/, '')}${wayOut(error as Error, schema)}`;
  return new Problem(`The database cannot be used: ${reason}.`, EXIT.unavailable, { cause: error });
}

const PERMISSION_DENIED = '42501';

/** What whoever operates the database can do about it, as the end of a sentence. */
function wayOut(error: Error & { code?: unknown }, schema: string): string {
  if (error.name === 'MigrationDeniedError')
    return `; run \`${ownCommand()} migrate\` once with a role that may`;
  if (error.code !== PERMISSION_DENIED) return '';
  return `; grant this role USAGE on the schema ${schema}, SELECT, INSERT, UPDATE, DELETE on its tables and USAGE on its sequences`;
}

/** What stands in the way of opening a store, as a sentence. */
export function openProblem(error: unknown, at: { dataDir: string; database: Database | null }): Problem {
  if (error instanceof Problem) return error;
  return at.database === null
    ? storeProblem(error, resolve(at.dataDir))
    : databaseProblem(error, at.database);
}

function storeProblem(error: unknown, dataDir: string): Problem {
  // SQLite's own errors do not say why a file could not be opened.
  const denied = isUnwritable(dataDir) ? { code: 'EACCES', message: '' } : null;
  return unusable(
    dataDir,
    fileReason(isSystemError(error as Error) ? error : (denied ?? error), 'write'),
    error,
  );
}

function isSystemError({ code = '' }: NodeJS.ErrnoException): boolean {
  return /^E[A-Z]+$/.test(code);
}

function isUnwritable(dataDir: string): boolean {
  try {
    accessSync(dataDir, constants.W_OK);
    return false;
  } catch {
    return existsSync(dataDir);
  }
}
