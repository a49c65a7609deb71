/** The processes that fault runs start, kill and pause: an API alone and a worker alone, with a short lease. */
import { createService } from './service.ts';
import type { Environment, Service, ServiceOptions } from './service.ts';

export interface ProcessOptions extends Pick<ServiceOptions, 'onProblem' | 'isExpected'> {
  /** The script that runs `claimcheck`. */
  bin: string;
  dataDir: string;
  /** An admin key. */
  key: string;
  /** The environment of the process; settings of Claimcheck in it are left out. */
  env: Environment;
  /** What each start adds to it. */
  envOfStart?: () => Environment;
  /** More settings, as flags: `{ 'database-url': 'postgres://...' }`. */
  settings?: Readonly<Record<string, string | number>>;
  /** For messages, where there are several of a kind: `worker 2`. */
  name?: string;
}

export const LEASE_MS = 1000;
export const GRACE_MS = 500;
const SHUTDOWN_MS = 500;

export function apiService(options: ProcessOptions): Service {
  return createService({
    ...shared(options),
    name: options.name ?? 'api',
    command: [options.bin, 'serve', '--no-worker', '--demo', '--port', '0', ...flags(options)],
    up: /listens on (http:\S+)/,
  });
}

export function workerService(options: ProcessOptions): Service {
  return createService({
    ...shared(options),
    name: options.name ?? 'worker',
    command: [options.bin, 'work', '--demo', ...flags(options)],
    up: /A worker runs/,
  });
}

function shared({ env, envOfStart = () => ({}), key, ...hooks }: ProcessOptions) {
  const others = Object.entries(env).filter(([name]) => !name.startsWith('CLAIMCHECK_'));
  const base = { ...Object.fromEntries(others), CLAIMCHECK_BOOTSTRAP_KEY: key };
  const { onProblem, isExpected } = hooks;
  return {
    env: () => ({ ...base, ...envOfStart() }),
    onProblem,
    ...(isExpected === undefined ? {} : { isExpected }),
  };
}

function flags({ dataDir, settings = {} }: ProcessOptions): string[] {
  const all = {
    'data-dir': dataDir,
    'lease-ms': LEASE_MS,
    'grace-ms': GRACE_MS,
    'shutdown-ms': SHUTDOWN_MS,
    'backoff-base-ms': 20,
    'backoff-cap-ms': 200,
    'log-level': 'error',
    ...settings,
  };
  return Object.entries(all).flatMap(([name, value]) => [`--${name}`, String(value)]);
}
