/** Invariants 5 to 8, 12, 13, 15 to 17: each job's record against its own history. */
import { fold } from '../../domain/fold.ts';
import type { Folded } from '../../domain/fold.ts';
import type { Job, JobEvent } from '../../domain/record.ts';
import { isLegalEvent } from '../../domain/transitions.ts';
import { grouped } from './history.ts';
import type { History, Violation } from './history.ts';

/**
 * 5. Checked: every event is an edge of the transition table (or does not move the state), the first comes from
 * nothing, each begins where the one before it ended, and the list counts as many events as the record has.
 */
export function historyIsLegal({ jobs, statuses }: History): Violation[] {
  const counted = new Map(statuses.map((status) => [status.jobId, status.seq]));
  return jobs.flatMap(({ jobId, events }) => {
    const found: Violation[] = [];
    let at: JobEvent['from'] = null;
    for (const [index, event] of events.entries()) {
      const line = `event ${index + 1}, ${event.type} ${event.from} -> ${event.to}`;
      if (event.from !== at) found.push({ invariant: 5, jobId, message: `${line}, follows ${at}` });
      if (!isLegalEvent(event))
        found.push({ invariant: 5, jobId, message: `${line}, is not in the transition table` });
      at = event.to;
    }
    if (events.length === 0) found.push({ invariant: 5, jobId, message: 'has no history' });
    const seq = counted.get(jobId);
    if (seq !== undefined && seq !== events.length) {
      found.push({
        invariant: 5,
        jobId,
        message: `its status counts ${seq} events, its record has ${events.length}`,
      });
    }
    return found;
  });
}

/** 6. Checked: the fold of the events is the record's status, attempt, budget, replays and list of error codes. */
export function historyFolds({ jobs, statuses }: History): Violation[] {
  const shown = new Map(statuses.map((status) => [status.jobId, status.status]));
  return jobs.flatMap((job) => {
    const folded = folding(job);
    if (folded === null) return []; // invariant 5 says why
    const { jobId, status, attempt, used, replays, errors } = job;
    const recorded: Folded = {
      status,
      attempt,
      used,
      replays,
      errorCodes: errors.map((error) => error.code),
    };
    const listed = shown.get(jobId) ?? status;
    if (listed !== status) return [{ invariant: 6, jobId, message: `is ${status} and listed as ${listed}` }];
    const [is, says] = [JSON.stringify(recorded), JSON.stringify(folded)];
    return is === says ? [] : [{ invariant: 6, jobId, message: `is ${is}, and its events say ${says}` }];
  });
}

function folding({ events }: Job): Folded | null {
  try {
    return fold(events);
  } catch {
    return null;
  }
}

/** 7. Checked: in the order of the events `attempt` grows by one at each claim and nowhere else, whatever their times say. */
export function orderIsSeq({ jobs }: History): Violation[] {
  return jobs.flatMap(({ jobId, events }) => {
    let attempt = 0;
    return events.flatMap((event, index) => {
      if (event.type === 'running') attempt += 1;
      if (event.attempt === attempt) return [];
      const message = `event ${index + 1}, ${event.type}, is of attempt ${event.attempt}; attempt ${attempt} is its turn`;
      return [{ invariant: 7, jobId, message }];
    });
  });
}

/** 8. Checked for each stream that a client read: its events are the record's, each once, in order, from its first one on. */
export function readersSeeAll({ jobs, clients }: History): Violation[] {
  const byId = new Map(jobs.map((job) => [job.jobId, job]));
  return (clients.streams ?? []).flatMap(({ jobId, events }) => {
    const recorded = byId.get(jobId)?.events ?? [];
    const first = events[0]?.seq ?? 1;
    const wrong = events.findIndex(
      ({ seq, type }, index) => seq !== first + index || recorded[seq - 1]?.type !== type,
    );
    if (wrong === -1) return [];
    const message = `a reader got ${events[wrong]?.type} as event ${events[wrong]?.seq} in place ${wrong + 1}`;
    return [{ invariant: 8, jobId, message }];
  });
}

/**
 * 12. Checked: the budget is never passed, in no life of the job (an earlier one is held against the limit of now, which a
 * replay may have raised); `attempt` is the number of claims; and each claim that a worker was told of is among them.
 */
export function budgetHolds({ jobs, workers }: History): Violation[] {
  const told = grouped(workers?.claims ?? [], ({ jobId }) => jobId);
  return jobs.flatMap((job) => {
    const fault = budgetFault(job, told.get(job.jobId) ?? []);
    return fault === null ? [] : [{ invariant: 12, jobId: job.jobId, message: fault }];
  });
}

function budgetFault(
  { used, attempt, limits, events }: Job,
  told: readonly { attempt: number }[],
): string | null {
  const most = Math.max(used, mostUsed(events));
  if (most > limits.maxAttempts || used < 0) return `used ${most} of ${limits.maxAttempts} attempts`;
  const claims = events.filter((event) => event.type === 'running').length;
  if (claims !== attempt) return `is at attempt ${attempt} after ${claims} claims`;
  const lost = told.find((claim) => claim.attempt > claims);
  return lost === undefined ? null : `was claimed as attempt ${lost.attempt} and has ${claims} claims`;
}

/** The most attempts that were spent at any time since the acceptance or a replay. */
function mostUsed(events: readonly JobEvent[]): number {
  let used = 0;
  let most = 0;
  for (const { type, from, to, code } of events) {
    if (type === 'running') used += 1;
    else if (from === 'dead_letter' && to === 'queued') used = 0;
    else if (from === 'running' && type === 'queued' && code === undefined) used -= 1;
    most = Math.max(most, used);
  }
  return most;
}

/** 13. Checked: each claim is followed by exactly one event that ends it, but for the last one of a running job. */
export function oneOutcomeEach({ jobs }: History): Violation[] {
  return jobs.flatMap(({ jobId, status, attempt, events }) => {
    const ends = grouped(
      events.filter((event) => event.from === 'running' && event.to !== 'running'),
      (event) => event.attempt,
    );
    return events.flatMap((event) => {
      if (event.type !== 'running') return [];
      const wanted = status === 'running' && event.attempt === attempt ? 0 : 1;
      const outcomes = ends.get(event.attempt)?.length ?? 0;
      if (outcomes === wanted) return [];
      return [
        { invariant: 13, jobId, message: `attempt ${event.attempt} has ${outcomes} outcomes, not ${wanted}` },
      ];
    });
  });
}

/** 15. Checked: every event lies between the job's acceptance and now, both by the store's clock, which no worker's can move. */
export function oneClock({ jobs, now }: History): Violation[] {
  return jobs.flatMap(({ jobId, createdAt, events }) =>
    events.flatMap(({ type, at }, index) =>
      at >= createdAt && at <= now
        ? []
        : [
            {
              invariant: 15,
              jobId,
              message: `event ${index + 1}, ${type}, is ${at - createdAt} ms from its acceptance`,
            },
          ],
    ),
  );
}

/**
 * 16. Checked: nothing follows `completed`, nothing follows `dead_letter` but a replay with actor and reason (events that
 * do not move the state aside), and a job was replayed as often as clients were told so, requests without a reply
 * allowed for; no decision was taken twice.
 */
export function terminalIsFinal({ jobs, clients }: History): Violation[] {
  const asked = grouped(clients.replays, (line) => line.jobId);
  return jobs.flatMap((job) => {
    const { jobId, events } = job;
    const found: Violation[] = [];
    for (const [index, event] of events.entries()) {
      const line = `event ${index + 1}, ${event.type}`;
      if (event.from === 'completed' && event.to !== 'completed') {
        found.push({ invariant: 16, jobId, message: `${line}, follows completed` });
      }
      if (event.from === 'dead_letter' && event.to !== 'dead_letter' && !isReplay(event)) {
        found.push({
          invariant: 16,
          jobId,
          message: `${line}, leaves dead_letter without a person and a reason`,
        });
      }
    }
    return [...found, ...replaysAgree(job, asked.get(jobId) ?? [])];
  });
}

function isReplay(event: JobEvent): boolean {
  return event.type === 'queued' && Boolean(event.actor) && Boolean(event.reason);
}

function replaysAgree({ jobId, replays }: Job, asked: History['clients']['replays']): Violation[] {
  const accepted = asked.filter((line) => line.told === 'accepted');
  const taken = accepted.flatMap((line) => line.decisionId ?? []);
  if (new Set(taken).size < taken.length) {
    return [{ invariant: 16, jobId, message: 'one decision was taken by two replays' }];
  }
  const most = accepted.length + asked.filter((line) => line.told === 'nothing').length;
  if (replays >= accepted.length && replays <= most) return [];
  return [
    {
      invariant: 16,
      jobId,
      message: `was replayed ${replays} times, and clients were told of ${accepted.length}`,
    },
  ];
}

/**
 * 17. Checked: a dead letter's last event, last error and open decision name one code; no other job has an open decision.
 */
export function deadLettersAsk({ jobs }: History): Violation[] {
  return jobs.flatMap(({ jobId, status, events, errors, decision }) => {
    const open = decision?.open === true;
    if (status !== 'dead_letter') {
      return open ? [{ invariant: 17, jobId, message: `is ${status} and has an open decision` }] : [];
    }
    const code = events.findLast((event) => event.type === 'dead_letter')?.code;
    const last = errors.at(-1)?.code;
    if (code !== undefined && last === code && open && decision.code === code) return [];
    const asks = open ? `asks about ${decision.code}` : 'asks nothing';
    return [{ invariant: 17, jobId, message: `died of ${code}, its last error is ${last}, and it ${asks}` }];
  });
}
