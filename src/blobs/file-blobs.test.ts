import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { BlobStore } from '../ports/blob-store.ts';
import { openFileBlobs } from './file-blobs.ts';

const URI = 'artifacts/job_1/output.json';

let directory: string;
let root: string;
let blobs: BlobStore;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'claimcheck-blobs-'));
  root = join(directory, 'blobs');
  blobs = await openFileBlobs({ dir: root });
});

afterEach(() => rm(directory, { recursive: true, force: true }));

function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

async function* chunked(...chunks: string[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield bytesOf(chunk);
}

function put(text: string, uri = URI) {
  return blobs.put({ uri, body: bytesOf(text), maxBytes: 1000 });
}

async function read(uri = URI): Promise<string | null> {
  const opened = await blobs.open({ uri });
  return opened === null ? null : (await buffer(opened.stream())).toString();
}

async function drafts(): Promise<string[]> {
  return readdir(join(root, '.temporary'));
}

describe('putting and reading', () => {
  it('gives back the bytes, their number and their digest', async () => {
    const body = chunked('hello ', 'world');
    const sha256 = createHash('sha256').update('hello world').digest('hex');
    expect(await blobs.put({ uri: URI, body, maxBytes: 11 })).toEqual({ sha256, bytes: 11 });
    expect((await blobs.open({ uri: URI }))?.bytes).toBe(11);
    expect(await read()).toBe('hello world');
    expect(await drafts()).toEqual([]);
  });

  it('keeps an empty blob, and large chunks whole', async () => {
    await put('', 'artifacts/empty');
    expect(await read('artifacts/empty')).toBe('');
    const large = new Uint8Array(3_000_000).fill(7);
    await blobs.put({ uri: 'artifacts/large', body: large, maxBytes: 3_000_000 });
    const opened = await blobs.open({ uri: 'artifacts/large' });
    expect((await buffer(opened!.stream())).equals(large)).toBe(true);
  });

  it('says that there is nothing where nothing was put', async () => {
    expect(await blobs.open({ uri: URI })).toBeNull();
    await put('x');
    expect(await blobs.open({ uri: 'artifacts/job_1' })).toBeNull();
    expect(await blobs.open({ uri: `${URI}/below` })).toBeNull();
  });

  it('holds no file open for a stream that nobody reads, and lets go of one that is destroyed', async () => {
    await put('hello');
    const opened = await blobs.open({ uri: URI });
    opened!.stream().destroy();
    const open = await readdir('/proc/self/fd').catch(() => []);
    for (let index = 0; index < 50; index += 1) (await blobs.open({ uri: URI }))?.stream();
    const later = await readdir('/proc/self/fd').catch(() => []);
    expect(later.length).toBeLessThan(open.length + 25);
  });

  it('can be asked whether it takes writes', async () => {
    await blobs.ping();
    expect(await drafts()).toEqual([]);
    await rm(root, { recursive: true });
    await expect(blobs.ping()).rejects.toThrow('ENOENT');
  });
});

describe('a name that is taken', () => {
  it('takes the same bytes again', async () => {
    const first = await put('same');
    expect(await put('same')).toEqual(first);
  });

  it('refuses other bytes, also of the same length, and keeps those it has', async () => {
    await put('one');
    await expect(put('two')).rejects.toMatchObject({ name: 'BlobConflictError' });
    await expect(put('longer')).rejects.toMatchObject({ name: 'BlobConflictError' });
    expect(await read()).toBe('one');
    expect(await drafts()).toEqual([]);
  });

  it('is given to one of two that come at the same time', async () => {
    const both = await Promise.allSettled([put('one'), put('two')]);
    expect(both.map((one) => one.status).toSorted()).toEqual(['fulfilled', 'rejected']);
    const won = both[0].status === 'fulfilled' ? 'one' : 'two';
    expect(await read()).toBe(won);
  });
});

describe('a body that fails', () => {
  it('leaves nothing where it is too large', async () => {
    const body = chunked('12345', '6');
    await expect(blobs.put({ uri: URI, body, maxBytes: 5 })).rejects.toMatchObject({
      name: 'BlobTooLargeError',
    });
    expect([await read(), await drafts()]).toEqual([null, []]);
  });

  it('leaves nothing where its source breaks', async () => {
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield bytesOf('half');
      throw new Error('the caller went away');
    }
    await expect(blobs.put({ uri: URI, body: broken(), maxBytes: 100 })).rejects.toThrow(
      'the caller went away',
    );
    expect([await read(), await drafts()]).toEqual([null, []]);
  });

  it('leaves nothing where it is aborted, also while its source hangs', async () => {
    const abort = new AbortController();
    async function* hanging(): AsyncGenerator<Uint8Array> {
      yield bytesOf('half');
      abort.abort(new Error('stopped'));
      await new Promise(() => {});
    }
    const params = { uri: URI, maxBytes: 100, signal: abort.signal };
    await expect(blobs.put({ ...params, body: hanging() })).rejects.toThrow('stopped');
    await expect(blobs.put({ ...params, body: bytesOf('whole') })).rejects.toThrow('stopped');
    expect([await read(), await drafts()]).toEqual([null, []]);
  });
});

describe('keys', () => {
  const WRONG = [
    '',
    '/',
    'a//b',
    '/etc/passwd',
    '../x',
    'a/../../x',
    'a/./b',
    '.hidden',
    'a/.hidden',
    '.temporary/x',
    'a\\b',
    'a\u0000b',
    'a b',
    'ä',
    'a%2f..',
    'C:x',
    'a'.repeat(600),
  ];

  it.each(WRONG)('%j is refused for writing, and is nothing for reading', async (uri) => {
    await expect(put('x', uri)).rejects.toThrow('not a key of a blob');
    expect(await blobs.open({ uri })).toBeNull();
  });

  it('that lead through a symbolic link are nothing, and are not written', async () => {
    await writeFile(join(directory, 'secret'), 'secret');
    await put('x', 'artifacts/x');
    await symlink(join(directory, 'secret'), join(root, 'artifacts', 'link'));
    await symlink(directory, join(root, 'outside'));
    expect(await read('artifacts/link')).toBeNull();
    expect(await read('outside/secret')).toBeNull();
    await expect(put('secret', 'artifacts/link')).rejects.toMatchObject({ name: 'BlobConflictError' });
    await expect(put('y', 'outside/y')).rejects.toThrow('not a directory of its own');
    await mkdir(join(directory, 'deep'));
    await expect(put('y', 'outside/deep/y')).rejects.toThrow('not a directory of its own');
    expect(await readdir(join(directory, 'deep'))).toEqual([]);
  });
});

describe('what a dead process left', () => {
  it('is removed at the next opening once it is old, and is never a blob', async () => {
    const old = join(root, '.temporary', 'old');
    const recent = join(root, '.temporary', 'recent');
    for (const path of [old, recent]) await writeFile(path, 'half');
    const twoDaysAgo = Date.now() / 1000 - 2 * 24 * 3600;
    await utimes(old, twoDaysAgo, twoDaysAgo);
    await openFileBlobs({ dir: root });
    expect(await drafts()).toEqual(['recent']);
    expect(await blobs.open({ uri: '.temporary/recent' })).toBeNull();
  });

  it('files and directories are readable by their owner only', async () => {
    await put('x', 'artifacts/x');
    expect((await stat(join(root, 'artifacts'))).mode & 0o077).toBe(0);
    expect((await stat(join(root, 'artifacts', 'x'))).mode & 0o077).toBe(0);
  });
});
