/** What a run with faults is judged by: the queue finishes once they end, and the checker finds no invariant broken. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { BlobStore } from '../../ports/blob-store.ts';
import type { Store } from '../../ports/store.ts';
import { check } from '../checker/checker.ts';
import { blobReader, readJobs } from '../checker/history.ts';
import type { ClientLog, History, Violation } from '../checker/history.ts';
import { GRACE_MS, LEASE_MS } from './processes.ts';

/** What the machine may take on top: two cores, and processes that start while others work. */
const SLACK_MS = 5000;
const POLL_MS = 100;

export interface Judgement {
  acknowledged: number;
  unanswered: number;
  jobs: number;
  recovered: number;
  completed: number;
  violations: Violation[];
}

/** Waits until no job is unfinished; false where that takes longer than `withinMs`. */
export async function drained(store: Store, withinMs: number): Promise<boolean> {
  const end = performance.now() + withinMs;
  let quietLooks = 0;
  // one look may miss a job that moves from the state that is read second to the one that was read first
  while (quietLooks < 2) {
    if (performance.now() > end) return false;
    const unfinished = (await some(store, 'queued')) || (await some(store, 'running'));
    quietLooks = unfinished ? 0 : quietLooks + 1;
    if (quietLooks < 2) await sleep(POLL_MS);
  }
  return true;
}

async function some(store: Store, status: 'queued' | 'running'): Promise<boolean> {
  const page = await store.jobs.list({ tenant: 'default', filter: { status }, after: null, limit: 1 });
  return page.jobs.length > 0;
}

export interface JudgeOptions {
  store: Store;
  blobs: BlobStore;
  clients: ClientLog;
  /** What workers wrote down, where they did. */
  workers?: History['workers'];
  /** Leases that were seen past their end. */
  overstays?: History['overstays'];
  /** When the last fault ended, by the store's clock. */
  quietSince: number;
  /** The store's time; the machine's own where they are the same. */
  now?: number;
  leaseMs?: number;
  graceMs?: number;
}

/** Reads every job of the store, which must have come to rest, against what clients were told. */
export async function judge(options: JudgeOptions): Promise<Judgement> {
  const {
    store,
    blobs,
    clients,
    workers,
    overstays,
    quietSince,
    leaseMs = LEASE_MS,
    graceMs = GRACE_MS,
  } = options;
  const read = await readJobs(store, 'default');
  const accounts = await store.ledger.limits();
  const now = options.now ?? Date.now();
  const violations = await check({
    ...read,
    accounts,
    clients,
    ...(workers === undefined ? {} : { workers }),
    ...(overstays === undefined ? {} : { overstays }),
    crashed: true,
    read: blobReader(store, blobs),
    now,
    // an attempt of a killed worker lives until its session is reaped
    graceMs: graceMs + 2 * leaseMs + SLACK_MS,
    quietMs: Math.min(now - quietSince, 2 * leaseMs + SLACK_MS),
    known: () => true,
  });
  const types = read.jobs.flatMap((job) => job.events.map((event) => event.type));
  return {
    violations,
    acknowledged: new Set(clients.creates.flatMap((line) => line.jobId ?? [])).size,
    unanswered: clients.creates.filter((line) => line.told === 'nothing').length,
    jobs: read.jobs.length,
    recovered: types.filter((type) => type === 'requeued_after_restart').length,
    completed: read.jobs.filter((job) => job.status === 'completed').length,
  };
}
