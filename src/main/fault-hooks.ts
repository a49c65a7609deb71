/** By the settings for tests of faults: a process that ends itself at a named point, or writes down what its worker was told. */
import { openSync, writeSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileReason } from '../cli/file-reasons.ts';
import { EXIT, Problem } from '../cli/problem.ts';
import type { WriteAttempts } from '../engine/attempt-log.ts';
import type { Log } from '../ports/telemetry.ts';
import type { Reached } from '../engine/crash-points.ts';
import type { FaultHooks } from './open.ts';
import { crashOf } from './setting-table.ts';
import type { Settings } from './settings.ts';

/** @throws Problem where the attempt log cannot be written */
export function faultHooks({ crashPoint, attemptLog }: Settings, log: Log): FaultHooks {
  if (crashPoint !== null)
    log.warn({}, `for a test of faults, this process will end itself at ${crashPoint}`);
  return {
    reached: crashPoint === null ? undefined : crashAt(crashPoint),
    writeAttempts: attemptLog === null ? undefined : appendTo(resolve(attemptLog)),
  };
}

function crashAt(text: string): Reached {
  const crash = crashOf(text);
  let left = crash?.times ?? 0;
  return (point) => {
    if (point !== crash?.point) return;
    left -= 1;
    if (left === 0) process.kill(process.pid, 'SIGKILL');
  };
}

/** One write a batch: what a kill leaves of it is whole lines and at most one that is cut. */
function appendTo(path: string): WriteAttempts {
  const file = open(path);
  return (lines) => {
    if (lines.length > 0) writeSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  };
}

function open(path: string): number {
  try {
    return openSync(path, 'a', 0o600);
  } catch (error) {
    throw new Problem(`Cannot write the attempt log ${path}: ${fileReason(error, 'write')}.`, EXIT.usage);
  }
}
