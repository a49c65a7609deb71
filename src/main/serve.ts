/**
 * `serve`: the API in this process, a worker in a child process that it keeps alive.
 *
 * Everything that can be refused is refused before anything is made: the address is bound before the first key is
 * written, so that a key is never lost to a start that failed.
 */
import { fileURLToPath } from 'node:url';
import { EXIT, Problem } from '../cli/problem.ts';
import type { Io } from '../cli/host.ts';
import { createApp } from '../http/app.ts';
import { PortTakenError, listen } from '../http/listen.ts';
import type { Listening } from '../http/listen.ts';
import type { Telemetry } from '../ports/telemetry.ts';
import { banner } from './banner.ts';
import type { Sample } from './banner.ts';
import { checkReach, firstKey } from './first-key.ts';
import { knownWorkflows } from './known-workflows.ts';
import type { Parts } from './open.ts';
import { openStore } from './open-store.ts';
import { seedSampleInvoice } from './sample-file.ts';
import { readSettings, workerEnvironment } from './settings.ts';
import type { FlagValues, Settings } from './settings.ts';
import { listenForStop } from './stop-signals.ts';
import { createSupervisor } from './supervisor.ts';
import type { Supervisor } from './supervisor.ts';
import { createTelemetry } from './telemetry.ts';
import { VERSION } from './version.ts';

export interface ServeOptions {
  worker: boolean;
  demo: boolean;
}

/** Runs until a signal; resolves with the exit code. */
export async function serve(
  flags: FlagValues,
  options: ServeOptions,
  io: Io,
  command: string,
): Promise<number> {
  const settings = readSettings(flags);
  const known = await knownWorkflows(settings.workflows, options.demo);
  const telemetry = createTelemetry({ level: settings.logLevel, process: 'api' });
  const parts = await openStore(settings, known, telemetry);
  try {
    await checkReach(parts.engine, settings, command);
    const server = await bind(parts, settings, telemetry);
    const key = await firstKey(parts.engine, settings);
    if (options.demo) await seedSampleInvoice(parts);
    const supervisor = options.worker
      ? superviseWorker({ parts, settings, telemetry, flags, options, io })
      : null;
    const signals = listenForStop(() => supervisor?.kill());
    parts.sweeper.start();
    supervisor?.start();
    const { workflows } = known;
    const facts = {
      version: VERSION,
      url: server.url,
      store: parts.store.description,
      workflows,
      key,
      command,
    };
    io.out(banner({ ...facts, hasWorker: options.worker, sample: sampleOf(settings, options) }));
    await signals.stopped;
    io.out('Stopping: attempts under way get their grace; the same signal again ends at once.\n');
    await Promise.all([server.close(), supervisor?.stop()]);
    signals.close();
    return EXIT.ok;
  } finally {
    await parts.close();
  }
}

function sampleOf({ workflows }: Settings, { demo }: ServeOptions): Sample {
  if (demo) return 'invoice';
  return workflows === null ? 'demo' : 'none';
}

async function bind(parts: Parts, settings: Settings, { log }: Telemetry): Promise<Listening> {
  const { host, port, maxBodyBytes, maxUploadBytes } = settings;
  const limits = { bodyBytes: maxBodyBytes, uploadBytes: maxUploadBytes };
  const app = createApp({ engine: parts.engine, log, limits, serverInfo: { version: VERSION } });
  try {
    return await listen({ app, host, port });
  } catch (error) {
    throw bindProblem(error, settings);
  }
}

function bindProblem(error: unknown, { host, port }: Settings): Problem {
  const options = { cause: error };
  if (error instanceof PortTakenError) {
    const way = 'stop that program, or choose another with --port or CLAIMCHECK_PORT';
    return new Problem(
      `Port ${port} on ${host} is taken by another program; ${way}.`,
      EXIT.unavailable,
      options,
    );
  }
  const { code, message } = error as NodeJS.ErrnoException;
  const reason =
    code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND'
      ? 'this machine has no such address'
      : code === 'EACCES'
        ? 'this user may not use that port'
        : message;
  return new Problem(`Cannot listen on ${host}, port ${port}: ${reason}.`, EXIT.unavailable, options);
}

/** Beyond the lease, what a busy machine may take to bring a beat across. */
const SILENCE_MARGIN_MS = 2_000;
const STARTUP_MS = 60_000;
/** Beyond the grace, what a stopping worker may take for its last words to the store. */
const STOP_MARGIN_MS = 10_000;

function superviseWorker(deps: {
  parts: Parts;
  settings: Settings;
  telemetry: Telemetry;
  flags: FlagValues;
  options: ServeOptions;
  io: Io;
}): Supervisor {
  const { parts, settings, telemetry, flags, options, io } = deps;
  const ending = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  const { bootstrapKey: _, ...workerFlags } = flags;
  return createSupervisor({
    entry: fileURLToPath(new URL(`worker-process.${ending}`, import.meta.url)),
    env: workerEnvironment(),
    start: { flags: workerFlags, demo: options.demo },
    silenceMs: settings.leaseMs + SILENCE_MARGIN_MS,
    startupMs: STARTUP_MS,
    stopMs: settings.shutdownMs + STOP_MARGIN_MS,
    wakeups: parts.wakeups,
    log: telemetry.log,
    reap: async (session) => {
      parts.announce(await parts.store.jobs.reapSession({ session }));
    },
    say: (line) => io.err(`${line}\n`),
  });
}
