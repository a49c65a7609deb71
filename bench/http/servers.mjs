/** The servers of the HTTP case, each a process: ours as `claimcheck serve` runs it, and the bare one. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { track } from '../lib/started.mjs';

/** @import { Place } from '../types.ts' */

const BIN = join(import.meta.dirname, '..', '..', 'bin', 'claimcheck');
const KEY = 'the-key-of-one-run-of-the-bench-only';
const UP = /listens on (http:\S+)/;

/**
 * Without a worker: what is measured is the API, and no job moves on while it is polled. A key may have 500 streams open, so there are
 * three.
 *
 * @param {Place} place
 */
export async function startOurs({ url, directory }) {
  const store = ['--data-dir', directory, ...(url === null ? [] : ['--database-url', url])];
  const server = await startServer([
    BIN,
    'serve',
    '--no-worker',
    '--demo',
    '--port',
    '0',
    '--log-level',
    'warn',
    ...store,
  ]);
  const others = ['second', 'third'].map((name) => {
    const said = execFileSync(process.execPath, [BIN, 'keys', 'create', name, ...store], {
      encoding: 'utf8',
    });
    return /^ck_\S+/m.exec(said)?.[0] ?? '';
  });
  return { ...server, keys: [KEY, ...others] };
}

export async function startBare() {
  return { ...(await startServer([join(import.meta.dirname, 'bare-server.mjs')])), keys: [KEY] };
}

/** @param {readonly string[]} command */
async function startServer(command) {
  const others = Object.entries(process.env).filter(([name]) => !name.startsWith('CLAIMCHECK_'));
  const env = { ...Object.fromEntries(others), CLAIMCHECK_BOOTSTRAP_KEY: KEY };
  const child = track(spawn(process.execPath, command, { env, stdio: ['ignore', 'pipe', 'pipe'] }));
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
    stop: async () => {
      child.kill('SIGKILL');
      await gone;
    },
  };
}
