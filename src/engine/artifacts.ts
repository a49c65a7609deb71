/** Reading what is durable besides the record: artifacts, evidence, input files. Small ones are rows, large ones blobs. */
import { Readable } from 'node:stream';
import type { ArtifactRef, Job } from '../domain/record.ts';
import type { BlobStore } from '../ports/blob-store.ts';
import type { Store } from '../ports/store.ts';
import type { Caller, EngineApi, OpenedArtifact, Refused, Result } from './api.ts';
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
        const found = job.errors
          .flatMap((error) => error.evidence ?? [])
          .find((evidence) => evidence.uri === uri);
        if (found === undefined) return refused('not_found', 'The job refers to no evidence of this uri.');
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

function notReady(job: Job): Refused {
  return refused('artifact_not_ready', `The job is ${job.status}; it has no artifact yet.`);
}

function outputName(job: Job): string {
  return `${job.jobId}.${job.artifact?.uri.split('.').at(-1) ?? 'json'}`;
}

async function open(
  { store, blobs }: ArtifactDeps,
  ref: ArtifactRef,
  fileName: string,
): Promise<Result<OpenedArtifact>> {
  const inline = await store.jobs.inlineBlob({ uri: ref.uri });
  if (inline !== null) return ok({ ref, fileName, stream: () => Readable.from([Buffer.from(inline.bytes)]) });
  const blob = await blobs.open({ uri: ref.uri });
  if (blob === null) throw new Error(`the record refers to ${ref.uri}, and there is nothing`);
  return ok({ ref, fileName, stream: blob.stream });
}
