/**
 * The process in which `serve` runs jobs. It lives and dies with its supervisor: it starts when told what to
 * open, ends in bounded time when told to stop, and at once when the channel breaks, since then nobody is left who would
 * recover its jobs sooner than their lease does.
 */
import { EXIT, Problem } from '../cli/problem.ts';
import { bridge } from './channel.ts';
import type { FromWorker, ToWorker } from './channel.ts';
import { knownWorkflows } from './known-workflows.ts';
import { openStore } from './open-store.ts';
import { readSettings } from './settings.ts';
import { handleStrayErrors } from './stray-errors.ts';
import { createTelemetry } from './telemetry.ts';

let stop: () => Promise<void> = async () => process.exit(EXIT.ok);
let arrived: ReturnType<typeof bridge>['arrived'] = () => {};

// Ctrl-C at a terminal reaches the whole process group: what to do about it is the supervisor's to say.
process.on('SIGINT', () => {});
process.on('SIGHUP', () => {});
process.on('SIGTERM', () => void stop());
process.on('disconnect', () => process.exit(EXIT.failed));
process.on('message', (message) => {
  const told = message as ToWorker;
  switch (told.type) {
    case 'start':
      return void run(told).catch(fail);
    case 'stop':
      return void stop();
    case 'wakeups':
      return arrived(told.wakeups);
  }
});

async function run({ start, beatMs, crash }: Extract<ToWorker, { type: 'start' }>): Promise<void> {
  const { flags, demo } = start;
  const settings = readSettings(flags);
  const telemetry = createTelemetry({ level: settings.logLevel, process: 'worker' });
  handleStrayErrors(telemetry.log);
  const known = await knownWorkflows(settings.workflows, demo);
  const parts = await openStore(settings, known, telemetry);
  arrived = bridge({
    wakeups: parts.wakeups,
    carries: ['moved'],
    send: (wakeups) => say({ type: 'wakeups', wakeups }),
  }).arrived;
  const worker = parts.createWorker({
    crash,
    onSession: (session) => say({ type: 'session', session }),
    onStuck: () => process.exit(EXIT.stuck),
  });
  stop = once(async () => {
    await worker.stop();
    await parts.close();
    process.exit(EXIT.ok);
  });
  worker.start();
  setInterval(() => say({ type: 'beat' }), beatMs);
}

function say(message: FromWorker): void {
  // A channel that is gone ends this process by its own event.
  if (process.connected) process.send?.(message, undefined, undefined, () => {});
}

function once(act: () => Promise<void>): () => Promise<void> {
  let acted: Promise<void> | null = null;
  return () => (acted ??= act());
}

function fail(error: unknown): void {
  const text = error instanceof Problem ? error.message : `The worker cannot start: ${String(error)}`;
  process.stderr.write(`${text}\n`, () =>
    process.exit(error instanceof Problem ? error.exitCode : EXIT.failed),
  );
}
