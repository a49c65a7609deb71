/**
 * The process in which `serve` runs jobs. It lives and dies with its supervisor: it starts when told what to
 * open, ends in bounded time when told to stop, and at once when the channel breaks, since then nobody is left who would
 * recover its jobs sooner than their lease does.
 */
import { EXIT, Problem } from '../cli/problem.ts';
import { bridge, readToWorker, takeSend } from './channel.ts';
import type { FromWorker, ToWorker } from './channel.ts';
import { knownWorkflows } from './known-workflows.ts';
import { openStore } from './open-store.ts';
import { readSettings } from './settings.ts';
import { handleStrayErrors } from './stray-errors.ts';
import { createTelemetry } from './telemetry.ts';

const send = takeSend();
/** Makes what this process says known as its own; null until it is told to start. */
let nonce: string | null = null;
let stop: () => Promise<void> = async () => process.exit(EXIT.ok);
let arrived: ReturnType<typeof bridge>['arrived'] = () => {};

// Ctrl-C at a terminal reaches the whole process group: what to do about it is the supervisor's to say.
process.on('SIGINT', () => {});
process.on('SIGHUP', () => {});
process.on('SIGTERM', () => void stop());
process.on('disconnect', () => process.exit(EXIT.failed));
process.on('message', (message) => {
  const told = readToWorker(message);
  switch (told?.type) {
    case undefined:
      return;
    case 'start':
      // Once: a job may emit events of `process`, too.
      if (nonce !== null) return;
      nonce = told.nonce;
      return void run(told).catch(fail);
    case 'stop':
      return void stop();
    case 'wakeups':
      return arrived(told.wakeups);
  }
});

async function run({ start, beatMs }: Extract<ToWorker, { type: 'start' }>): Promise<void> {
  const { flags, demo } = start;
  const settings = readSettings(flags);
  const telemetry = createTelemetry({ level: settings.logLevel, process: 'worker' });
  handleStrayErrors(telemetry.log);
  const known = await knownWorkflows(settings.workflows, demo);
  const parts = await openStore(settings, known, telemetry);
  arrived = bridge({
    wakeups: parts.wakeups,
    carries: ['moved', 'partial'],
    send: (wakeups) => say({ type: 'wakeups', wakeups }),
  }).arrived;
  const worker = parts.createWorker({
    onSession: (session) => say({ type: 'session', session }),
    onStuck: () => process.exit(EXIT.stuck),
  });
  stop = once(async () => {
    await worker.stop();
    await parts.close();
    process.exit(EXIT.ok);
  });
  worker.start();
  setInterval(() => {
    // A job may have removed the listener that ends this process with its channel.
    if (!process.connected) process.exit(EXIT.failed);
    say({ type: 'beat' });
  }, beatMs);
}

function say(message: FromWorker): void {
  send({ ...message, nonce });
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
