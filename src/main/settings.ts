/**
 * Settings as the operator gave them: flags first, then the environment, then the defaults of the table.
 * Everything is checked once, here; nothing else reads `process.env`.
 */
import { EXIT, Problem } from '../cli/problem.ts';
import { nanoOf } from '../domain/dollars.ts';
import type { EngineSettings } from '../engine/settings.ts';
import { didYouMean } from '../domain/did-you-mean.ts';
import { isKeyText } from './key-text.ts';
import { readPrices } from './prices.ts';
import { SETTINGS, allowedOf, crashOf, flagOf, variableOf } from './setting-table.ts';
import type { Setting, SettingKey } from './setting-table.ts';

type ValueOf<Declared extends Setting> = Declared['kind'] extends 'integer'
  ? number
  : Declared['kind'] extends 'amount'
    ? number | null
    : Declared extends { choices: readonly (infer Choice)[] }
      ? Choice
      : Declared['default'] extends null
        ? string | null
        : string;

export type Settings = { -readonly [Key in SettingKey]: ValueOf<(typeof SETTINGS)[Key]> };

/** Flags as a command line gave them, by the setting's key. */
export type FlagValues = Partial<Record<SettingKey, string | undefined>>;

type Environment = Readonly<Record<string, string | undefined>>;

/** @throws Problem naming the variable or flag, its value and what is allowed */
export function readSettings(flags: FlagValues = {}, env: Environment = process.env): Settings {
  for (const warning of unknownSettings(env)) process.emitWarning(warning);
  const entries = Object.entries(SETTINGS).map(([key, setting]) => {
    const flag = flags[key as SettingKey];
    const name = flag === undefined ? variableOf(key) : flagOf(key);
    const value = valueOf(setting, name, flag ?? env[variableOf(key)]);
    if (value !== null && setting.group === 'faults') refuseInProduction(name, env);
    return [key, value];
  });
  return Object.fromEntries(entries) as Settings;
}

function refuseInProduction(name: string, env: Environment): void {
  if (env['NODE_ENV'] !== 'production') return;
  throw new Problem(
    `${name} is for tests of faults and is refused where NODE_ENV is production; unset it.`,
    EXIT.usage,
  );
}

/**
 * The part of the settings that the engine works by.
 * @throws Problem where the price file cannot be read, or a price in it is wrong
 */
export function engineSettings(settings: Settings): EngineSettings {
  const { maxTimeoutMs, maxAttempts, maxDeadlineMs, backoffBaseMs, backoffCapMs } = settings;
  return {
    leaseMs: settings.leaseMs,
    concurrency: settings.concurrency,
    graceMs: settings.graceMs,
    shutdownMs: settings.shutdownMs,
    isolationProcesses: settings.isolationProcesses,
    isolationMemoryBytes: settings.isolationMemoryBytes,
    maxInputBytes: settings.maxInputBytes,
    maxUploadBytes: settings.maxUploadBytes,
    maxOutputBytes: settings.maxOutputBytes,
    inlineBytes: settings.inlineBytes,
    idempotencyMs: settings.idempotencyMs,
    caps: { timeoutMs: maxTimeoutMs, maxAttempts, deadlineMs: maxDeadlineMs },
    backoff: { baseMs: backoffBaseMs, capMs: backoffCapMs },
    prices: readPrices(settings.prices),
    dayLimit: nanoOf(settings.dayLimitUsd),
    jobSpendingCap: nanoOf(settings.jobSpendingCapUsd),
    evidenceRetentionMs: daysMs(settings.evidenceRetentionDays),
  };
}

function daysMs(days: number): number | null {
  return days === 0 ? null : days * 24 * 3_600_000;
}

/** A misspelt variable would be a setting that silently does nothing; one that somebody else owns is no reason to stop. */
export function unknownSettings(env: Environment): string[] {
  const known = Object.keys(SETTINGS).map(variableOf);
  const unknown = Object.keys(env).filter((name) => name.startsWith('CLAIMCHECK_') && !known.includes(name));
  return unknown.map((name) => {
    const near = didYouMean(name, known);
    const meant = near === null ? '' : `; did you mean ${near}?`;
    return `${name} is no setting of Claimcheck${meant}${orchestrator(name)}`;
  });
}

/** Kubernetes describes a service named `claimcheck` in variables of its own to every pod beside it. */
function orchestrator(name: string, value = ''): string {
  const injected = /^CLAIMCHECK_(SERVICE_|PORT_\d+_)/.test(name) || value.startsWith('tcp://');
  return injected ? ' (Kubernetes sets it for a service of this name: set enableServiceLinks: false.)' : '';
}

/** An empty variable counts as unset, as container files often have it. */
function valueOf(setting: Setting, name: string, text: string | undefined): string | number | null {
  if (text === undefined || text.trim() === '') return setting.default;
  const value = parse(setting, setting.kind === 'secret' ? text : text.trim());
  if (value !== undefined) return value;
  if (setting.kind === 'reserved') {
    throw new Problem(`${name} is set, but this version has only local files; unset it.`, EXIT.usage);
  }
  const shown = mayHoldSecret(setting, text) ? 'wrong' : JSON.stringify(text);
  throw new Problem(
    `${name} is ${shown}; it takes ${allowedOf(setting)}.${orchestrator(name, text)}`,
    EXIT.usage,
  );
}

/** Undefined where the text is not what the setting takes. */
function parse(setting: Setting, text: string): string | number | undefined {
  switch (setting.kind) {
    case 'integer':
      return integer(setting, text);
    case 'amount':
      return amount(text);
    case 'choice':
      return setting.choices.find((choice) => choice === text);
    case 'url':
    case 'database':
    case 'point':
      return FITS[setting.kind](text) ? text : undefined;
    case 'secret':
      return isKeyText(text, setting.minLength) ? text : undefined;
    case 'reserved':
      return undefined;
    case 'text':
    case 'path':
    case 'file':
      return text;
  }
}

function integer({ min, max }: { min: number; max: number }, text: string): number | undefined {
  const number = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  return number >= min && number <= max ? number : undefined;
}

/** In dollars, as it was written. */
function amount(text: string): number | undefined {
  const usd = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  return nanoOf(usd) === null ? undefined : usd;
}

const FITS = {
  // An API's address is shown in errors, and paths are appended to it.
  url: (text: string) => hasProtocol(text, /^https?:$/) && !HAS_EXTRAS.test(text),
  database: (text: string) => hasProtocol(text, /^postgres(ql)?:$/),
  point: (text: string) => crashOf(text) !== null,
} as const;

/** What comes before a host's `@`, or after `?` and `#`. */
const HAS_EXTRAS = /[@?#]/;

function hasProtocol(text: string, protocol: RegExp): boolean {
  return URL.canParse(text) && protocol.test(new URL(text).protocol);
}

/** Whether a sentence about a wrong value has to do without it. */
function mayHoldSecret({ kind }: Setting, text: string): boolean {
  return kind === 'secret' || kind === 'database' || (kind === 'url' && HAS_EXTRAS.test(text));
}

/** What a worker's process inherits: everything but the keys, which a workflow has no use for. */
export function workerEnvironment(env: Environment = process.env): Record<string, string> {
  return without(env, ['secret']);
}

/** What an isolated process inherits: it opens no store, either. */
export function isolatedEnvironment(env: Environment = process.env): Record<string, string> {
  return without(env, ['secret', 'database']);
}

function without(env: Environment, kinds: readonly Setting['kind'][]): Record<string, string> {
  const left = Object.entries<Setting>(SETTINGS).filter(([, setting]) => kinds.includes(setting.kind));
  const names = new Set(left.map(([key]) => variableOf(key)));
  const kept = Object.entries(env).flatMap(([name, value]) =>
    value === undefined || names.has(name) ? [] : [[name, value] as const],
  );
  return Object.fromEntries(kept);
}
