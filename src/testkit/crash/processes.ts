/** The processes that fault runs start, kill and pause: an API alone and a worker alone, with a short lease. */
import { createService } from './service.ts';
import type { Service } from './service.ts';

export interface ProcessOptions {
  /** The script that runs `claimcheck`. */
  bin: string;
  dataDir: string;
  /** An admin key. */
  key: string;
  /** The environment of the process; settings of Claimcheck in it are left out. */
  env: Record<string, string | undefined>;
  /** More settings, as flags: `{ 'database-url': 'postgres://...' }`. */
  settings?: Readonly<Record<string, string | number>>;
  /** Told of an end that nobody asked for. */
  onProblem: (problem: string) => void;
}

export const LEASE_MS = 1000;
export const GRACE_MS = 500;

export function apiService(options: ProcessOptions): Service {
  return createService({
    ...shared(options),
    name: 'api',
    command: [options.bin, 'serve', '--no-worker', '--demo', '--port', '0', ...flags(options)],
    up: /listens on (http:\S+)/,
  });
}

export function workerService(options: ProcessOptions): Service {
  return createService({
    ...shared(options),
    name: 'worker',
    command: [options.bin, 'work', '--demo', ...flags(options)],
    up: /A worker runs/,
  });
}

function shared({ env, key, onProblem }: ProcessOptions) {
  const others = Object.entries(env).filter(([name]) => !name.startsWith('CLAIMCHECK_'));
  return { env: { ...Object.fromEntries(others), CLAIMCHECK_BOOTSTRAP_KEY: key }, onProblem };
}

function flags({ dataDir, settings = {} }: ProcessOptions): string[] {
  const all = {
    'data-dir': dataDir,
    'lease-ms': LEASE_MS,
    'grace-ms': GRACE_MS,
    'backoff-base-ms': 20,
    'backoff-cap-ms': 200,
    'log-level': 'error',
    ...settings,
  };
  return Object.entries(all).flatMap(([name, value]) => [`--${name}`, String(value)]);
}
