/**
 * A worker claims as many jobs as it has free slots, runs an attempt in each, and settles it under its token.
 * Its session is renewed by one heartbeat. What it knows of the queue beyond its own claims are hints; it also polls.
 *
 * Stopping is bounded in time: no new claims, a grace for the attempts under way, then the rest are released without
 * spending an attempt; a store that hangs is not waited for.
 */
import type { Clock } from '../ports/clock.ts';
import type { ClaimedJob, JobStore } from '../ports/job-store.ts';
import type { Telemetry } from '../ports/telemetry.ts';
import type { Wakeups } from '../ports/wakeups.ts';
import type { Announce } from './announce.ts';
import { startAttempt } from './attempt.ts';
import type { AttemptDeps } from './attempt.ts';
import { createCaution } from './caution.ts';
import type { Caution } from './caution.ts';
import { FOLLOW_MS, claimLoop } from './claiming.ts';
import type { ClaimParts, LaneGroup } from './claiming.ts';
import type { WorkflowTable } from './define.ts';
import { nameOf } from './faults.ts';
import { createHeldLanes } from './held-lanes.ts';
import { createPartials } from './partials.ts';
import { createPause } from './pause.ts';
import { createReconciler } from './reconcile.ts';
import { createProgress } from './progress.ts';
import { createTimeLimits } from './time-limits.ts';
import { createSession } from './session.ts';
import type { Session } from './session.ts';
import { createSettler } from './settle.ts';
import type { EngineSettings } from './settings.ts';
import { createSlots } from './slots.ts';

export interface WorkerDeps
  extends Pick<AttemptDeps, 'uploads' | 'blobs' | 'ledger' | 'openModels' | 'isolation' | 'reached'> {
  store: JobStore;
  workflows: WorkflowTable;
  clock: Clock;
  random: () => number;
  wakeups: Wakeups;
  telemetry: Telemetry;
  announce: Announce;
  settings: EngineSettings;
  /** For people; not unique. */
  name: string;
  /** Identifies the machine whose memory a shared SQLite file needs. */
  host: string;
  newSessionId: () => string;
  /** Every slot is held by an attempt that was settled without it: only a new process helps. */
  onStuck?: () => void;
  /** A session is about to be opened: at the start, and again where one was lost. */
  onSession?: (session: string) => void;
}

export interface Worker {
  /** The session it holds now, or null. */
  session(): string | null;
  /** Attempts whose function has not returned, those that were settled without it included. */
  slotsTaken(): number;
  start(): void;
  /** Resolves within the shutdown grace and a few seconds, whatever the store does. */
  stop(): Promise<void>;
  /** Ends at once, as if the process were killed: nothing is settled, released or closed. For tests of recovery. */
  kill(): void;
}

/** How long a stopping worker waits for the store to take its last words, and then its goodbye. */
const LAST_WORDS_MS = 2000;
const GOODBYE_MS = 1000;
const MAX_EARLY = 1000;

/** What the parts of one worker share. */
interface Parts extends ClaimParts {
  session: Session;
}

export function createWorker(deps: WorkerDeps): Worker {
  const killing = new AbortController();
  const stopping = new AbortController();
  const releasing = new AbortController();
  const closing = new AbortController();
  const parts = assemble(deps, { killed: killing.signal, released: releasing.signal });
  const stopListening = deps.wakeups.on((wakeup) => {
    if (wakeup.type === 'queued') parts.pause.wake();
  });
  deps.isolation?.onReady(() => parts.pause.wake());
  let claims: Promise<void> = Promise.resolve();
  let loops: Promise<unknown> = Promise.resolve();

  return {
    session: () => parts.session.id(),
    slotsTaken: () => parts.slots.taken(),
    start() {
      deps.isolation?.start();
      claims = claimLoop(deps, parts, stopping.signal);
      loops = Promise.all([parts.session.run(closing.signal), claims]);
    },
    async stop() {
      stopping.abort();
      stopListening();
      await Promise.race([claims, after(deps.clock, LAST_WORDS_MS)]); // a claim under way may still bring jobs
      await windDown(deps, parts, releasing);
      await deps.isolation?.stop();
      closing.abort();
      const session = parts.session.id();
      const closed = loops.then(() => (session === null ? undefined : sayGoodbye(deps, parts, session)));
      await Promise.race([closed.catch(() => {}), after(deps.clock, GOODBYE_MS)]);
      killing.abort(); // what could not be written by now is left to the sweep of others
    },
    kill() {
      for (const controller of [killing, stopping, closing]) controller.abort();
      stopListening();
      parts.slots.endAll('lease_lost');
      void deps.isolation?.stop();
    },
  };
}

function assemble(
  deps: WorkerDeps,
  { killed, released }: { killed: AbortSignal; released: AbortSignal },
): Parts {
  const { store, clock, settings } = deps;
  const log = deps.telemetry.log.child({ worker: deps.name });
  const pause = createPause(clock);
  const progress = createProgress({ store, clock });
  const settle = createSettler({ ...deps, log, killed });
  const held = createHeldLanes(deps);
  const caution = createCaution({ clock, full: settings.concurrency });
  /** What an isolated attempt takes along is its own process. */
  const isAmongOthers = ({ workflow, version }: ClaimedJob) =>
    deps.workflows.find(workflow, version)?.definition.isolation !== 'process';
  /** Tokens taken away before the claim that gave them was answered (or after their attempt had ended). */
  const early = new Set<number>();
  const wants = { slot: false };
  const slots = createSlots({
    width: settings.concurrency,
    onFree: ({ job }) => {
      if (isAmongOthers(job)) caution.ended(job);
      if (wants.slot || job.suspicion > 0) pause.wake();
      else pause.wakeWithin(FOLLOW_MS);
    },
    onStuck: () => deps.onStuck?.(),
    onUnsettled: ({ job }, error) =>
      log.error(
        { job_id: job.jobId, attempt: job.attempt, error_name: nameOf(error) },
        'an attempt could not be settled',
      ),
  });
  const session = createSession({
    ...deps,
    log,
    worker: deps.name,
    leaseMs: settings.leaseMs,
    onOpening: (opening) => deps.onSession?.(opening),
    onOpen: () => pause.wake(),
    onRevoked: (revoked) => {
      const tokens = new Set(revoked.map(({ token }) => token));
      if (early.size > MAX_EARLY) early.clear();
      for (const token of slots.end(tokens, 'revoked')) early.add(token);
    },
    onRenewed: () => void held.refresh(),
    onLost: () => slots.endAll('lease_lost'),
    onSilence: () => reconciler.doubt(),
  });
  const attemptDeps: AttemptDeps = {
    ...deps,
    jobs: store,
    log,
    settle,
    timeLimits: createTimeLimits(clock),
    partials: createPartials(deps),
    onHeld: () => void held.refresh(),
    holder: slots,
    progress: (job, fraction, note) => progress.report(job, fraction, note),
  };
  const reconciler = createReconciler({ ...deps, slots, onLost: (lost) => session.lost(lost) });
  return {
    log,
    slots,
    session,
    pause,
    held,
    reconciler,
    wants,
    lanes: laneGroups(deps, caution),
    begin(job, now) {
      if (killed.aborted || early.delete(job.token)) return;
      const workflow = deps.workflows.find(job.workflow, job.version);
      if (workflow === null)
        throw new Error(`claimed ${job.workflow} ${job.version}, which is not known here`);
      if (isAmongOthers(job)) caution.began(job);
      const attempt = startAttempt(workflow, job, now, attemptDeps);
      slots.add(attempt);
      if (released.aborted) attempt.end('shutdown'); // a claim that the store was slow to answer
    },
  };
}

function laneGroups({ workflows, isolation }: WorkerDeps, caution: Caution): LaneGroup[] {
  const groups = [
    { lanes: workflows.lanes, room: () => Infinity, allowed: () => caution.allowed() },
    { lanes: workflows.isolatedLanes, room: () => isolation?.ready() ?? 0, allowed: () => undefined },
  ];
  return groups.filter(({ lanes }) => lanes.length > 0);
}

/** The grace, and then the release of what is still under way; a store that hangs is not waited for. */
async function windDown(
  { clock, settings }: WorkerDeps,
  { slots }: Parts,
  releasing: AbortController,
): Promise<void> {
  await Promise.race([slots.concluded(), after(clock, settings.shutdownMs)]);
  releasing.abort();
  slots.endAll('shutdown');
  await Promise.race([slots.concluded(), after(clock, LAST_WORDS_MS)]);
}

async function sayGoodbye({ store }: WorkerDeps, { reconciler }: Parts, session: string): Promise<void> {
  await reconciler.settle(session);
  await store.closeSession({ session });
}

function after(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => void clock.after(ms, resolve, { unref: true }));
}
