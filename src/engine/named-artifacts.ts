/** The artifacts that a workflow keeps besides its output. Only one whose bytes are durable is ever listed. */
import { inspect } from 'node:util';
import type { NamedArtifact } from '../domain/record.ts';
import { OutputTooLargeError, RetryableError } from '../domain/thrown.ts';
import { BlobTooLargeError } from '../ports/blob-store.ts';
import type { Keeper } from './durable.ts';
import { isPassing } from './faults.ts';
import type { Patience } from './faults.ts';
import type { RunContext } from './workflow.ts';

export interface NamedArtifacts {
  save: RunContext<unknown>['saveArtifact'];
  /** The function runs again: what it has kept so far belongs to nobody, and its names are free. */
  forget(): void;
  /** Waits for those that the function did not wait for. @throws what one of them failed with */
  all(): Promise<NamedArtifact[]>;
}

const NAME = /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}$/;
const MEDIA_TYPE = /^[A-Za-z0-9!#$&^_.+-]+\/[A-Za-z0-9!#$&^_.+-]+(; ?[A-Za-z0-9-]+=[A-Za-z0-9._-]+)*$/;

export function isArtifactName(name: string): boolean {
  return NAME.test(name);
}

export function isMediaType(text: string): boolean {
  return MEDIA_TYPE.test(text);
}

export function createNamedArtifacts(keeper: Pick<Keeper, 'keep'>, patience: Patience): NamedArtifacts {
  const { signal } = patience;
  const taken = new Set<string>();
  const kept: { place: number; artifact: NamedArtifact }[] = [];
  const pending = new Set<Promise<void>>();
  let places = 0;

  async function keep(name: string, body: unknown, mediaType: string): Promise<void> {
    const place = (places += 1);
    try {
      const ref = await keeper.keep('artifacts', `named-${place}`, bytesOf(body), mediaType, patience);
      kept.push({ place, artifact: { name, ...ref } });
    } catch (error) {
      taken.delete(name);
      if (error instanceof BlobTooLargeError)
        throw new OutputTooLargeError(`The artifact ${name} is too large.`);
      // a stream cannot be read again: the whole attempt has to be
      throw isPassing(error)
        ? new RetryableError('There was no room for an artifact.', { cause: error })
        : error;
    }
  }

  return {
    async save(name, body, mediaType) {
      signal.throwIfAborted();
      if (!isArtifactName(name))
        throw new TypeError(`saveArtifact: ${inspect(name)} is no name for an artifact`);
      if (!isMediaType(mediaType))
        throw new TypeError(`saveArtifact: ${inspect(mediaType)} is no media type`);
      if (taken.has(name)) throw new TypeError(`saveArtifact: this attempt has an artifact ${name} already`);
      taken.add(name);
      const saving = keep(name, body, mediaType);
      pending.add(saving);
      try {
        await saving;
      } finally {
        pending.delete(saving);
      }
    },
    forget() {
      taken.clear();
      kept.length = 0;
    },
    async all() {
      await Promise.all(pending);
      return kept.toSorted((a, b) => a.place - b.place).map(({ artifact }) => artifact);
    },
  };
}

function bytesOf(body: unknown): Uint8Array | AsyncIterable<Uint8Array> {
  if (typeof body === 'string') return Buffer.from(body);
  if (body instanceof Uint8Array) return body;
  if (body !== null && typeof body === 'object' && Symbol.asyncIterator in body)
    return body as AsyncIterable<Uint8Array>;
  throw new TypeError('saveArtifact: the body must be text, bytes, or an async iterable of bytes');
}
