/**
 * Evidence has its own time: so long after a job ended, the raw responses of its calls are erased, with whatever else explains
 * the attempts that made them. The record keeps where they were and their digests, and says when they were erased.
 */
import type { ResponseRef } from '../domain/model-call.ts';
import type { Job } from '../domain/record.ts';
import type { BlobStore } from '../ports/blob-store.ts';
import type { Clock } from '../ports/clock.ts';
import type { EvidenceStore } from '../ports/evidence-store.ts';
import type { JobStore } from '../ports/job-store.ts';
import type { Log } from '../ports/telemetry.ts';
import { nameOf } from './faults.ts';
import { createPause } from './pause.ts';

interface RetentionDeps {
  evidence: EvidenceStore;
  jobs: Pick<JobStore, 'job'>;
  blobs: Pick<BlobStore, 'remove'>;
  clock: Clock;
  log: Log;
  retentionMs: number;
}

const PERIOD_MS = 60_000;
/** Where there is more, the next round comes so soon: work is done beside the queue, not in its way. */
const MORE_MS = 1_000;
/** Calls that one round looks at. */
const ROUND = 20;

export function createRetention(deps: RetentionDeps): { start(): void; stop(): void } {
  const { evidence, jobs, blobs, clock, log, retentionMs: olderThanMs } = deps;
  const stopping = new AbortController();
  const pause = createPause(clock);

  async function erase({ jobId, tenant }: { jobId: string; tenant: string }): Promise<void> {
    const before = await jobs.job({ tenant, jobId });
    if (before === null) return;
    const uris = evidenceUris(before, () => true);
    await evidence.erase({ jobId, olderThanMs, uris });
    const marked = await jobs.job({ tenant, jobId });
    const erased = marked === null ? [] : evidenceUris(marked, isErased);
    for (const uri of erased) await blobs.remove({ uri });
    await evidence.gone({ jobId });
    if (erased.length > 0)
      log.info({ audit: true, job_id: jobId, pieces: erased.length }, 'evidence was erased');
  }

  /** Whether there is more to be done soon. */
  async function round(): Promise<boolean> {
    const old = await evidence.old({ olderThanMs, limit: ROUND });
    for (const job of old) {
      if (stopping.signal.aborted) return false;
      await erase(job);
    }
    return old.length > 0;
  }

  async function loop(): Promise<void> {
    while (!stopping.signal.aborted) {
      const more = await round().catch((error: unknown) => {
        log.warn({ error_name: nameOf(error) }, 'old evidence could not be erased; it is tried again');
        return false;
      });
      await pause.wait(more ? MORE_MS : PERIOD_MS, stopping.signal);
    }
  }

  return { start: () => void loop(), stop: () => stopping.abort() };
}

function isErased({ erasedAt }: ResponseRef): boolean {
  return erasedAt !== undefined;
}

/** What explains the attempts that have such a response, the responses included. */
function evidenceUris({ calls, errors }: Job, isOne: (response: ResponseRef) => boolean): string[] {
  const chosen = calls.filter(({ response }) => response !== null && isOne(response));
  const attempts = new Set(chosen.map(({ attempt }) => attempt));
  const explained = errors.filter(({ attempt }) => attempts.has(attempt));
  const uris = [
    ...chosen.flatMap(({ response }) => response?.uri ?? []),
    ...explained.flatMap(({ evidence = [] }) => evidence.map(({ uri }) => uri)),
  ];
  return [...new Set(uris)];
}

/** Whether this evidence of a job had its time. */
export function hasExpired(job: Job, uri: string): boolean {
  return evidenceUris(job, isErased).includes(uri);
}
