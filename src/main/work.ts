/** `work`: one worker alone in this process, beside any other that has the store open. */
import { EXIT } from '../cli/problem.ts';
import type { Io } from '../cli/host.ts';
import { knownWorkflows } from './known-workflows.ts';
import { openStore } from './open-store.ts';
import { readSettings } from './settings.ts';
import type { FlagValues } from './settings.ts';
import { listenForStop } from './stop-signals.ts';
import { handleStrayErrors } from './stray-errors.ts';
import { createTelemetry } from './telemetry.ts';

/** Runs until a signal; resolves with the exit code, also when every slot is stuck. */
export async function work(flags: FlagValues, { demo }: { demo: boolean }, io: Io): Promise<number> {
  const settings = readSettings(flags);
  const known = await knownWorkflows(settings.workflows, demo);
  const telemetry = createTelemetry({ level: settings.logLevel, process: 'worker' });
  const parts = await openStore(settings, known, telemetry);
  handleStrayErrors(telemetry.log);
  const signals = listenForStop();
  let onStuck = () => {};
  const stuck = new Promise<'stuck'>((resolve) => {
    onStuck = () => resolve('stuck');
  });
  const worker = parts.createWorker({ onStuck });
  parts.sweeper.start();
  worker.start();
  const names = known.workflows.map(({ name, version }) => `${name} ${version}`).join(', ');
  io.out(`A worker runs ${names} on ${parts.store.description}.\n`);
  const end = await Promise.race([signals.stopped, stuck]);
  if (end === 'stuck') {
    telemetry.log.error(
      {},
      'every slot is held by an attempt that ignores its signal; start the worker again',
    );
    return EXIT.stuck;
  }
  io.out('Stopping: attempts under way get their grace; the same signal again ends at once.\n');
  await worker.stop();
  await parts.close();
  signals.close();
  return EXIT.ok;
}
