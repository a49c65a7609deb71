/** The invoice that `serve --demo` has ready as uploads/abc.pdf. */
import { BlobConflictError } from '../ports/blob-store.ts';
import { DEFAULT_TENANT } from '../engine/engine.ts';
import type { Parts } from './open.ts';

const REF = 'uploads/abc.pdf';

export async function seedSampleInvoice({ store, blobs, settings }: Parts): Promise<void> {
  if ((await store.uploads.find({ tenant: DEFAULT_TENANT, ref: REF })) !== null) return;
  const { sampleInvoice } = await import('../examples/index.ts');
  try {
    const body = await sampleInvoice();
    const { sha256, bytes } = await blobs.put({ uri: REF, body, maxBytes: settings.maxUploadBytes });
    const mediaType = 'application/pdf';
    await store.uploads.add({
      ref: REF,
      tenant: DEFAULT_TENANT,
      sha256,
      bytes,
      mediaType,
      fileName: 'abc.pdf',
    });
  } catch (error) {
    // Another server is seeding the invoice of another version at this moment: one is enough.
    if (!(error instanceof BlobConflictError)) throw error;
  }
}
