/**
 * The module of an isolated process. It is loaded before any workflow, and takes the way to speak out of their reach. It has
 * no store, no keys and no settings: what a function needs of its worker, it asks for.
 */
import { AttemptEndedError } from '../engine/ending.ts';
import type { Ending } from '../engine/ending.ts';
import { workflowTable } from '../engine/define.ts';
import type { KnownWorkflow, WorkflowTable } from '../engine/define.ts';
import { runWorkflow } from '../engine/run-workflow.ts';
import type { RunDeps } from '../engine/run-workflow.ts';
import { systemClock } from '../engine/system-clock.ts';
import type { Stint } from '../isolation/messages.ts';
import { IsolatedProcess } from '../isolation/process.ts';
import type { RemoteAttempt } from '../isolation/process.ts';
import { boundedBody } from '../isolation/remote.ts';
import { modelsOver } from '../models/session.ts';
import type { OpenModels } from '../ports/models.ts';
import type { ClaimedJob } from '../ports/job-store.ts';
import { takeSend } from './channel.ts';
import { enterIsolation } from './isolation.ts';
import type { WorkflowSource } from './isolation.ts';
import { knownWorkflows } from './known-workflows.ts';

enterIsolation();
const send = takeSend();
let table: WorkflowTable = workflowTable([]);
/** Over the model that is loaded here, with the workflows. */
let openModels: OpenModels = modelsOver(null);

// Ctrl-C at a terminal and a service manager reach every process of a group: when this one ends is its worker's to say.
for (const signal of ['SIGINT', 'SIGHUP', 'SIGTERM'] as const) process.on(signal, () => {});
process.on('disconnect', () => process.exit(1));

const isolated = new IsolatedProcess({
  send,
  async load(source) {
    const { module, demo } = source as WorkflowSource;
    const known = await knownWorkflows(module, demo);
    table = workflowTable(known.workflows);
    openModels = modelsOver(known.model);
    return table.isolatedLanes;
  },
  async run(attempt) {
    const ran = await runWorkflow(workflowOf(attempt.job), attempt.job, depsOf(attempt));
    return ran.thrown === undefined ? { type: 'returned', ...ran } : { type: 'threw', thrown: ran.thrown };
  },
});

// Node would print the whole error, and it may quote a prompt or a key.
process.on('unhandledRejection', (error) => {
  isolated.spoil();
  const text = 'a workflow left a rejected promise behind; its process ends with the attempt';
  isolated.worker()?.log.error({ error: asError(error) }, text);
});
process.on('uncaughtException', (error) => {
  isolated
    .worker()
    ?.log.error({ error: asError(error) }, 'a workflow threw outside of its attempt; its process ends');
  process.exit(1);
});

export default (stint: Stint): Promise<void> => isolated.serve(stint);

function workflowOf({ workflow, version }: ClaimedJob): KnownWorkflow {
  const known = table.find(workflow, version);
  if (known === null) throw new Error(`${workflow} ${version} is not known here`);
  return known;
}

function depsOf({ worker, maxOutputBytes, onAbort }: RemoteAttempt): RunDeps {
  const controller = new AbortController();
  onAbort((ending) => controller.abort(new AttemptEndedError(ending as Ending)));
  let file: ReturnType<typeof worker.file> | null = null;
  const open = () =>
    (file ??= worker.file().catch((error: unknown) => {
      file = null; // it may be asked for again
      throw error;
    }));
  return {
    uploads: { find: async () => (await open())?.upload ?? null },
    blobs: { open },
    openModels: () => openModels(worker.calls, () => controller.signal),
    log: worker.log,
    clock: systemClock,
    signal: controller.signal,
    keeper: keeperOf(worker, maxOutputBytes),
    maxOutputBytes,
    progress: (fraction, note) => worker.progress(fraction, note),
  };
}

/** Keeps by the worker, which makes the keys: of the name, only the number counts there. */
function keeperOf(worker: RemoteAttempt['worker'], maxOutputBytes: number): RunDeps['keeper'] {
  let places = 0;
  return {
    keep: async (_kind, _name, body, mediaType) =>
      worker.keep((places += 1), boundedBody(body, maxOutputBytes), mediaType),
  };
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(typeof thrown);
}
