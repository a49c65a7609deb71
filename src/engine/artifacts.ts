/** Reading what is durable besides the record: artifacts, evidence, input files. Small ones are rows, large ones blobs. */
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { ArtifactRef, Job } from '../domain/record.ts';
import type { BlobStore } from '../ports/blob-store.ts';
import type { Store } from '../ports/store.ts';
import type { Caller, EngineApi, OpenedArtifact, Refused, Result } from './api.ts';
import { hasExpired } from './retention.ts';
import { noSuchJob, ok, refused } from './refusals.ts';

interface ArtifactDeps {
  store: Pick<Store, 'jobs' | 'uploads'>;
  blobs: BlobStore;
}

type ArtifactReaders = Pick<EngineApi, 'openArtifact' | 'openEvidence' | 'openInputFile'>;

export function createArtifactReaders(deps: ArtifactDeps): ArtifactReaders {
  const withJob = async (
    { tenant }: Caller,
    jobId: string,
    read: (job: Job) => Promise<Result<OpenedArtifact>> | Refused,
  ): Promise<Result<OpenedArtifact>> => {
    const job = await deps.store.jobs.job({ tenant, jobId });
    return job === null ? noSuchJob(jobId) : read(job);
  };

  return {
    openArtifact: (caller, jobId, name) =>
      withJob(caller, jobId, (job) => {
        if (job.artifact === null) return notReady(job);
        if (name === null) return open(deps, job.artifact, outputName(job));
        const named = job.artifacts.find((artifact) => artifact.name === name);
        return named === undefined
          ? refused('not_found', 'The job has no artifact of this name.')
          : open(deps, named, name);
      }),

    openEvidence: (caller, jobId, uri) =>
      withJob(caller, jobId, (job) => {
        const found = evidenceOf(job).find((evidence) => evidence.uri === uri);
        if (found === undefined) return refused('not_found', 'The job refers to no evidence of this uri.');
        if (hasExpired(job, uri)) {
          return refused('evidence_expired', 'It was erased: evidence is kept for so long and no longer.');
        }
        const mediaType = uri.endsWith('.json') ? 'application/json' : 'text/plain; charset=utf-8';
        return open(deps, { ...found, mediaType }, uri.split('/').at(-1) ?? 'evidence');
      }),

    openInputFile: (caller, jobId) =>
      withJob(caller, jobId, async (job) => {
        const ref = job.inputRef;
        const upload = ref === null ? null : await deps.store.uploads.find({ tenant: job.tenant, ref });
        if (upload === null) return refused('not_found', 'The job refers to no file.');
        return open(
          deps,
          { ...upload, uri: upload.ref },
          upload.fileName ?? upload.ref.split('/').at(-1) ?? 'input',
        );
      }),
  };
}

/** What explains attempts that failed, and what models answered. */
function evidenceOf({ errors, calls }: Job): Omit<ArtifactRef, 'mediaType'>[] {
  const responses = calls.flatMap(({ response }) => response ?? []);
  return [...errors.flatMap(({ evidence }) => evidence ?? []), ...responses];
}

function notReady(job: Job): Refused {
  return refused('artifact_not_ready', `The job is ${job.status}; it has no artifact yet.`);
}

function outputName(job: Job): string {
  return `${job.jobId}.${job.artifact?.uri.split('.').at(-1) ?? 'json'}`;
}

/** @throws Error where what the record refers to is not there, or not in its size: somebody else was at the files */
async function open(
  { store, blobs }: ArtifactDeps,
  ref: ArtifactRef,
  fileName: string,
): Promise<Result<OpenedArtifact>> {
  const inline = await store.jobs.inlineBlob({ uri: ref.uri });
  if (inline !== null) {
    const { bytes } = inline;
    return ok({ ref, fileName, stream: () => Readable.from([Buffer.from(bytes)]) });
  }
  const blob = await blobs.open({ uri: ref.uri });
  if (blob === null) throw new Error(`the record refers to ${ref.uri}, and there is nothing`);
  if (blob.bytes !== ref.bytes)
    throw new Error(`${ref.uri} has ${blob.bytes} bytes, and should have ${ref.bytes}`);
  return ok({ ref, fileName, stream: () => Readable.from(verified(blob.stream(), ref)) });
}

/** The last chunk is held back until the digest is known to match, so that altered bytes never pass for whole. */
async function* verified(stream: Readable, { uri, sha256 }: ArtifactRef): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256');
  let held: Uint8Array | null = null;
  for await (const chunk of stream as AsyncIterable<Uint8Array>) {
    hash.update(chunk);
    if (held !== null) yield held;
    held = chunk;
  }
  if (hash.digest('hex') !== sha256) throw new Error(`${uri} holds other bytes than those that were stored`);
  if (held !== null) yield held;
}
