/** Invariants 1 to 4 and 18: what clients were told against what the store holds. */
import type { Job } from '../../domain/record.ts';
import { grouped } from './history.ts';
import type { CreateLine, History, Violation } from './history.ts';

/**
 * 1, and 4 after a crash. Checked: each accepted create has exactly one record with its id, and that record has the
 * tenant and the input's hash that were sent.
 */
export function acceptedIsKept({ jobs, clients, crashed }: History): Violation[] {
  const byId = grouped(jobs, (job) => job.jobId);
  const invariant = crashed ? 4 : 1;
  return clients.creates.flatMap((line) => {
    if (line.told !== 'accepted') return [];
    const jobId = line.jobId ?? null;
    const found = jobId === null ? [] : (byId.get(jobId) ?? []);
    const [job] = found;
    if (job === undefined) return [{ invariant, jobId, message: 'was accepted and has no record' }];
    if (found.length > 1) return [{ invariant, jobId, message: `has ${found.length} records` }];
    if (job.tenant !== line.tenant)
      return [{ invariant, jobId, message: `belongs to ${job.tenant}, not ${line.tenant}` }];
    return job.inputSha256 === line.inputSha256
      ? []
      : [{ invariant, jobId, message: `holds another input: ${job.inputSha256}, not ${line.inputSha256}` }];
  });
}

/**
 * 2. Checked for each input: no fewer records than distinct ids that were accepted, no more than those and the requests
 * that got no reply. Inputs that differ from request to request make this exact.
 */
export function nothingUnasked({ jobs, clients }: History): Violation[] {
  const asked = grouped(clients.creates, (line) => line.inputSha256);
  return [...grouped(jobs, (job) => job.inputSha256)].flatMap(([hash, records]) => {
    const lines = asked.get(hash) ?? [];
    const accepted = new Set(lines.filter((line) => line.told === 'accepted').map((line) => line.jobId)).size;
    const most = accepted + lines.filter((line) => line.told === 'nothing').length;
    if (records.length <= most) return [];
    const message = `input ${hash} has ${records.length} records, but at most ${most} were asked for and not refused`;
    return [{ invariant: 2, jobId: extra(records, lines), message }];
  });
}

function extra(records: readonly Job[], lines: readonly CreateLine[]): string | null {
  return records.find((job) => !lines.some((line) => line.jobId === job.jobId))?.jobId ?? null;
}

/** 3. Checked: all accepted creates of one tenant and idempotency key name one job and sent one input. */
export function oneJobAKey({ clients }: History): Violation[] {
  const keyed = clients.creates.filter(
    (line) => line.told === 'accepted' && line.idempotencyKey !== undefined,
  );
  return [...grouped(keyed, (line) => JSON.stringify([line.tenant, line.idempotencyKey]))].flatMap(
    ([key, lines]) => {
      const ids = new Set(lines.map((line) => line.jobId));
      const inputs = new Set(lines.map((line) => line.inputSha256));
      const jobId = lines[0]?.jobId ?? null;
      if (ids.size > 1)
        return [{ invariant: 3, jobId, message: `${key} was answered with ${ids.size} jobs` }];
      return inputs.size > 1
        ? [{ invariant: 3, jobId, message: `${key} was accepted for ${inputs.size} inputs` }]
        : [];
    },
  );
}

/**
 * 18. Checked: a job whose cancel was accepted has a `cancelled` death in its history, and completes after it only where
 * a replay came between.
 */
export function cancelledStaysCancelled({ jobs, clients }: History): Violation[] {
  const cancelled = new Set(
    clients.cancels.filter((line) => line.told === 'accepted').map((line) => line.jobId),
  );
  return jobs.flatMap(({ jobId, events }) => {
    if (!cancelled.has(jobId)) return [];
    const death = events.findLastIndex((event) => event.type === 'dead_letter' && event.code === 'cancelled');
    if (death === -1)
      return [{ invariant: 18, jobId, message: 'its cancel was accepted and it never was cancelled' }];
    const after = events.slice(death + 1);
    const completed = after.findIndex((event) => event.type === 'completed');
    const replayed = after.findIndex((event) => event.from === 'dead_letter' && event.to === 'queued');
    const wrong = completed !== -1 && (replayed === -1 || replayed > completed);
    return wrong ? [{ invariant: 18, jobId, message: 'completed after its cancel was accepted' }] : [];
  });
}
