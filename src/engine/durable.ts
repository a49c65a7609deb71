/**
 * Bytes of an attempt made durable under keys that carry its token, so that two attempts never write to one.
 * Small ones travel with the settlement and are written in its transaction; larger ones are durable before it.
 */
import { hash } from 'node:crypto';
import type { ArtifactRef } from '../domain/record.ts';
import type { BlobStore } from '../ports/blob-store.ts';
import type { ClaimedJob, InlineBlob } from '../ports/job-store.ts';
import { patiently } from './faults.ts';
import type { Patience } from './faults.ts';
import type { EngineSettings } from './settings.ts';

export interface Keeper {
  /**
   * Keeps bytes that are small enough to travel with the settlement; null where they are not.
   * @param name the last part of the key; one of the server's own
   */
  keepInline(kind: Kind, name: string, body: Uint8Array, mediaType: string): ArtifactRef | null;
  /**
   * Keeps bytes of any size.
   * @param patience where it is given, bytes that are all there are tried again while the disk is full
   */
  keep(
    kind: Kind,
    name: string,
    body: Uint8Array | AsyncIterable<Uint8Array>,
    mediaType: string,
    patience?: Patience,
  ): Promise<ArtifactRef>;
  /** What has to be written with the settlement. */
  inline: InlineBlob[];
}

type Kind = 'artifacts' | 'evidence';

export function createKeeper(
  blobs: BlobStore,
  { jobId, token }: Pick<ClaimedJob, 'jobId' | 'token'>,
  { inlineBytes, maxOutputBytes }: Pick<EngineSettings, 'inlineBytes' | 'maxOutputBytes'>,
): Keeper {
  const inline: InlineBlob[] = [];
  const uriOf = (kind: Kind, name: string) => `${kind}/${jobId}/${token}/${name}`;

  function keepInline(kind: Kind, name: string, body: Uint8Array, mediaType: string): ArtifactRef | null {
    if (body.byteLength > inlineBytes) return null;
    const uri = uriOf(kind, name);
    inline.push({ uri, bytes: body, mediaType });
    return { uri, sha256: sha256(body), bytes: body.byteLength, mediaType };
  }

  return {
    inline,
    keepInline,
    async keep(kind, name, body, mediaType, patience) {
      const small = body instanceof Uint8Array ? keepInline(kind, name, body, mediaType) : null;
      if (small !== null) return small;
      const uri = uriOf(kind, name);
      const put = () => blobs.put({ uri, body, maxBytes: maxOutputBytes });
      const again = patience !== undefined && body instanceof Uint8Array;
      const stored = await (again ? patiently(patience, put) : put());
      return { uri, ...stored, mediaType };
    },
  };
}

function sha256(bytes: Uint8Array): string {
  return hash('sha256', bytes, 'hex');
}
