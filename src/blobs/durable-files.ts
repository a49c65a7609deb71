/** Directories and files that survive a power loss, and reads that follow no symbolic link. */
import { constants } from 'node:fs';
import { lstat, mkdir, open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';

/** Makes directories below `root`, and remembers which of them are known to be on the disk. */
export class DurableDirectories {
  readonly #root: string;
  readonly #synced = new Set<string>();

  constructor(root: string) {
    this.#root = root;
    this.#synced.add(root);
  }

  /**
   * Whoever made a directory may have died before its parent was synced, so a parent is synced once for each
   * child that this process meets.
   * @throws Error where a part of the way is no directory, a symbolic link included
   */
  async make(directory: string): Promise<void> {
    let path = this.#root;
    for (const segment of relative(this.#root, directory).split(sep)) {
      path = join(path, segment);
      await makeOne(path);
      if (this.#synced.has(path)) continue;
      await syncDirectory(dirname(path));
      this.#synced.add(path);
    }
  }
}

async function makeOne(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
    if (!(await isDirectory(path)))
      throw new Error(`${path} is not a directory of its own`, { cause: error });
  }
}

/** True where every directory from `directory` up to `root` is one, and none a symbolic link. */
export async function isPlainBelow(root: string, directory: string): Promise<boolean> {
  if (directory === root) return true;
  return (await isDirectory(directory)) && isPlainBelow(root, dirname(directory));
}

async function isDirectory(path: string): Promise<boolean> {
  const found = await lstat(path).catch(absent);
  return found?.isDirectory() === true;
}

/** Opens a regular file, or gives null: a symbolic link, a directory or a pipe is none. */
export async function openRegular(path: string): Promise<FileHandle | null> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const file = await open(path, flags).catch(absent);
  if (file === null) return null;
  const found = await file.stat();
  if (found.isFile()) return file;
  await file.close();
  return null;
}

/** Bytes of a regular file, or null where there is none. */
export async function sizeOf(path: string): Promise<number | null> {
  const found = await lstat(path).catch(absent);
  return found?.isFile() === true ? found.size : null;
}

export async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, constants.O_RDONLY);
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

/** For `catch`: null where there is nothing of the wanted kind at the path. */
export function absent(error: unknown): null {
  if (['ENOENT', 'ENOTDIR', 'ELOOP', 'EMLINK', 'ENXIO'].includes(codeOf(error))) return null;
  throw error;
}

export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}
