/** Every process that the bench has started and that still runs: an end of the bench, or of its patience, is theirs too. */

/** @type {Set<import('node:child_process').ChildProcess>} */
const running = new Set();

/**
 * @template {import('node:child_process').ChildProcess} Child
 * @param {Child} child
 */
export function track(child) {
  running.add(child);
  child.once('exit', () => running.delete(child));
  return child;
}

/** Whoever is waiting for one of them hears of its end. */
export function killAll() {
  for (const child of running) child.kill('SIGKILL');
}
