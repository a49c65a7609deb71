/**
 * The API on a socket: jobs handed in over 200 connections, and the status of 1,000 jobs asked for by 1,000 pollers as fast as they are
 * answered, while 1,000 others follow their events; against a bare Hono server that answers the same requests from memory, over as many
 * connections and with as many streams open. Answers are counted once both have served enough to have compiled what they run.
 *
 * Two hundred connections, because an answer waits for a commit on the disk: with few of them the case would measure the disk's time
 * over and over, and not what a request costs.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { startBare, startOurs } from '../http/servers.mjs';
import { treeCpuMs } from '../lib/processes.mjs';
import { track } from '../lib/started.mjs';

/** @import { Ground } from '../lib/places.mjs' */
/** @import { Numbers } from '../lib/race.mjs' */
/** @import { Load, Served } from '../http/load.mjs' */

const LOAD = join(import.meta.dirname, '..', 'http', 'load.mjs');
const CALLERS = 50;

/**
 * @param {Ground} ground
 * @param {'ours' | 'bare'} which
 * @param {{ kind: 'post' | 'get', warm: number, ms: number, clients: number }} options
 * @returns {Promise<Numbers>}
 */
export async function overHttp({ place }, which, { kind, clients, warm, ms }) {
  const { url, keys, pid, stop } = await (which === 'ours' ? startOurs(place) : startBare());
  try {
    const ids = kind === 'get' ? await handIn(url, keys[0] ?? '', clients) : [];
    const posters = kind === 'post' ? clients : 0;
    const { served, cpuMs } = await serve({ url, keys, posters, polled: ids, streamed: ids, warm, ms }, pid);
    if (served.unexpected > 0) throw new Error(`${served.unexpected} answers were not what was asked for`);
    return {
      'requests/s': served.requests / served.seconds,
      'p50 ms': served.p50,
      'p99 ms': served.p99,
      'server cpu us/request': cpuMs === null ? null : (1000 * cpuMs) / served.requests,
    };
  } finally {
    await stop();
  }
}

/**
 * @param {Load} load
 * @param {number} pid of the server, whose processor time is taken while answers are counted
 * @returns {Promise<{ served: Served, cpuMs: number | null }>}
 */
async function serve(load, pid) {
  const child = track(fork(LOAD, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] }));
  const counting = once(child, 'message');
  child.send(load);
  const ended = once(child, 'exit').then(() => [
    { error: 'the clients of the HTTP case ended by themselves' },
  ]);
  const next = (/** @type {Promise<unknown[]>} */ message) =>
    /** @type {Promise<[{ result?: Served, error?: string }]>} */ (Promise.race([message, ended]));
  let [said] = await next(counting);
  const fromMs = treeCpuMs(pid);
  if (said.error === undefined) [said] = await next(once(child, 'message'));
  const toMs = treeCpuMs(pid);
  child.kill('SIGKILL');
  if (said.result === undefined) throw new Error(said.error);
  return { served: said.result, cpuMs: fromMs === null || toMs === null ? null : toMs - fromMs };
}

/**
 * The ids of so many jobs that wait.
 *
 * @param {string} url
 * @param {string} key
 * @param {number} jobs
 */
async function handIn(url, key, jobs) {
  const request = {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ workflow: 'demo', input: { mode: 'success' } }),
  };
  /** @type {string[]} */
  const ids = [];
  const caller = async () => {
    for (let left = jobs / CALLERS; left > 0; left -= 1) {
      const answer = await (await fetch(`${url}/ai-jobs`, request)).json();
      ids.push(/** @type {{ job_id: string }} */ (answer).job_id);
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  return ids;
}
