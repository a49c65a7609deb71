/**
 * What it costs that a call is recorded: the same calls by the AI SDK alone and in jobs through `context.model`, each with its
 * reservation, its stored response and its price; and a thousand streams at once in one worker.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { track } from '../lib/started.mjs';

/** @import { Ground } from '../lib/places.mjs' */
/** @import { Numbers } from '../lib/race.mjs' */

/** @typedef {{ seconds: number, usPerCall: number, peakMb: number }} Took what the caller says */

const HERE = join(import.meta.dirname, '..', 'models');

/**
 * @param {Ground} ground
 * @param {'ours' | 'bare'} how
 * @param {{ kind: 'generate' | 'stream', calls: number, atOnce: number, chunkDelayMs?: number }} options
 * @returns {Promise<Numbers>}
 */
export async function callModels({ place }, how, { kind, calls, atOnce, chunkDelayMs = 0 }) {
  const provider = startProcess('provider.mjs', [`${chunkDelayMs}`]);
  try {
    const url = /listens on (\S+)/.exec(await provider.line)?.[1] ?? '';
    const { directory, url: database } = place;
    const asked = [
      how,
      url,
      directory,
      kind,
      `${calls}`,
      `${atOnce}`,
      ...(database === null ? [] : [database]),
    ];
    const caller = startProcess('caller.mjs', asked);
    const { seconds, usPerCall, peakMb } = /** @type {Took} */ (JSON.parse(await caller.line));
    await caller.gone;
    return {
      'calls/s': calls / seconds,
      'wall s': seconds,
      'client us/call': usPerCall,
      'peak MB': peakMb,
    };
  } finally {
    provider.child.kill('SIGKILL');
    await provider.gone;
  }
}

/** @param {string} file @param {readonly string[]} args */
function startProcess(file, args) {
  const child = track(
    spawn(process.execPath, [join(HERE, file), ...args], { stdio: ['ignore', 'pipe', 'pipe'] }),
  );
  const gone = once(child, 'exit');
  let said = '';
  /** @type {Promise<string>} */
  const line = new Promise((resolve) => {
    child.stdout.on('data', (chunk) => {
      said = `${said}${chunk}`;
      const end = said.indexOf('\n');
      if (end >= 0) resolve(said.slice(0, end));
    });
  });
  let complaint = '';
  child.stderr.on('data', (chunk) => {
    complaint = `${complaint}${chunk}`.slice(-2000);
  });
  const ended = gone.then(() => {
    throw new Error(`${file} ended by itself: ${complaint}`);
  });
  ended.catch(() => {});
  return { child, gone, line: Promise.race([line, ended]) };
}
