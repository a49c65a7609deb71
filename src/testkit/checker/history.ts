/** What the checker reads: the store as it is now, and what clients (and, where they keep one, workers) wrote down. */
import type { Job, StatusView } from '../../domain/record.ts';
import type { BlobStore } from '../../ports/blob-store.ts';
import type { KnownLimit } from '../../ports/ledger.ts';
import type { Store } from '../../ports/store.ts';

/** What a client was told: 2xx, 4xx, or nothing (a broken connection, a 5xx). */
export type Told = 'accepted' | 'refused' | 'nothing';

export interface CreateLine {
  tenant: string;
  told: Told;
  /** Set where it was accepted. */
  jobId?: string;
  /** SHA-256 of the canonical JSON of the input that was sent. */
  inputSha256: string;
  idempotencyKey?: string;
}

export interface ClientLog {
  /** One line for each job that was asked for. */
  creates: CreateLine[];
  cancels: { jobId: string; told: Told }[];
  replays: { jobId: string; told: Told; decisionId?: string }[];
  /** What readers of an event stream got, in the order in which they got it. */
  streams?: { jobId: string; events: { seq: number; type: string }[] }[];
}

/** What workers wrote down, in any order. */
export interface WorkerLog {
  claims: { jobId: string; attempt: number; token: number }[];
  settlements: {
    jobId: string;
    attempt: number;
    command: 'complete' | 'fail' | 'release' | 'hold';
    /** `nothing`: no reply came, so it may have been written. */
    told: 'settled' | 'lease_lost' | 'nothing';
  }[];
}

export interface History {
  jobs: readonly Job[];
  /** The list's rows, read while nothing moved. */
  statuses: readonly StatusView[];
  /** Today's accounts, where the jobs are those of all tenants. */
  accounts?: readonly KnownLimit[];
  clients: ClientLog;
  workers?: WorkerLog;
  /** Leases that a look during the run found past their end, and how long; breaks of the store do not count. */
  overstays?: { jobId: string; lateMs: number }[];
  /** True where processes were killed on the way. */
  crashed: boolean;
  /** The bytes that a reference stands for, or null where they are gone. */
  read: (uri: string) => Promise<Uint8Array | null>;
  /** The store's time when the jobs were read. */
  now: number;
  /** How long after its time a sweep may still come, and an attempt may still live. */
  graceMs: number;
  /** How long all faults have been off; a job that was due all this while must have moved. */
  quietMs: number;
  /** Whether some worker that is running knows the job's workflow. */
  known: (job: Job) => boolean;
}

export interface Violation {
  /** The number of the invariant. */
  invariant: number;
  jobId: string | null;
  message: string;
}

/** Reads every job of a tenant. Jobs that come in meanwhile may be missed: call it when the clients are done. */
export async function readJobs(store: Store, tenant: string): Promise<Pick<History, 'jobs' | 'statuses'>> {
  const jobs: Job[] = [];
  const statuses: StatusView[] = [];
  let after: string | null = null;
  do {
    const page: Awaited<ReturnType<Store['jobs']['list']>> = await store.jobs.list({
      tenant,
      filter: {},
      after,
      limit: 500,
    });
    for (const status of page.jobs) {
      const job = await store.jobs.job({ tenant, jobId: status.jobId });
      if (job !== null) jobs.push(job);
      statuses.push(status);
    }
    after = page.next;
  } while (after !== null);
  return { jobs, statuses };
}

/** A `read` over the places that bytes are kept in: rows of the store, then the blobs. */
export function blobReader(store: Store, blobs: BlobStore): History['read'] {
  return async (uri) => {
    const inline = await store.jobs.inlineBlob({ uri });
    if (inline !== null) return inline.bytes;
    const blob = await blobs.open({ uri });
    if (blob === null) return null;
    const chunks: Uint8Array[] = [];
    for await (const chunk of blob.stream()) chunks.push(chunk as Uint8Array);
    return Buffer.concat(chunks);
  };
}

/** Items by what they have in common, each group in the order of the items. */
export function grouped<Item, Key>(items: readonly Item[], keyOf: (item: Item) => Key): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups;
}
