/**
 * A thread that ends its process by force: when the worker is gone, since a function that spins hears of nothing, and when
 * the process takes more memory than it may, in whatever form it takes it.
 */
import { Worker, isMainThread, workerData } from 'node:worker_threads';
import type { Stint } from './messages.ts';

type Guarded = Pick<Stint, 'parentPid' | 'memoryBytes'>;

const EVERY_MS = 100;

let guarding = false;

/** Begins to guard this process, once. */
export function guard({ parentPid, memoryBytes }: Guarded): void {
  if (guarding) return;
  guarding = true;
  const guarded: Guarded = { parentPid, memoryBytes };
  new Worker(new URL(import.meta.url), { workerData: guarded, execArgv: [], env: {} }).unref();
}

if (!isMainThread) {
  const { parentPid, memoryBytes } = workerData as Guarded;
  setInterval(() => {
    const isOrphan = process.ppid !== parentPid;
    if (isOrphan || process.memoryUsage.rss() > memoryBytes) process.kill(process.pid, 'SIGKILL');
  }, EVERY_MS);
}
