/** The servers of the HTTP case, each a process: ours as `claimcheck serve` runs it, and the bare one. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

/** @import { Place } from '../types.ts' */

const ROOT = join(import.meta.dirname, '..', '..');
export const KEY = 'the-key-of-one-run-of-the-bench-only';
const UP = /listens on (http:\S+)/;

/** Without a worker: what is measured is the API, and no job moves on while it is polled. @param {Place} place */
export function startOurs({ url, directory }) {
  const flags = ['--no-worker', '--demo', '--port', '0', '--log-level', 'warn', '--data-dir', directory];
  const database = url === null ? [] : ['--database-url', url];
  return startServer([join(ROOT, 'bin', 'claimcheck'), 'serve', ...flags, ...database]);
}

export function startBare() {
  return startServer([join(import.meta.dirname, 'bare-server.mjs')]);
}

/** @param {readonly string[]} command */
async function startServer(command) {
  const others = Object.entries(process.env).filter(([name]) => !name.startsWith('CLAIMCHECK_'));
  const env = { ...Object.fromEntries(others), CLAIMCHECK_BOOTSTRAP_KEY: KEY };
  const child = spawn(process.execPath, command, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const gone = once(child, 'exit');
  let said = '';
  /** @type {Promise<string>} */
  const up = new Promise((resolve) => {
    const look = (/** @type {Buffer} */ chunk) => {
      said = `${said}${chunk.toString()}`.slice(-4000);
      const found = UP.exec(said);
      if (found?.[1] !== undefined) resolve(found[1]);
    };
    child.stdout.on('data', look);
    child.stderr.on('data', look);
  });
  const ended = gone.then(() => {
    throw new Error(`a server ended by itself: ${said}`);
  });
  ended.catch(() => {});
  const url = await Promise.race([up, ended]);
  return {
    url,
    pid: child.pid ?? 0,
    async stop() {
      child.kill('SIGKILL');
      await gone;
    },
  };
}
