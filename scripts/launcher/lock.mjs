/**
 * A lock between launches of one clone. It is a file that only its maker could create, kept young
 * by touching it; a file that nobody touches any more belongs to a launch that was killed.
 */
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const TOUCH_MS = 2_000;
const STALE_MS = 30_000;
const POLL_MS = 200;

/**
 * Runs `body` while holding the lock at `path`; waits for another holder first.
 *
 * @template T
 * @param {string} path
 * @param {() => Promise<T>} body
 * @param {() => void} [onWait] called once, when there is another holder
 * @returns {Promise<T>}
 */
export async function withLock(path, body, onWait = () => {}) {
  await acquire(path, onWait);
  const touching = setInterval(() => touch(path), TOUCH_MS);
  try {
    return await body();
  } finally {
    clearInterval(touching);
    rmSync(path, { force: true });
  }
}

/**
 * @param {string} path
 * @param {() => void} onWait
 */
async function acquire(path, onWait) {
  mkdirSync(dirname(path), { recursive: true });
  for (let tries = 0; !create(path); tries += 1) {
    if (isStale(path)) {
      discard(path);
      continue;
    }
    if (tries === 0) onWait();
    await sleep(POLL_MS);
  }
}

/** @param {string} path */
function create(path) {
  try {
    writeFileSync(path, JSON.stringify({ pid: process.pid, host: hostname() }), { flag: 'wx' });
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

/** @param {string} path */
function isStale(path) {
  try {
    if (Date.now() - statSync(path).mtimeMs > STALE_MS) return true;
    const holder = /** @type {{ pid: number, host: string }} */ (JSON.parse(readFileSync(path, 'utf8')));
    return holder.host === hostname() && !isAlive(holder.pid);
  } catch {
    // Released, or not written yet: both are settled by looking again.
    return false;
  }
}

/**
 * Renaming first lets one of two launches that found the same stale lock win.
 *
 * @param {string} path
 */
function discard(path) {
  const aside = `${path}.${process.pid}`;
  try {
    renameSync(path, aside);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return;
    throw error;
  }
  rmSync(aside, { force: true });
}

/** @param {number} pid */
function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}

/** @param {string} path */
function touch(path) {
  const now = new Date();
  try {
    utimesSync(path, now, now);
  } catch {
    // The folder was cleaned away under us; the work goes on without its lock.
  }
}

/** @param {unknown} error */
function codeOf(error) {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
