/** What the commands need of the process they run in; `src/main` hands it to them. */
import type { Readable } from 'node:stream';
import type { JsonValue } from '../domain/json.ts';
import type { ValidationIssue } from '../domain/record.ts';
import type { SmokeReport } from '../domain/smoke/report.ts';
import type { Desk, WorkflowJson } from './desk.ts';

/** Where a command writes, and what it may assume about the reader. */
export interface Io {
  out(text: string): void;
  err(text: string): void;
  /** Writes bytes to stdout as they are; resolves when they have been taken. */
  bytes(body: Readable): Promise<void>;
  stdin(): Promise<Buffer>;
  /** Whether stdout is a terminal that redraws lines. */
  isTerminal: boolean;
  /** Whether stdout takes colours. */
  hasColour: boolean;
  /** Width of the terminal; infinite where there is none. */
  columns: number;
}

export type Flags = Record<string, string | undefined>;

/** A setting as a flag of a command line. */
export interface SettingFlag {
  /** As `Flags` names it: `leaseMs`. */
  key: string;
  /** `--lease-ms <ms>` */
  flags: string;
  doc: string;
  group: string;
  groupTitle: string;
}

export interface Host {
  version: string;
  /** What a reader types to call this program: the commands that are shown start with it. */
  command: string;
  io: Io;
  settingFlags: readonly SettingFlag[];
  /** Runs until it is told to stop, and resolves with the exit code. */
  serve(flags: Flags, options: { worker: boolean; demo: boolean }): Promise<number>;
  work(flags: Flags, options: { demo: boolean }): Promise<number>;
  /** Whether all six cases passed. */
  demo(): Promise<boolean>;
  migrate(flags: Flags): Promise<{ description: string; version: number }>;
  /** The SQL that `migrate` would run; empty where the store is up to date. */
  migrationSql(flags: Flags): Promise<string>;
  /** What can be asked for: at the API where its address is given, else with the workflows of this process. */
  workflows(flags: Flags, options: { demo: boolean }): Promise<WorkflowJson[]>;
  /**
   * The API where its address is given, else the store in the data directory.
   * @throws Problem where neither can be used
   */
  openDesk(flags: Flags, options: DeskOptions): Promise<Desk>;
  /** Checks what a file pins for a smoke check; nothing is called. */
  openSmoke(file: JsonValue): Promise<SmokeOpened>;
}

export type SmokeOpened =
  | { ok: false; issues: readonly ValidationIssue[] }
  | {
      ok: true;
      name: string;
      calls: number;
      /** Makes the calls; `onCall` gets the report as it stands after each. */
      run(onCall: (report: SmokeReport) => Promise<void>): Promise<SmokeReport>;
    };

export interface DeskOptions {
  /** Whether the command makes the store where there is none; reading one would only hide a wrong directory. */
  makesStore: boolean;
  /** Whether the command accepts jobs, so that a store opened here must know their workflows. */
  needsWorkflows: boolean;
  /** Adds the built-in examples to the user's own workflows. */
  demo: boolean;
}
