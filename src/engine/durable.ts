/**
 * Bytes of an attempt made durable under keys that carry its token, so that two attempts never write to one.
 * Small ones travel with the settlement and are written in its transaction; larger ones are durable before it.
 */
import { hash } from 'node:crypto';
import type { ArtifactRef } from '../domain/record.ts';
import type { BlobStore } from '../ports/blob-store.ts';
import type { ClaimedJob, InlineBlob } from '../ports/job-store.ts';
import type { EngineSettings } from './settings.ts';

export interface Keeper {
  /** @param name the last part of the key; one of the server's own */
  keep(
    kind: 'artifacts' | 'evidence',
    name: string,
    body: Uint8Array | AsyncIterable<Uint8Array>,
    mediaType: string,
  ): Promise<ArtifactRef>;
  /** What has to be written with the settlement. */
  inline: InlineBlob[];
}

export function createKeeper(
  blobs: BlobStore,
  { jobId, token }: Pick<ClaimedJob, 'jobId' | 'token'>,
  { inlineBytes, maxOutputBytes }: Pick<EngineSettings, 'inlineBytes' | 'maxOutputBytes'>,
): Keeper {
  const inline: InlineBlob[] = [];
  return {
    inline,
    async keep(kind, name, body, mediaType) {
      const uri = `${kind}/${jobId}/${token}/${name}`;
      if (body instanceof Uint8Array && body.byteLength <= inlineBytes) {
        inline.push({ uri, bytes: body, mediaType });
        return { uri, sha256: sha256(body), bytes: body.byteLength, mediaType };
      }
      const stored = await blobs.put({ uri, body, maxBytes: maxOutputBytes });
      return { uri, ...stored, mediaType };
    },
  };
}

function sha256(bytes: Uint8Array): string {
  return hash('sha256', bytes, 'hex');
}
