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
  readonly inline: readonly InlineBlob[];
}

type Kind = 'artifacts' | 'evidence';

export function createKeeper(
  blobs: BlobStore,
  job: Pick<ClaimedJob, 'jobId' | 'token'>,
  settings: Pick<EngineSettings, 'inlineBytes' | 'maxOutputBytes'>,
): Keeper {
  return new AttemptKeeper(blobs, job, settings);
}

const NONE: readonly InlineBlob[] = [];

class AttemptKeeper implements Keeper {
  readonly #blobs: BlobStore;
  readonly #job: Pick<ClaimedJob, 'jobId' | 'token'>;
  readonly #settings: Pick<EngineSettings, 'inlineBytes' | 'maxOutputBytes'>;
  inline: readonly InlineBlob[] = NONE;

  constructor(
    blobs: BlobStore,
    job: Pick<ClaimedJob, 'jobId' | 'token'>,
    settings: Pick<EngineSettings, 'inlineBytes' | 'maxOutputBytes'>,
  ) {
    this.#blobs = blobs;
    this.#job = job;
    this.#settings = settings;
  }

  keepInline(kind: Kind, name: string, body: Uint8Array, mediaType: string): ArtifactRef | null {
    if (body.byteLength > this.#settings.inlineBytes) return null;
    const uri = this.#uriOf(kind, name);
    const blob = { uri, bytes: body, mediaType };
    this.inline = this.inline === NONE ? [blob] : [...this.inline, blob]; // mostly the only one
    return { uri, sha256: sha256(body), bytes: body.byteLength, mediaType };
  }

  async keep(
    kind: Kind,
    name: string,
    body: Uint8Array | AsyncIterable<Uint8Array>,
    mediaType: string,
    patience?: Patience,
  ): Promise<ArtifactRef> {
    const small = body instanceof Uint8Array ? this.keepInline(kind, name, body, mediaType) : null;
    if (small !== null) return small;
    const uri = this.#uriOf(kind, name);
    const { maxOutputBytes: maxBytes } = this.#settings;
    const put = () => this.#blobs.put({ uri, body, maxBytes });
    const again = patience !== undefined && body instanceof Uint8Array;
    const stored = await (again ? patiently(patience, put) : put());
    return { uri, ...stored, mediaType };
  }

  #uriOf(kind: Kind, name: string): string {
    const { jobId, token } = this.#job;
    return `${kind}/${jobId}/${token}/${name}`;
  }
}

function sha256(bytes: Uint8Array): string {
  return hash('sha256', bytes, 'hex');
}
