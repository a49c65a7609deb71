/** Invariants 22 and 26: calls to models against the attempts that made them, and accounts against their calls. */
import type { ModelCall } from '../../domain/model-call.ts';
import type { Job } from '../../domain/record.ts';
import type { KnownLimit } from '../../ports/ledger.ts';
import { grouped } from './history.ts';
import type { History, Violation } from './history.ts';

/**
 * 22, as far as the store shows it: each call that ended was begun before. Checked: calls are numbered without a gap, each
 * began within an attempt of its job that had been claimed, none ended before it began, and no place in an attempt has two.
 */
export function callsAreIntended({ jobs }: History): Violation[] {
  return jobs.flatMap((job) => {
    const places = grouped(job.calls, ({ token, place }) => `${token} ${place}`);
    return job.calls.flatMap((call, index) => {
      const twice = places.get(`${call.token} ${call.place}`)?.[0] !== call;
      const fault = callFault(job, call, index + 1) ?? (twice ? 'has the place of another' : null);
      return fault === null ? [] : [{ invariant: 22, jobId: job.jobId, message: `call ${call.n} ${fault}` }];
    });
  });
}

function callFault({ events }: Job, { n, attempt, startedAt, end }: ModelCall, nth: number): string | null {
  if (n !== nth) return `is the ${nth}. of its job`;
  const claimed = events.find((event) => event.type === 'running' && event.attempt === attempt);
  if (claimed === undefined) return `is of attempt ${attempt}, which never ran`;
  if (startedAt < claimed.at) return `began ${claimed.at - startedAt} ms before its attempt`;
  return end !== null && end.endedAt < startedAt
    ? `ended ${startedAt - end.endedAt} ms before it began`
    : null;
}

/**
 * 26. Checked: each account, of a job, and of the deployment and its workflows today where they were read, is the sum of its
 * calls, and none was taken past its limit by a call: only what cost more than was held for it may have done that.
 */
export function moneyAddsUp(history: History): Violation[] {
  const ofJobs = history.jobs.flatMap((job) => {
    const { jobId, calls, spending } = job;
    const fault = accountFault(spending, calls, lastCallSince(job));
    return fault === null ? [] : [{ invariant: 26, jobId, message: fault }];
  });
  return [...ofJobs, ...accountsAddUp(history)];
}

function accountsAddUp({ jobs, accounts = [] }: History): Violation[] {
  const day = accounts.find(({ scope }) => scope === 'day')?.name;
  return accounts.flatMap((account) => {
    const calls = jobs
      .filter(({ workflow }) => account.scope === 'day' || workflow === account.name)
      .flatMap((job) => job.calls)
      .filter(({ startedAt }) => new Date(startedAt).toISOString().startsWith(day ?? ''));
    const fault = accountFault(account, calls, limited(calls, account));
    const message = `the account of ${account.scope} ${account.name} ${fault}`;
    return fault === null ? [] : [{ invariant: 26, jobId: null, message }];
  });
}

/** Whether a call was begun under the limit that the job has now: a replay may have lowered it to less than was spent. */
function lastCallSince({ calls, events }: Job): boolean {
  const replay = events.findLast((event) => event.from === 'dead_letter' && event.to === 'queued');
  return calls.some(({ attempt, reusedFrom }) => reusedFrom === null && attempt > (replay?.attempt ?? 0));
}

function limited(calls: readonly ModelCall[], { setBy }: KnownLimit): boolean {
  return calls.some(({ startedAt, reusedFrom }) => reusedFrom === null && startedAt > (setBy?.at ?? 0));
}

interface Account {
  limit: number | null;
  spent: number;
  reserved: number;
}

/** @param isBound whether a call was begun since the limit is what it is */
function accountFault(
  { limit, spent, reserved }: Account,
  calls: readonly ModelCall[],
  isBound: boolean,
): string | null {
  const cost = sum(calls.map((call) => call.cost ?? 0));
  const held = sum(calls.map((call) => (call.cost === null ? call.reserved : 0)));
  if (spent !== cost) return `says that ${spent} were spent, and its calls cost ${cost}`;
  if (reserved !== held) return `holds ${reserved}, and its calls hold ${held}`;
  const dearer = sum(calls.map((call) => Math.max(0, (call.cost ?? 0) - call.reserved)));
  const past = limit === null || !isBound ? 0 : spent + reserved - dearer - limit;
  return past > 0 ? `is ${past} past its limit of ${limit}` : null;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
