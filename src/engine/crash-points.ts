/**
 * The moments at which a process may die and something could be lost or done twice, by name. A process of a fault test ends
 * itself at one of them; no other has a hook, and then its store is the plain one: the points cost nothing.
 *
 * Those around a write belong to the store's verbs, so one batch is one call. Those within an attempt are told by the attempt.
 */
import type { Claimed, JobStore, Settlement, StandingClaim } from '../ports/job-store.ts';

/** Each point and what is true there. `committed`: the store has said so, and nobody else has heard of it. */
export const CRASH_POINTS = {
  'intake.before': 'Jobs were checked and none of them is written.',
  'intake.committed': 'Jobs are written, and whoever handed them in was not told.',
  'claim.before': 'A worker is about to ask for jobs.',
  'claim.committed': 'Jobs are leased, and their worker has started none of them.',
  'attempt.starting': 'The function is about to be called.',
  'attempt.returned': 'The function has returned or thrown, or its grace is over, and nothing of it is kept.',
  'attempt.kept': 'Its large artifacts and evidence are durable, and nothing says that it ended.',
  'settle.before': 'Outcomes are about to be written.',
  'settle.committed': 'Outcomes are written, and their worker does not know.',
  'renew.before': 'A heartbeat is about to extend the session.',
  'renew.committed': 'The session is extended, and what was taken from it is not yet heard of.',
  'reconcile.before': 'A worker that was not answered is about to say which leases it holds.',
  'reconcile.committed':
    'Leases that nobody runs are given back, and their worker was not told which of its own are gone.',
  'sweep.before': 'A sweep is about to do what time does to jobs.',
  'sweep.committed': 'A sweep has moved jobs, and nobody was woken for them.',
  'reap.before': 'The supervisor has seen its worker end and has not taken its jobs back.',
  'reap.committed': 'The supervisor has taken the jobs of its worker back and has not started another.',
  'act.before': 'A cancel or a replay was understood and is not written.',
  'act.committed': 'A cancel or a replay is written, and neither its caller nor a worker was told.',
  'release.before': 'A worker that shuts down is about to give its jobs back.',
  'release.committed': 'A worker that shuts down has given its jobs back and has not said goodbye.',
} as const satisfies Readonly<Record<string, string>>;

export type CrashPoint = keyof typeof CRASH_POINTS;

/** Called at each point; it need not return. */
export type Reached = (point: CrashPoint) => void;

type Group = CrashPoint extends infer Point
  ? Point extends `${infer Name}.committed`
    ? Name
    : never
  : never;

/** Verbs without a point: those that read, and those whose loss costs nobody anything. */
type Unmarked =
  | ('status' | 'statuses' | 'job' | 'list' | 'inlineBlob' | 'nextDueInMs' | 'ping')
  | ('openSession' | 'closeSession' | 'progress')
  // the commit is its caller's own
  | 'enqueueWithin'
  // the commit is an enqueue's
  | 'standBy';

/** The store, telling of the points around each verb that writes; where a write found nothing to do, only of the first. */
export function withCrashPoints(store: JobStore, reached: Reached): JobStore {
  async function around<T>(
    name: Group,
    write: () => Promise<T>,
    wrote: (answer: T) => boolean = () => true,
  ): Promise<T> {
    reached(`${name}.before`);
    const answer = await write();
    if (wrote(answer)) reached(`${name}.committed`);
    return answer;
  }

  const marked: Pick<JobStore, Exclude<keyof JobStore, Unmarked>> = {
    enqueue: (requests) => around('intake', () => store.enqueue(requests)),
    claim: (params) => around('claim', () => store.claim(params), movedAny),
    settle: (settlements) =>
      around(settlements.some(isRelease) ? 'release' : 'settle', () => store.settle(settlements)),
    renew: (params) => around('renew', () => store.renew(params)),
    reconcile: (params) => around('reconcile', () => store.reconcile(params)),
    sweep: (params) => around('sweep', () => store.sweep(params), movedAny),
    reapSession: (params) => around('reap', () => store.reapSession(params)),
    act: (params) =>
      around(
        'act',
        () => store.act(params),
        ({ outcome }) => outcome === 'moved',
      ),
  };
  const { standBy } = store;
  if (standBy === undefined) return { ...store, ...marked };
  return {
    ...store,
    ...marked,
    standBy: (params) => telling(standBy(params), () => reached('claim.committed')),
  };
}

/** The claim, telling of what it brought before its worker hears of it. */
export function telling(standing: StandingClaim, tell: (claimed: Claimed) => void): StandingClaim {
  const claimed = standing.claimed.then((one) => {
    tell(one);
    return one;
  });
  return { ...standing, claimed };
}

function movedAny({ moved }: { moved: readonly unknown[] }): boolean {
  return moved.length > 0;
}

function isRelease({ command }: Settlement): boolean {
  return command.type === 'release';
}
