/** One opened store: all that is durable but the large blobs. */
import type { EvidenceStore } from './evidence-store.ts';
import type { JobStore } from './job-store.ts';
import type { KeyStore } from './key-store.ts';
import type { Ledger } from './ledger.ts';
import type { UploadStore } from './upload-store.ts';

export interface Store {
  /** For people: `sqlite /path/claimcheck.db`. Never holds a password. */
  description: string;
  jobs: JobStore;
  /** Calls to models, and what they cost. */
  ledger: Ledger;
  /** Which evidence has had its time. */
  evidence: EvidenceStore;
  keys: KeyStore;
  uploads: UploadStore;
  /** Releases what is held; verbs called later reject. */
  close(): Promise<void>;
}
