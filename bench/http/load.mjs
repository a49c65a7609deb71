/**
 * The clients of the HTTP case, in a process of their own: `node bench/http/load.mjs`, told what to do over the channel to its parent.
 * They write to plain sockets and read no more of an answer than where it ends, so that most of the processor is left to the server.
 */
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { nowMs } from '../lib/clock.mjs';
import { percentiles } from '../lib/stats.mjs';

/**
 * @typedef {object} Load
 * @property {string} url
 * @property {readonly string[]} keys connections take them in turn
 * @property {number} posters connections that hand in one job after the other
 * @property {readonly string[]} polled jobs whose status a connection each asks for, again and again
 * @property {readonly string[]} streamed jobs whose events a connection each follows
 * @property {number} warm answers before they are counted: a server compiles what it has often run
 * @property {number} ms
 *
 * @typedef {{ requests: number, seconds: number, p50: number, p99: number, unexpected: number }} Served
 */

const BODY = JSON.stringify({ workflow: 'demo', input: { mode: 'echo', value: 'x'.repeat(250) } });
const OPENED_TOGETHER = 100;

/** @param {Load} load @returns {Promise<Served>} */
async function serve({ url, keys, posters, polled, streamed, warm, ms }) {
  const { hostname, port, host } = new URL(url);
  const to = { host: hostname, port: Number(port) };
  let last = 0;
  const request = (/** @type {string} */ line, /** @type {string} */ rest) => {
    last += 1;
    return `${line} HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${keys[last % keys.length]}\r\n${rest}`;
  };
  const post = () =>
    request(
      'POST /ai-jobs',
      `content-type: application/json\r\ncontent-length: ${BODY.length}\r\n\r\n${BODY}`,
    );
  const get = (/** @type {string} */ id) => request(`GET /ai-jobs/${id}`, '\r\n');
  const follow = (/** @type {string} */ id) =>
    request(`GET /ai-jobs/${id}/events`, 'accept: text/event-stream\r\n\r\n');

  await inTurns(streamed, (id) => open(to, follow(id), /\r\n\r\n[^]*data:/));
  const requests = [...Array.from({ length: posters }, post), ...polled.map(get)];
  const sockets = await inTurns(requests, (one) => open(to, one, /\r\n\r\n/));
  /** @type {number[]} */
  const tookMs = [];
  const state = { answers: 0, counting: false, stopping: false, unexpected: 0 };
  const loops = sockets.map((socket, at) => askAgainAndAgain(socket, requests[at] ?? '', { state, tookMs }));
  while (state.answers < warm) await sleep(10);
  state.counting = true;
  process.send?.({ counting: true });
  const fromMs = nowMs();
  await sleep(ms);
  const seconds = (nowMs() - fromMs) / 1000;
  state.counting = false;
  state.stopping = true;
  await Promise.all(loops);
  const { p50, p99 } = percentiles(tookMs);
  return { requests: tookMs.length, seconds, p50, p99, unexpected: state.unexpected };
}

/**
 * Sends the request over one connection, waits for the whole answer and sends it again.
 *
 * @param {import('node:net').Socket} socket
 * @param {string} request
 * @param {{ state: { answers: number, counting: boolean, stopping: boolean, unexpected: number }, tookMs: number[] }} counted
 */
async function askAgainAndAgain(socket, request, { state, tookMs }) {
  await new Promise((resolve, reject) => {
    let sentMs = nowMs();
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      if (!isWhole(text)) return;
      state.answers += 1;
      if (state.counting) tookMs.push(nowMs() - sentMs);
      if (!text.startsWith('HTTP/1.1 20')) state.unexpected += 1;
      if (state.stopping) return resolve(undefined);
      text = '';
      sentMs = nowMs();
      socket.write(request);
    });
    socket.once('error', reject);
    socket.once('close', () =>
      reject(new Error(`the server closed a connection after ${text.slice(0, 200)}`)),
    );
    socket.write(request);
  });
  socket.destroy();
}

/** Whether this is an answer with the whole of its body. @param {string} text */
function isWhole(text) {
  const end = text.indexOf('\r\n\r\n');
  if (end === -1) return false;
  const length = /\r\ncontent-length: *(\d+)/i.exec(text.slice(0, end));
  if (length === null) throw new Error(`an answer without its length: ${text.slice(0, end)}`);
  return text.length >= end + 4 + Number(length[1]);
}

/**
 * A connection that was answered so far.
 *
 * @param {{ host: string, port: number }} to
 * @param {string} request
 * @param {RegExp} far
 */
async function open(to, request, far) {
  const socket = connect(to).setNoDelay(true);
  socket.write(request);
  let text = '';
  await new Promise((resolve, reject) => {
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      if (!text.startsWith('HTTP/1.1 20')) reject(new Error(`refused: ${text.slice(0, 200)}`));
      else if (far.test(text)) resolve(undefined);
    });
    socket.once('error', reject);
    socket.once('close', () => reject(new Error(`closed after ${text.slice(0, 200)}`)));
  });
  socket.removeAllListeners();
  return socket.resume();
}

/**
 * Not all at the same moment: no more connections wait to be accepted than a server takes, or the system drops what they send.
 *
 * @template T, Result
 * @param {readonly T[]} items
 * @param {(item: T) => Promise<Result>} body
 */
async function inTurns(items, body) {
  /** @type {Result[]} */
  const results = [];
  for (let at = 0; at < items.length; at += OPENED_TOGETHER) {
    results.push(...(await Promise.all(items.slice(at, at + OPENED_TOGETHER).map(body))));
  }
  return results;
}

process.on('message', (/** @type {Load} */ load) => {
  serve(load).then(
    (result) => process.send?.({ result }),
    (error) => process.send?.({ error: /** @type {Error} */ (error).message }),
  );
});
process.on('disconnect', () => process.exit());
