/**
 * Blobs as files under one directory.
 *
 * Bytes are streamed into a temporary file beside the others, synced, and then given their name with a hard link:
 * unlike a rename, a link never replaces what is there already. Then the directories are synced, so that after `put` has
 * resolved the name survives a power loss as well. Temporary files live in a directory of their own whose name no key
 * can spell.
 */
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { link, lstat, mkdir, open, opendir, unlink } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { randomUUID } from 'node:crypto';
import { BlobConflictError, BlobTooLargeError } from '../ports/blob-store.ts';
import type { BlobStore, StoredBlob } from '../ports/blob-store.ts';
import { StorageFullError } from '../ports/job-store.ts';

/** Starts with a dot, which no segment of a key may. */
const TEMPORARY = '.temporary';

const STALE_MS = 24 * 3_600_000;

const SEGMENT = /^[A-Za-z0-9_-][A-Za-z0-9._-]*$/;

const MAX_KEY_LENGTH = 512;

export async function openFileBlobs({ dir }: { dir: string }): Promise<BlobStore> {
  const root = resolve(dir);
  const temporary = join(root, TEMPORARY);
  await mkdir(temporary, { recursive: true, mode: 0o700 });
  await removeStale(temporary);
  return {
    put: (params) => translated(() => put(root, temporary, params)),
    open: ({ uri }) => openBlob(root, uri),
    ping: () => translated(() => ping(temporary)),
  };
}

type PutParams = Parameters<BlobStore['put']>[0];

async function put(root: string, temporary: string, params: PutParams): Promise<StoredBlob> {
  const target = pathOf(root, params.uri);
  const draft = join(temporary, randomUUID());
  const file = await open(draft, 'wx', 0o600);
  try {
    const stored = await fill(file, params);
    params.signal?.throwIfAborted();
    await makeDirectory(root, dirname(target));
    await publish(draft, target, params.uri, stored);
    return stored;
  } finally {
    await file.close();
    await unlink(draft);
  }
}

/** Writes the body to the disk, counting and hashing it on the way. */
async function fill(file: FileHandle, { uri, body, maxBytes, signal }: PutParams): Promise<StoredBlob> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of body instanceof Uint8Array ? [body] : body) {
    signal?.throwIfAborted();
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw new BlobTooLargeError(`${uri} is larger than ${maxBytes} bytes`);
    hash.update(chunk);
    await writeAll(file, chunk);
  }
  await file.sync();
  return { sha256: hash.digest('hex'), bytes };
}

async function writeAll(file: FileHandle, chunk: Uint8Array): Promise<void> {
  let offset = 0;
  while (offset < chunk.byteLength) {
    const { bytesWritten } = await file.write(chunk, offset, chunk.byteLength - offset);
    offset += bytesWritten;
  }
}

/** Gives the draft its name. Where the name is taken, the bytes there have to be the same. */
async function publish(draft: string, target: string, uri: string, stored: StoredBlob): Promise<void> {
  try {
    await link(draft, target);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
    if (!(await holds(target, stored))) throw new BlobConflictError(`${uri} holds other bytes already`);
  }
  await syncDirectory(dirname(target));
}

async function holds(path: string, stored: StoredBlob): Promise<boolean> {
  const file = await openRegular(path);
  if (file === null) return false;
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of file.createReadStream() as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength;
    hash.update(chunk);
  }
  return bytes === stored.bytes && hash.digest('hex') === stored.sha256;
}

/** Makes what is missing between the root and `directory`; each parent of a new directory is synced, so that it stays. */
async function makeDirectory(root: string, directory: string): Promise<void> {
  if (directory === root) return;
  try {
    await mkdir(directory, { mode: 0o700 });
  } catch (error) {
    if (codeOf(error) === 'ENOENT') {
      await makeDirectory(root, dirname(directory));
      return makeDirectory(root, directory);
    }
    if (codeOf(error) !== 'EEXIST') throw error;
    return requireDirectory(directory);
  }
  await syncDirectory(dirname(directory));
}

async function requireDirectory(path: string): Promise<void> {
  const found = await lstat(path);
  if (!found.isDirectory()) throw new Error(`${path} is not a directory of its own`);
}

async function openBlob(root: string, uri: string): ReturnType<BlobStore['open']> {
  const path = pathOf(root, uri);
  if (!(await liesInPlainDirectories(root, dirname(path)))) return null;
  const file = await openRegular(path);
  if (file === null) return null;
  const { size } = await file.stat();
  return { bytes: size, stream: () => file.createReadStream() as Readable };
}

async function liesInPlainDirectories(root: string, directory: string): Promise<boolean> {
  if (directory === root) return true;
  const found = await lstat(directory).catch(absent);
  return found?.isDirectory() === true && liesInPlainDirectories(root, dirname(directory));
}

/** A symbolic link, a directory, a pipe: none of them is a blob. */
async function openRegular(path: string): Promise<FileHandle | null> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(absent);
  if (file === null) return null;
  const { isFile } = await kindOf(file);
  if (isFile) return file;
  await file.close();
  return null;
}

async function kindOf(file: FileHandle): Promise<{ isFile: boolean }> {
  const stat = await file.stat();
  return { isFile: stat.isFile() };
}

function absent(error: unknown): null {
  if (['ENOENT', 'ENOTDIR', 'ELOOP', 'EMLINK', 'ENXIO'].includes(codeOf(error))) return null;
  throw error;
}

/** The server makes the keys; they are checked all the same, because a wrong one would leave the directory. */
function pathOf(root: string, uri: string): string {
  const segments = uri.split('/');
  if (uri.length > MAX_KEY_LENGTH || !segments.every((segment) => SEGMENT.test(segment))) {
    throw new Error(`not a key of a blob: ${JSON.stringify(uri.slice(0, MAX_KEY_LENGTH))}`);
  }
  return join(root, ...segments);
}

async function ping(temporary: string): Promise<void> {
  const path = join(temporary, randomUUID());
  const file = await open(path, 'wx', 0o600);
  try {
    await file.writeFile('ping');
    await file.sync();
  } finally {
    await file.close();
    await unlink(path);
  }
}

/** Left by processes that died while they wrote. */
async function removeStale(temporary: string): Promise<void> {
  const before = Date.now() - STALE_MS;
  for await (const entry of await opendir(temporary)) {
    const path = join(temporary, entry.name);
    const found = await lstat(path).catch(absent);
    if (found !== null && found.mtimeMs < before) await unlink(path).catch(absent);
  }
}

async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, constants.O_RDONLY);
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

async function translated<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (codeOf(error) !== 'ENOSPC' && codeOf(error) !== 'EDQUOT') throw error;
    throw new StorageFullError('the disk that holds the blobs is full', { cause: error });
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}
