/** Invariants 9 to 11, 14, 19, 20, 27 and 28: leases, objects and time. */
import { createHash } from 'node:crypto';
import type { Job, JobEvent } from '../../domain/record.ts';
import { grouped } from './history.ts';
import type { History, Violation, WorkerLog } from './history.ts';

/** 9. Checked: a job has a lease, with worker, token and expiry, exactly while it is running. */
export function runningHasLease({ jobs }: History): Violation[] {
  return jobs.flatMap(({ jobId, status, lease }) => {
    if (lease === null)
      return status === 'running' ? [{ invariant: 9, jobId, message: 'is running without a lease' }] : [];
    if (status !== 'running') return [{ invariant: 9, jobId, message: `is ${status} and has a lease` }];
    const whole = lease.worker !== '' && lease.token > 0 && Number.isFinite(lease.until);
    return whole ? [] : [{ invariant: 9, jobId, message: 'has a lease without worker, token or expiry' }];
  });
}

/**
 * 10. Checked: a lease is that of the record's attempt; and, where workers wrote down their claims, no attempt was given out
 * twice, the tokens of one job grow from attempt to attempt, and its lease is not older than the last.
 */
export function tokensGrow({ jobs, workers }: History): Violation[] {
  const claims = grouped(workers?.claims ?? [], (claim) => claim.jobId);
  return jobs.flatMap(({ jobId, lease, attempt }) => {
    const own = (claims.get(jobId) ?? []).toSorted((a, b) => a.attempt - b.attempt || a.token - b.token);
    const fault = claimFault(own);
    if (fault !== null) return [{ invariant: 10, jobId, message: fault }];
    if (lease === null) return [];
    if (lease.attempt !== attempt) {
      return [
        { invariant: 10, jobId, message: `attempt ${attempt} runs on the lease of attempt ${lease.attempt}` },
      ];
    }
    const newest = own.at(-1)?.token ?? 0;
    return lease.token < newest
      ? [{ invariant: 10, jobId, message: `its lease is older than token ${newest}` }]
      : [];
  });
}

function claimFault(claims: WorkerLog['claims']): string | null {
  for (const [index, { attempt, token }] of claims.entries()) {
    const before = claims[index - 1];
    if (before === undefined) continue;
    if (attempt === before.attempt) return `attempt ${attempt} was given out twice`;
    if (token <= before.token) return `token ${token} came after ${before.token}`;
  }
  return null;
}

/**
 * 11. Checked where workers wrote down what they were told: no attempt was settled twice, each that was settled ended in the
 * history as it was settled, and none that heard nothing but a refusal completed its job.
 */
export function staleWritesNothing({ jobs, workers }: History): Violation[] {
  const byId = new Map(jobs.map((job) => [job.jobId, job]));
  const groups = grouped(workers?.settlements ?? [], ({ jobId, attempt }) => `${jobId} ${attempt}`);
  return [...groups.values()].flatMap((lines) => {
    const { jobId = '', attempt = 0 } = lines[0] ?? {};
    const end = byId
      .get(jobId)
      ?.events.find(
        (event) => event.attempt === attempt && event.from === 'running' && event.to !== 'running',
      );
    const fault = settlementFault(lines, end);
    return fault === null ? [] : [{ invariant: 11, jobId, message: `attempt ${attempt} ${fault}` }];
  });
}

function settlementFault(lines: WorkerLog['settlements'], end: JobEvent | undefined): string | null {
  const settled = lines.filter(({ told }) => told === 'settled');
  const [line] = settled;
  if (settled.length > 1) return `was settled ${settled.length} times`;
  if (line !== undefined) {
    const told = `was told that its ${line.command} is written`;
    return end !== undefined && ENDS_AS[line.command](end)
      ? null
      : `${told}, and its history says ${end?.code ?? end?.type ?? 'nothing'}`;
  }
  const refused = lines.every(({ told }) => told === 'lease_lost');
  return refused && end?.type === 'completed' ? 'was refused, and its history says that it completed' : null;
}

const ENDS_AS: Record<WorkerLog['settlements'][number]['command'], (end: JobEvent) => boolean> = {
  complete: ({ type }) => type === 'completed',
  // `worker_lost` too: the process of an isolated attempt may have ended
  fail: ({ type, code }) => type !== 'completed' && code !== undefined && code !== 'cancelled',
  release: ({ type, code }) => type === 'queued' && code === undefined,
  hold: ({ type, code }) => (type === 'queued' && code === undefined) || code === 'deadline_exceeded',
};

/** 14. Checked: no lease of a running job expired longer ago than the grace, now or when somebody looked. */
export function expiredIsSwept({ jobs, overstays = [], now, graceMs }: History): Violation[] {
  const left = jobs.flatMap(({ jobId, lease }) =>
    lease === null ? [] : [{ jobId, lateMs: now - lease.until }],
  );
  return [...left, ...overstays].flatMap(({ jobId, lateMs }) =>
    lateMs <= graceMs
      ? []
      : [{ invariant: 14, jobId, message: `was running on a lease that had expired ${lateMs} ms ago` }],
  );
}

/**
 * 19. Checked: a completed job has an artifact, and every object that a record refers to (artifacts and evidence) reads back
 * with its size and SHA-256.
 */
export async function objectsReadBack({ jobs, read }: History): Promise<Violation[]> {
  const found: Violation[] = [];
  for (const job of jobs) {
    const { jobId } = job;
    if (job.status === 'completed' && job.artifact === null) {
      found.push({ invariant: 19, jobId, message: 'is completed without an artifact' });
    }
    for (const ref of refsOf(job)) {
      const bytes = await read(ref.uri);
      const sha256 = bytes && createHash('sha256').update(bytes).digest('hex');
      if (bytes?.byteLength === ref.bytes && sha256 === ref.sha256) continue;
      const is = bytes === null ? 'is gone' : `has ${bytes.byteLength} bytes of ${sha256}`;
      found.push({
        invariant: 19,
        jobId,
        message: `${ref.uri} ${is}; recorded are ${ref.bytes} bytes of ${ref.sha256}`,
      });
    }
  }
  return found;
}

/** 20. Checked: no two references, of whatever jobs and attempts, name one key and different bytes. */
export function keysAreWrittenOnce({ jobs }: History): Violation[] {
  const seen = new Map<string, string>();
  return jobs.flatMap((job) =>
    refsOf(job).flatMap(({ uri, sha256 }) => {
      const before = seen.get(uri) ?? sha256;
      seen.set(uri, before);
      return before === sha256
        ? []
        : [{ invariant: 20, jobId: job.jobId, message: `${uri} stands for different bytes` }];
    }),
  );
}

function refsOf({
  artifact,
  artifacts,
  errors,
  calls,
}: Job): { uri: string; sha256: string; bytes: number }[] {
  return [
    ...(artifact === null ? [] : [artifact]),
    ...artifacts,
    ...errors.flatMap((error) => error.evidence ?? []),
    ...calls.flatMap((call) => call.response ?? []),
  ];
}

/**
 * 27. Checked: no job that a worker knows has waited for longer than the faults have been off since it was due, and none is
 * unfinished that long past its deadline.
 */
export function dueMoves({ jobs, now, quietMs, known }: History): Violation[] {
  return jobs.flatMap((job) => {
    const { jobId, status, limits } = job;
    if (status !== 'queued' && status !== 'running') return [];
    const late = now - limits.deadlineAt;
    if (late > quietMs)
      return [{ invariant: 27, jobId, message: `is ${status} ${late} ms past its deadline` }];
    const waited = now - dueOf(job);
    const stuck = status === 'queued' && known(job) && waited > quietMs;
    return stuck ? [{ invariant: 27, jobId, message: `has been due for ${waited} ms` }] : [];
  });
}

function dueOf({ events, runAt }: Job): number {
  const last = events.findLast((event) => event.to === 'queued');
  return Math.max(runAt, last?.due ?? last?.at ?? runAt);
}

/**
 * 28. Checked: no attempt starts before `run_at` or before the due time of the event that queued it; and of the attempts
 * since limits were last changed by a replay, none starts at or past the deadline and none outlives its timeout by
 * more than the grace.
 */
export function startsInTime({ jobs, graceMs }: History): Violation[] {
  return jobs.flatMap((job) => {
    const { jobId, events, runAt } = job;
    const current = events.findLastIndex((event) => event.from === 'dead_letter' && event.to === 'queued');
    return events.flatMap((event, index) => {
      const found = event.type === 'running' ? startFault(event, events.slice(0, index), runAt) : null;
      const late = index > current ? lateFault(job, event, index, graceMs) : null;
      return [found, late].flatMap((message) =>
        message === null ? [] : [{ invariant: 28, jobId, message }],
      );
    });
  });

  function startFault(running: JobEvent, before: JobEvent[], runAt: number): string | null {
    const due = before.findLast((event) => event.to === 'queued')?.due ?? runAt;
    const early = Math.max(due, runAt) - running.at;
    return early > 0 ? `attempt ${running.attempt} started ${early} ms too early` : null;
  }
}

function lateFault({ limits, events }: Job, event: JobEvent, index: number, graceMs: number): string | null {
  if (event.type === 'running') {
    return event.at >= limits.deadlineAt ? `attempt ${event.attempt} started past the deadline` : null;
  }
  if (event.from !== 'running' || event.to === 'running') return null;
  const started = events.slice(0, index).findLast((earlier) => earlier.type === 'running');
  const over = event.at - (started?.at ?? event.at) - limits.timeoutMs;
  return over > graceMs ? `attempt ${event.attempt} outlived its timeout by ${over} ms` : null;
}
