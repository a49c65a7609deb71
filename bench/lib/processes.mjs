/** Processor time and memory of processes that are not ours to ask, from Linux's /proc; elsewhere there is none. */
import { readdirSync, readFileSync } from 'node:fs';

/** Linux counts processor time for /proc in hundredths of a second, whatever its kernel does inside. */
const TICK_MS = 10;

/**
 * Processor time of a process and its children, those that have ended included: a PostgreSQL server with all its backends.
 *
 * @param {number} pid
 * @returns {number | null} milliseconds
 */
export function treeCpuMs(pid) {
  const root = stat(pid);
  if (root === null) return null;
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => stat(Number(name)))
    .filter((one) => one?.parent === pid);
  const own = root.ownTicks + root.endedTicks;
  return TICK_MS * children.reduce((ticks, one) => ticks + (one?.ownTicks ?? 0), own);
}

/** @param {number} pid */
function stat(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // the name in brackets may hold anything, brackets and blanks included
    const fields = text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    const [parent, user, system, endedUser, endedSystem] = [1, 11, 12, 13, 14].map(
      (index) => fields[index] ?? 0,
    );
    return {
      parent,
      ownTicks: (user ?? 0) + (system ?? 0),
      endedTicks: (endedUser ?? 0) + (endedSystem ?? 0),
    };
  } catch {
    return null;
  }
}

/**
 * Looks at the processor time of a server again and again, so that any stretch of time can be asked for afterwards.
 *
 * @param {number | null} pid
 */
export function watchCpu(pid) {
  /** @type {{ atMs: number, cpuMs: number }[]} */
  const seen = [];
  const look = () => {
    const cpuMs = pid === null ? null : treeCpuMs(pid);
    if (cpuMs !== null) seen.push({ atMs: Number(process.hrtime.bigint()) / 1e6, cpuMs });
  };
  look();
  const timer = setInterval(look, 50);
  return {
    stop() {
      clearInterval(timer);
      look();
    },
    /** @param {number} fromMs @param {number} toMs */
    between(fromMs, toMs) {
      return seen.length < 2 ? null : at(seen, toMs) - at(seen, fromMs);
    },
  };
}

/**
 * The processor time at an instant between two looks.
 *
 * @param {readonly { atMs: number, cpuMs: number }[]} seen
 * @param {number} atMs
 */
function at(seen, atMs) {
  const next = seen.findIndex((one) => one.atMs >= atMs);
  const after = seen[next] ?? seen.at(-1);
  const before = seen[next - 1] ?? after;
  if (after === undefined || before === undefined) return 0;
  if (after.atMs <= before.atMs) return after.cpuMs;
  const share = (atMs - before.atMs) / (after.atMs - before.atMs);
  return before.cpuMs + Math.min(1, Math.max(0, share)) * (after.cpuMs - before.cpuMs);
}
