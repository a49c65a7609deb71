/** Durable bytes under keys that the server itself makes (`artifacts/...`, `evidence/...`, `uploads/...`). */
import type { Readable } from 'node:stream';

/** The bytes passed the limit that the caller gave; nothing was kept. */
export class BlobTooLargeError extends Error {
  override readonly name = 'BlobTooLargeError';
}

/** The key holds other bytes already; they were not touched. */
export class BlobConflictError extends Error {
  override readonly name = 'BlobConflictError';
}

export interface StoredBlob {
  sha256: string;
  bytes: number;
}

export interface BlobStore {
  /**
   * Stores bytes; when it resolves they are durable under `uri`, and before that nothing is to be seen there. The same bytes
   * again are no error.
   * @throws BlobTooLargeError past `maxBytes`; BlobConflictError; StorageFullError where the disk is full
   */
  put(params: {
    uri: string;
    body: Uint8Array | AsyncIterable<Uint8Array>;
    maxBytes: number;
    signal?: AbortSignal | undefined;
  }): Promise<StoredBlob>;

  /** Removes what no record refers to; nothing happens where there is none. */
  remove(params: { uri: string }): Promise<void>;

  /** Opens for reading, or null where there is nothing under `uri`. `stream` is to be consumed or destroyed. */
  open(params: { uri: string }): Promise<{ bytes: number; stream: () => Readable } | null>;

  /** Resolves where the store takes writes. */
  ping(): Promise<void>;
}
