import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { ROOT } from './paths.mjs';

const LOOK_MS = 250;
const UNDER_NPM = process.env['npm_lifecycle_event'] !== undefined;
const PARENT = process.ppid;

/**
 * @typedef {object} Ran
 * @property {number} code the exit code, or 128 and the signal's number, as a shell reports it
 * @property {string} output what it wrote, when it was captured
 * @property {boolean} interrupted whether we were told to stop meanwhile
 */

/**
 * Runs a command, in the clone's root by default, and passes signals on to it. Rejects when it cannot start.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ capture?: boolean, shell?: boolean, cwd?: string }} [options]
 * @returns {Promise<Ran>}
 */
export function run(command, args, { capture = false, shell = false, cwd = ROOT } = {}) {
  const child = spawn(command, args, {
    cwd,
    shell,
    stdio: capture ? ['ignore', 'pipe', 'pipe'] : 'inherit',
  });
  /** @type {Buffer[]} */
  const chunks = [];
  const keep = (/** @type {Buffer} */ chunk) => void chunks.push(chunk);
  child.stdout?.on('data', keep);
  child.stderr?.on('data', keep);
  const forwarding = forwardSignals(child);
  return new Promise((resolve, reject) => {
    child.once('error', (error) => {
      forwarding.stop();
      reject(error);
    });
    child.once('close', (code, signal) => {
      const interrupted = forwarding.stop();
      resolve({ code: exitCode(code, signal), output: Buffer.concat(chunks).toString('utf8'), interrupted });
    });
  });
}

/**
 * @param {readonly string[]} args
 * @param {{ capture?: boolean }} [options]
 */
export function runNode(args, options) {
  return run(process.execPath, args, options);
}

/**
 * @param {number | null} code
 * @param {NodeJS.Signals | null} signal
 */
function exitCode(code, signal) {
  return signal === null ? (code ?? 1) : 128 + constants.signals[signal];
}

/**
 * A Ctrl-C at a terminal reaches the child by itself, since it shares our process group, and on
 * Windows its console. A second one would look like an impatient user, so it is not passed on.
 *
 * @param {import('node:child_process').ChildProcess} child
 */
function forwardSignals(child) {
  const keyboard = process.stdin.isTTY || process.platform === 'win32';
  let interrupted = false;
  const pass = (/** @type {NodeJS.Signals} */ signal) => {
    interrupted = true;
    if (signal !== 'SIGINT' || !keyboard) child.kill(signal);
  };
  process.on('SIGINT', pass);
  process.on('SIGTERM', pass);
  const stopLooking = whenNpmIsGone(() => pass('SIGTERM'));
  return {
    /** Ends the forwarding; says whether there was anything to forward. */
    stop() {
      stopLooking();
      process.off('SIGINT', pass);
      process.off('SIGTERM', pass);
      return interrupted;
    },
  };
}

/**
 * npm runs us through a shell and sends its signals to that shell, which dies of them without a word
 * to us. The loss of our parent is how `kill` of an npm arrives here.
 *
 * @param {() => void} tell
 */
function whenNpmIsGone(tell) {
  if (!UNDER_NPM) return () => {};
  const looking = setInterval(() => {
    if (process.ppid === PARENT) return;
    clearInterval(looking);
    tell();
  }, LOOK_MS);
  return () => clearInterval(looking);
}
