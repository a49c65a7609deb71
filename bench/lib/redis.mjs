/** A Redis server of the bench's own, where one is installed: its append-only file in a directory of ours, on the loopback alone. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants } from 'node:fs';
import { connect } from 'node:net';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from './ports.mjs';
import { track } from './started.mjs';

const NAME = 'redis-server';
const START_MS = 10_000;

/** @param {string | undefined} path the environment's PATH */
function findRedis(path = process.env['PATH']) {
  return (path ?? '')
    .split(delimiter)
    .map((directory) => join(directory, NAME))
    .find((file) => {
      try {
        accessSync(file, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}

/**
 * @param {{ directory: string, appendFsync: 'everysec' | 'always' }} options
 * @returns {Promise<{ url: string, pid: number, stop: () => Promise<void> }>}
 */
export async function startRedis({ directory, appendFsync }) {
  const binary = findRedis();
  if (binary === undefined) throw new Error('redis-server was not found');
  const port = await freePort();
  const settings = {
    port: `${port}`,
    bind: '127.0.0.1',
    dir: directory,
    save: '',
    appendonly: 'yes',
    appendfsync: appendFsync,
    'maxmemory-policy': 'noeviction',
  };
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
  const server = track(spawn(binary, args, { stdio: 'ignore' }));
  const gone = once(server, 'exit');
  const stop = async () => {
    server.kill('SIGKILL');
    await gone;
  };
  for (const until = performance.now() + START_MS; performance.now() < until; await sleep(20)) {
    if (await answers(port)) return { url: `redis://127.0.0.1:${port}`, pid: server.pid ?? 0, stop };
  }
  await stop();
  throw new Error('redis-server did not start');
}

/** @param {number} port */
async function answers(port) {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
