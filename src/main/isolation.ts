/** Isolated processes as this program sets them up: what they load, what they inherit, and how much they may take. */
import { fileURLToPath } from 'node:url';
import { workflowTable } from '../engine/define.ts';
import type { EngineSettings } from '../engine/settings.ts';
import type { WorkflowDefinition } from '../engine/workflow.ts';
import type { Isolation } from '../ports/isolation.ts';
import type { Log } from '../ports/telemetry.ts';
import { isolatedEnvironment } from './settings.ts';

/** Where an isolated process finds the workflows. */
export interface WorkflowSource {
  /** The user's module, or null where there is none. */
  module: string | null;
  /** Whether the built-in examples are known besides it. */
  demo: boolean;
}

/** Makes the isolated processes of one worker. */
export type MakeIsolation = (onProblem?: (problem: string) => void) => Isolation;

export interface IsolationParams {
  /** Null where nobody said. */
  source: WorkflowSource | null;
  workflows: readonly WorkflowDefinition[];
  settings: Pick<EngineSettings, 'isolationProcesses' | 'isolationMemoryBytes'>;
  log: Log;
}

/**
 * Null where no workflow asks for a process of its own.
 * @throws TypeError where nobody said which module exports the workflows that do
 */
export async function isolationMaker(params: IsolationParams): Promise<MakeIsolation | null> {
  const { source, workflows, settings, log } = params;
  const isolated = workflows.filter(({ isolation }) => isolation === 'process');
  const [first] = isolated;
  if (first === undefined) return null;
  if (source === null) {
    throw new TypeError(
      `the workflow ${first.name} asks for \`isolation: 'process'\`, and a process of its own can load it only from a ` +
        'module: name the one that exports it as `workflowsModule`',
    );
  }
  const { createIsolation } = await import('../isolation/pool.ts');
  const ending = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return (onProblem) =>
    createIsolation({
      entry: fileURLToPath(new URL(`isolated-process.${ending}`, import.meta.url)),
      env: isolatedEnvironment(),
      load: source,
      lanes: workflowTable(isolated).isolatedLanes,
      size: settings.isolationProcesses,
      memoryBytes: settings.isolationMemoryBytes,
      log,
      ...(onProblem === undefined ? {} : { onProblem }),
    });
}

/**
 * Starts one process and ends it, to see that the module can be loaded there and exports what it should.
 * @throws TypeError that says what stands in the way
 */
export async function tryIsolation(make: MakeIsolation): Promise<void> {
  let tell: (problem: string | null) => void = () => {};
  const told = new Promise<string | null>((resolve) => {
    tell = resolve;
  });
  const isolation = make(tell);
  isolation.onReady(() => tell(null));
  isolation.start();
  const problem = await told;
  await isolation.stop();
  if (problem !== null) throw new TypeError(`no isolated process can run these workflows: ${problem}`);
}

const INSIDE = Symbol.for('claimcheck.isolated');

/** From here on this process knows that it is an isolated one. */
export function enterIsolation(): void {
  Object.defineProperty(globalThis, INSIDE, { value: true });
}

/** @throws Error in an isolated process: a module that opens a queue as it is loaded would do so in every one, without end */
export function refuseInIsolation(): void {
  if (!(INSIDE in globalThis)) return;
  throw new Error(
    'openClaimcheck was called while an isolated process loaded this module: keep workflows in a module that opens nothing',
  );
}
