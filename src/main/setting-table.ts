/**
 * Every setting, declared once: its kind and range, its default and what it means. The environment, the flags
 * of the commands, their `--help` and docs/settings.md are all made from this table.
 */
import { ALLOWED_USD } from '../domain/dollars.ts';
import { CRASH_POINTS } from '../engine/crash-points.ts';
import type { CrashPoint } from '../engine/crash-points.ts';
import { DEFAULT_SETTINGS as ENGINE } from '../engine/settings.ts';

/** Which commands take a setting: see `GROUPS`. */
export type SettingGroup = 'api' | 'store' | 'worker' | 'limits' | 'money' | 'log' | 'faults' | 'client';

interface Declared<Kind extends string, Default> {
  kind: Kind;
  default: Default;
  group: SettingGroup;
  /** One line for the help and the documentation. */
  doc: string;
}

interface IntegerSetting extends Declared<'integer', number> {
  min: number;
  max: number;
  unit: 'ms' | 'bytes' | '';
}

interface ChoiceSetting<Choice extends string = string> extends Declared<'choice', Choice> {
  choices: readonly Choice[];
}

interface SecretSetting extends Declared<'secret', null> {
  minLength: number;
}

export type Setting =
  | IntegerSetting
  | ChoiceSetting
  | SecretSetting
  /** Dollars. */
  | Declared<'amount', null>
  | Declared<'text', string>
  | Declared<'path', string>
  | Declared<'file', null>
  | Declared<'url', null>
  | Declared<'database', null>
  /** A crash point, and after a colon at which time. */
  | Declared<'point', null>
  /** A name that is kept for a later version: setting it is an error that says so. */
  | Declared<'reserved', null>;

const DAY_MS = 24 * 3_600_000;
const GB = 1024 ** 3;

export const SETTINGS = {
  host: {
    kind: 'text',
    default: '127.0.0.1',
    group: 'api',
    doc: 'Address the API listens on. Beyond loopback it needs CLAIMCHECK_BOOTSTRAP_KEY, or a key made before.',
  },
  port: {
    kind: 'integer',
    default: 8484,
    min: 0,
    max: 65_535,
    unit: '',
    group: 'api',
    doc: 'Port the API listens on; 0 takes a free one.',
  },
  bootstrapKey: {
    kind: 'secret',
    default: null,
    minLength: 32,
    group: 'api',
    doc: 'An admin key accepted as given, at least 32 characters (containers, tests). Without it, the first start makes one and prints it.',
  },
  maxBodyBytes: {
    kind: 'integer',
    default: 1024 ** 2,
    min: 1024,
    max: GB,
    unit: 'bytes',
    group: 'api',
    doc: 'Largest JSON body of a request.',
  },

  dataDir: {
    kind: 'path',
    default: '.claimcheck',
    group: 'store',
    doc: 'Directory of the embedded store and of local artifacts and uploads.',
  },
  databaseUrl: {
    kind: 'database',
    default: null,
    group: 'store',
    doc: 'PostgreSQL database that holds the store. Without it, the store is embedded in the data directory.',
  },
  schema: {
    kind: 'text',
    default: 'claimcheck',
    group: 'store',
    doc: 'Schema of the store in that database; made where it is missing.',
  },
  blobsUrl: {
    kind: 'reserved',
    default: null,
    group: 'store',
    doc: 'Reserved: this version keeps artifacts and uploads only in the data directory, so it must be unset.',
  },
  workflows: {
    kind: 'file',
    default: null,
    group: 'store',
    doc: 'A TypeScript or JavaScript module that exports workflows. Without it, the built-in examples.',
  },

  leaseMs: {
    kind: 'integer',
    default: ENGINE.leaseMs,
    min: 100,
    max: 3_600_000,
    unit: 'ms',
    group: 'worker',
    doc: 'How long a silent worker keeps its jobs; swept at half that.',
  },
  concurrency: {
    kind: 'integer',
    default: ENGINE.concurrency,
    min: 1,
    max: 10_000,
    unit: '',
    group: 'worker',
    doc: 'Attempts in flight in one worker.',
  },
  graceMs: {
    kind: 'integer',
    default: ENGINE.graceMs,
    min: 0,
    max: 600_000,
    unit: 'ms',
    group: 'worker',
    doc: 'How long an attempt may go on after its signal before it is settled without it.',
  },
  shutdownMs: {
    kind: 'integer',
    default: ENGINE.shutdownMs,
    min: 0,
    max: 3_600_000,
    unit: 'ms',
    group: 'worker',
    doc: 'How long a stopping worker lets its attempts go on before it releases them.',
  },
  isolationProcesses: {
    kind: 'integer',
    default: ENGINE.isolationProcesses,
    min: 1,
    max: 1_000,
    unit: '',
    group: 'worker',
    doc: "Processes in which one worker runs workflows with isolation: 'process', and so their attempts in flight.",
  },
  isolationMemoryBytes: {
    kind: 'integer',
    default: ENGINE.isolationMemoryBytes,
    min: 256 * 1024 ** 2,
    max: 1024 * GB,
    unit: 'bytes',
    group: 'worker',
    doc: 'Memory that such a process may take, about 100 MB of it for itself, before it is ended.',
  },

  maxInputBytes: {
    kind: 'integer',
    default: ENGINE.maxInputBytes,
    min: 2,
    max: GB,
    unit: 'bytes',
    group: 'limits',
    doc: 'Largest inline input of a job, as JSON.',
  },
  maxUploadBytes: {
    kind: 'integer',
    default: ENGINE.maxUploadBytes,
    min: 1,
    max: 1024 * GB,
    unit: 'bytes',
    group: 'limits',
    doc: 'Largest uploaded file.',
  },
  maxOutputBytes: {
    kind: 'integer',
    default: ENGINE.maxOutputBytes,
    min: 2,
    max: GB,
    unit: 'bytes',
    group: 'limits',
    doc: 'Largest output, or named artifact, of a job.',
  },
  inlineBytes: {
    kind: 'integer',
    default: ENGINE.inlineBytes,
    min: 0,
    max: 1024 ** 2,
    unit: 'bytes',
    group: 'limits',
    doc: 'Artifacts and evidence up to this size are kept in the store itself, larger ones as files.',
  },
  maxTimeoutMs: {
    kind: 'integer',
    default: ENGINE.caps.timeoutMs,
    min: 1,
    max: 7 * DAY_MS,
    unit: 'ms',
    group: 'limits',
    doc: 'The most that any job may have as timeout_ms.',
  },
  maxAttempts: {
    kind: 'integer',
    default: ENGINE.caps.maxAttempts,
    min: 1,
    max: 10_000,
    unit: '',
    group: 'limits',
    doc: 'The most that any job may have as max_attempts.',
  },
  maxDeadlineMs: {
    kind: 'integer',
    default: ENGINE.caps.deadlineMs,
    min: 1,
    max: 3_650 * DAY_MS,
    unit: 'ms',
    group: 'limits',
    doc: 'The most that any job may have as deadline_ms.',
  },
  backoffBaseMs: {
    kind: 'integer',
    default: ENGINE.backoff.baseMs,
    min: 0,
    max: 3_600_000,
    unit: 'ms',
    group: 'limits',
    doc: 'Upper bound of the delay before the first retry; it doubles with every failure (full jitter).',
  },
  backoffCapMs: {
    kind: 'integer',
    default: ENGINE.backoff.capMs,
    min: 0,
    max: DAY_MS,
    unit: 'ms',
    group: 'limits',
    doc: 'Where the doubling ends.',
  },
  idempotencyMs: {
    kind: 'integer',
    default: ENGINE.idempotencyMs,
    min: 0,
    max: 365 * DAY_MS,
    unit: 'ms',
    group: 'limits',
    doc: 'How long an idempotency key is kept after its job, or the last job of its batch, ended.',
  },

  evidenceRetentionDays: {
    kind: 'integer',
    default: 0,
    min: 0,
    max: 36_500,
    unit: '',
    group: 'limits',
    doc: 'Days after the end of a job after which the raw responses of its calls to models, and what else explains those attempts, are erased; 0 keeps them.',
  },

  prices: {
    kind: 'file',
    default: null,
    group: 'money',
    doc: 'JSON file with what models cost; read at the start. A call to a model without a price is not made, unless its workflow says what a call may cost.',
  },
  dayLimitUsd: {
    kind: 'amount',
    default: null,
    group: 'money',
    doc: 'What all calls to models may cost together in one day (UTC); a limit that a person sets replaces it.',
  },
  jobSpendingCapUsd: {
    kind: 'amount',
    default: null,
    group: 'money',
    doc: 'The most that any request may have as spending_usd.',
  },

  logLevel: {
    kind: 'choice',
    default: 'info',
    choices: ['debug', 'info', 'warn', 'error', 'silent'],
    group: 'log',
    doc: 'Least severe log line that is written. At info there is one line a transition.',
  },

  crashPoint: {
    kind: 'point',
    default: null,
    group: 'faults',
    doc: 'Where the process ends itself by SIGKILL, the first time or the one that is named; a worker of `serve` counts for itself.',
  },
  attemptLog: {
    kind: 'file',
    default: null,
    group: 'faults',
    doc: 'File to which a worker appends what it claimed and what it was told at the end of each attempt, before it acts on it.',
  },

  url: {
    kind: 'url',
    default: null,
    group: 'client',
    doc: 'API that the command line talks to. Without it, the commands open the data directory themselves.',
  },
  apiKey: {
    kind: 'secret',
    default: null,
    minLength: 1,
    group: 'client',
    doc: 'API key that the command line sends.',
  },
} as const satisfies Record<string, Setting>;

export type SettingKey = keyof typeof SETTINGS;

/** The commands that take a group's flags, in words. */
export const GROUPS: Readonly<Record<SettingGroup, { title: string; commands: string }>> = {
  api: { title: 'The API', commands: '`serve`' },
  store: { title: 'The store and the workflows', commands: 'every command but `demo`' },
  worker: { title: 'The worker', commands: '`serve`, `work`' },
  limits: {
    title: 'Limits',
    commands: '`serve`, `work`',
  },
  money: { title: 'Money', commands: '`serve`, `work`' },
  log: { title: 'Logs', commands: '`serve`, `work`' },
  faults: { title: 'Tests of faults', commands: '`serve`, `work`' },
  client: { title: 'The command line as a client', commands: 'every command but `serve`, `work`, `demo`' },
};

/** `leaseMs` is CLAIMCHECK_LEASE_MS in the environment. */
export function variableOf(key: string): string {
  return `CLAIMCHECK_${words(key).join('_').toUpperCase()}`;
}

/** `leaseMs` is --lease-ms on a command line. */
export function flagOf(key: string): string {
  return `--${words(key).join('-')}`;
}

function words(key: string): string[] {
  return key.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).split(' ');
}

/** Null where the text names no crash point. */
export function crashOf(text: string): { point: CrashPoint; times: number } | null {
  const [, name = '', times = '1'] = /^([^:]*)(?::([1-9]\d{0,8}))?$/.exec(text) ?? [];
  return Object.hasOwn(CRASH_POINTS, name) ? { point: name as CrashPoint, times: Number(times) } : null;
}

/** What a setting takes, as a phrase: `a whole number from 1 to 10000`. */
export function allowedOf(setting: Setting): string {
  switch (setting.kind) {
    case 'integer': {
      const unit = setting.unit === '' ? '' : ` (${setting.unit === 'ms' ? 'milliseconds' : setting.unit})`;
      return `a whole number from ${setting.min} to ${setting.max}${unit}`;
    }
    case 'choice':
      return `one of ${setting.choices.join(', ')}`;
    case 'url':
      return 'an http:// or https:// address without a user, a query or a fragment';
    case 'database':
      return 'a postgres:// address';
    case 'point':
      return 'the name of a crash point, and `:3` behind it for the third time';
    case 'secret': {
      const length = setting.minLength > 1 ? `${setting.minLength} or more ` : '';
      return `${length}printable ASCII characters, none of them a blank at either end`;
    }
    case 'amount':
      return ALLOWED_USD;
    case 'text':
      return 'a text';
    case 'path':
      return 'a directory';
    case 'file':
      return 'a file';
    case 'reserved':
      return 'nothing in this version';
  }
}
