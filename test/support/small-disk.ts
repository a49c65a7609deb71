/** A file system of a few megabytes that a test fills up, where this process may mount one. */
import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, rmdirSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

export interface SmallDisk {
  dir: string;
  /** Takes all the room there is. */
  fill(): void;
  /** Gives it back. */
  free(): void;
}

/** Why there can be no small disk; null where there can. */
export const NO_SMALL_DISK = whyNot();

/** Unmounted when the test ends. */
export function smallDisk(megabytes: number): SmallDisk {
  const dir = mount(megabytes);
  onTestFinished(() => unmount(dir));
  const ballast = join(dir, 'ballast');
  return {
    dir,
    fill() {
      const file = openSync(ballast, 'a');
      for (const size of [1024 ** 2, 64 * 1024, 4096, 1]) writeUntilFull(file, Buffer.alloc(size));
      closeSync(file);
    },
    free: () => rmSync(ballast),
  };
}

function writeUntilFull(file: number, chunk: Buffer): void {
  try {
    for (;;) writeSync(file, chunk);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  }
}

function mount(megabytes: number): string {
  const dir = mkdtempSync(join(tmpdir(), 'claimcheck-small-disk-'));
  const args = ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=755`, 'claimcheck-test', dir];
  execFileSync('mount', args, { stdio: ['ignore', 'ignore', 'pipe'] });
  return dir;
}

function unmount(dir: string): void {
  execFileSync('umount', ['--lazy', dir]); // whoever still has a file open there has it until he closes it
  rmdirSync(dir);
}

function whyNot(): string | null {
  if (process.platform !== 'linux') return 'tmpfs is a file system of Linux';
  if (process.getuid?.() !== 0) return 'only root may mount a file system';
  try {
    unmount(mount(1));
    return null;
  } catch {
    return 'this container may not mount a file system';
  }
}
