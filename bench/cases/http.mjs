/**
 * The API on a socket: jobs handed in over 50 connections, and the status of 1,000 jobs asked for by 1,000 pollers as fast as they are
 * answered, while 1,000 others follow their events; against a bare Hono server that answers the same requests from memory.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { KEY, startBare, startOurs } from '../http/servers.mjs';
import { watchCpu } from '../lib/processes.mjs';

/** @import { Ground } from '../lib/places.mjs' */
/** @import { Numbers } from '../lib/race.mjs' */
/** @import { Load, Served } from '../http/load.mjs' */
/** @typedef {Omit<Load, 'url' | 'key'>} Traffic */

const LOAD = join(import.meta.dirname, '..', 'http', 'load.mjs');

/**
 * @param {Ground} ground
 * @param {'ours' | 'bare'} which
 * @param {{ kind: 'post' | 'get', warmMs: number, ms: number, clients: number }} options
 * @returns {Promise<Numbers>}
 */
export async function overHttp({ place }, which, { kind, clients, ...times }) {
  const server = await (which === 'ours' ? startOurs(place) : startBare());
  try {
    const ids = kind === 'get' ? await handIn(server.url, clients) : [];
    const cpu = watchCpu(server.pid);
    const fromMs = Number(process.hrtime.bigint()) / 1e6;
    const traffic = { posters: kind === 'post' ? clients : 0, polled: ids, streamed: ids, ...times };
    const { requests, seconds, p50, p99, unexpected } = await serve({ url: server.url, key: KEY, ...traffic });
    cpu.stop();
    if (unexpected > 0) throw new Error(`${unexpected} answers were not what was asked for`);
    const cpuMs = cpu.between(fromMs, Number(process.hrtime.bigint()) / 1e6);
    return {
      'requests/s': requests / seconds,
      'p50 ms': p50,
      'p99 ms': p99,
      'server cpu s': cpuMs === null ? null : cpuMs / 1000,
    };
  } finally {
    await server.stop();
  }
}

/** @param {Load} load @returns {Promise<Served>} */
async function serve(load) {
  const child = fork(LOAD, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const answer = once(child, 'message');
  child.send(load);
  const ended = once(child, 'exit').then(() => [{ error: 'the clients of the HTTP case ended by themselves' }]);
  const [{ result, error }] = /** @type {[{ result?: Served, error?: string }]} */ (
    await Promise.race([answer, ended])
  );
  child.kill('SIGKILL');
  if (result === undefined) throw new Error(error);
  return result;
}

/** @param {string} url @param {number} jobs */
async function handIn(url, jobs) {
  return Promise.all(
    Array.from({ length: jobs }, async () => {
      const response = await fetch(`${url}/ai-jobs`, {
        method: 'POST',
        headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
        body: JSON.stringify({ workflow: 'demo', input: { mode: 'success' } }),
      });
      const { job_id: id } = /** @type {{ job_id: string }} */ (await response.json());
      return id;
    }),
  );
}
