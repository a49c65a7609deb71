/** Which machine this is: processes that share a SQLite file must share its memory. */
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';

/** The kernel's boot where it tells (containers of one machine share it), else the host's name. */
export function hostId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return hostname();
  }
}

/** A name for a worker that people recognise; its session makes it unique. */
export function workerName(): string {
  return `${hostname()}-${process.pid}`;
}
