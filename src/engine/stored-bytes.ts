/** The bytes under a reference of the record: a row of the store where they are few, a blob where they are many. */
import type { BlobStore } from '../ports/blob-store.ts';
import type { JobStore } from '../ports/job-store.ts';

/** Null where there is nothing. */
export async function storedBytes(
  { jobs, blobs }: { jobs: Pick<JobStore, 'inlineBlob'>; blobs: Pick<BlobStore, 'open'> },
  uri: string,
): Promise<Uint8Array | null> {
  const inline = await jobs.inlineBlob({ uri });
  if (inline !== null) return inline.bytes;
  const blob = await blobs.open({ uri });
  if (blob === null) return null;
  const chunks: Uint8Array[] = [];
  for await (const chunk of blob.stream() as AsyncIterable<Uint8Array>) chunks.push(chunk);
  return Buffer.concat(chunks);
}
