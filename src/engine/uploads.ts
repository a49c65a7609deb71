/** Files that callers hand in, streamed to durable storage under names of the server's own. */
import { BlobTooLargeError } from '../ports/blob-store.ts';
import type { BlobStore } from '../ports/blob-store.ts';
import { StorageFullError } from '../ports/job-store.ts';
import type { Upload, UploadStore } from '../ports/upload-store.ts';
import type { EngineApi } from './api.ts';
import { ok, refused } from './refusals.ts';

/** Endings for the media types that people look at; anything else is stored as `.bin`. */
const ENDINGS: Readonly<Record<string, string>> = {
  'application/pdf': 'pdf',
  'application/json': 'json',
  'text/plain': 'txt',
  'text/csv': 'csv',
  'text/markdown': 'md',
  'text/html': 'html',
  'image/png': 'png',
  'image/jpeg': 'jpg',
};

export function createUploads(deps: {
  uploads: UploadStore;
  blobs: BlobStore;
  maxBytes: number;
  newId: () => string;
}): Pick<EngineApi, 'upload'> {
  /** Where there is no room for the line that names it, the file is of no use, and takes room that others need. */
  async function add(upload: Upload): Promise<void> {
    try {
      await deps.uploads.add(upload);
    } catch (error) {
      if (error instanceof StorageFullError) await deps.blobs.remove({ uri: upload.ref });
      throw error;
    }
  }

  return {
    async upload({ tenant }, { body, mediaType, fileName, signal }) {
      const type = mediaType.split(';')[0]?.trim().toLowerCase() ?? '';
      const ref = `uploads/${deps.newId().toLowerCase()}.${ENDINGS[type] ?? 'bin'}`;
      try {
        const { sha256, bytes } = await deps.blobs.put({ uri: ref, body, maxBytes: deps.maxBytes, signal });
        await add({ ref, tenant, sha256, bytes, mediaType, fileName });
        return ok({ inputRef: ref, sha256, bytes, mediaType });
      } catch (error) {
        if (!(error instanceof BlobTooLargeError)) throw error;
        return refused('too_large', `The file is larger than ${deps.maxBytes} bytes.`);
      }
    },
  };
}
