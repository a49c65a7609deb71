/**
 * Blobs as files under one directory.
 *
 * Bytes are streamed into a temporary file of the same file system, synced, and then given their name with a hard
 * link: unlike a rename, a link never replaces what is there already. Then the directory is synced, so that after
 * `put` has resolved the name survives a power loss as well. Temporary files live in a directory of their own, whose
 * name no key can spell.
 */
import { createHash, randomUUID } from 'node:crypto';
import { link, lstat, mkdir, open, opendir, unlink } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { BlobConflictError, BlobTooLargeError } from '../ports/blob-store.ts';
import type { BlobStore, StoredBlob } from '../ports/blob-store.ts';
import { StorageFullError } from '../ports/job-store.ts';
import {
  absent,
  codeOf,
  DurableDirectories,
  isPlainBelow,
  openRegular,
  sizeOf,
  syncDirectory,
} from './durable-files.ts';

/** Starts with a dot, which no segment of a key may. */
const TEMPORARY = '.temporary';

const STALE_MS = 24 * 3_600_000;

const SEGMENT = /^[A-Za-z0-9_-][A-Za-z0-9._-]*$/;

const MAX_KEY_LENGTH = 512;

type PutParams = Parameters<BlobStore['put']>[0];

/** @param dir is made where it is missing; it holds nothing but blobs */
export async function openFileBlobs({ dir }: { dir: string }): Promise<BlobStore> {
  const root = resolve(dir);
  const temporary = join(root, TEMPORARY);
  await mkdir(temporary, { recursive: true, mode: 0o700 });
  await removeStale(temporary);
  const directories = new DurableDirectories(root);

  async function put(params: PutParams): Promise<StoredBlob> {
    const path = pathOf(root, params.uri);
    if (path === null) throw new Error(`not a key of a blob: ${JSON.stringify(params.uri.slice(0, 100))}`);
    return inDraft(temporary, async (draft, file) => {
      const stored = await fill(file, params);
      await directories.make(dirname(path));
      params.signal?.throwIfAborted();
      await publish(draft, path, params.uri, stored);
      return stored;
    });
  }

  return {
    put: (params) => translated(() => put(params)),
    remove: async ({ uri }) => {
      const path = pathOf(root, uri);
      if (path !== null) await unlink(path).catch(absent);
    },
    open: ({ uri }) => openBlob(root, uri),
    ping: () =>
      translated(() => inDraft(temporary, (_, file) => file.writeFile('ping').then(() => file.sync()))),
  };
}

/** The server makes the keys; they are checked all the same, because a wrong one would leave the directory. */
function pathOf(root: string, uri: string): string | null {
  const segments = uri.split('/');
  const safe = uri.length <= MAX_KEY_LENGTH && segments.every((segment) => SEGMENT.test(segment));
  return safe ? join(root, ...segments) : null;
}

/** Lends a new temporary file, which is gone afterwards whatever happened. */
async function inDraft<T>(
  temporary: string,
  work: (path: string, file: FileHandle) => Promise<T>,
): Promise<T> {
  const path = join(temporary, randomUUID());
  const file = await open(path, 'wx', 0o600);
  try {
    return await work(path, file);
  } finally {
    await file.close();
    await unlink(path).catch(absent);
  }
}

/** Writes the body to the disk, counting and hashing it on the way. */
async function fill(file: FileHandle, { uri, body, maxBytes, signal }: PutParams): Promise<StoredBlob> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of untilAborted(body, signal)) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw new BlobTooLargeError(`${uri} is larger than ${maxBytes} bytes`);
    hash.update(chunk);
    await file.writeFile(chunk);
  }
  await file.sync();
  return { sha256: hash.digest('hex'), bytes };
}

/** The chunks of `body`; throws as soon as `signal` fires, also while the next chunk is not there yet. */
async function* untilAborted(
  body: PutParams['body'],
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  if (body instanceof Uint8Array) {
    yield body;
    return;
  }
  const chunks = body[Symbol.asyncIterator]();
  const { aborted, stop } = rejectionOf(signal);
  try {
    for (;;) {
      const next = await Promise.race([chunks.next(), aborted]);
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    stop();
    // A source that hangs would hang here too, so nobody waits for it.
    chunks.return?.().catch(() => {});
  }
}

function rejectionOf(signal: AbortSignal | undefined): { aborted: Promise<never>; stop: () => void } {
  let stop = () => {};
  const aborted = new Promise<never>((_, reject) => {
    if (signal === undefined) return;
    const onAbort = () => reject(signal.reason as Error);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    stop = () => signal.removeEventListener('abort', onAbort);
  });
  aborted.catch(() => {});
  return { aborted, stop };
}

/** Gives the draft its name. Where the name is taken, the bytes there have to be the same. */
async function publish(draft: string, path: string, uri: string, stored: StoredBlob): Promise<void> {
  try {
    await link(draft, path);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
    if (!(await holds(path, stored))) {
      throw new BlobConflictError(`${uri} holds other bytes already`, { cause: error });
    }
  }
  await syncDirectory(dirname(path));
}

async function holds(path: string, stored: StoredBlob): Promise<boolean> {
  if ((await sizeOf(path)) !== stored.bytes) return false;
  const hash = createHash('sha256');
  for await (const chunk of chunksOf(path)) hash.update(chunk);
  return hash.digest('hex') === stored.sha256;
}

async function openBlob(root: string, uri: string): ReturnType<BlobStore['open']> {
  const path = pathOf(root, uri);
  if (path === null || !(await isPlainBelow(root, dirname(path)))) return null;
  const bytes = await sizeOf(path);
  return bytes === null
    ? null
    : { bytes, stream: () => Readable.from(chunksOf(path), { objectMode: false }) };
}

/** Opens the file with the first read, so that a stream that nobody reads holds nothing. */
async function* chunksOf(path: string): AsyncGenerator<Uint8Array> {
  const file = await openRegular(path);
  if (file === null) throw new Error(`${path} is no longer there`);
  try {
    yield* file.createReadStream({ autoClose: false }) as AsyncIterable<Uint8Array>;
  } finally {
    await file.close();
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

async function translated<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (codeOf(error) !== 'ENOSPC' && codeOf(error) !== 'EDQUOT') throw error;
    throw new StorageFullError('the disk that holds the blobs is full', { cause: error });
  }
}
