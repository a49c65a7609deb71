/**
 * A worker claims as many jobs as it has free slots, runs an attempt in each, and settles it under its token.
 * Its session is renewed by one heartbeat. What it knows of the queue beyond its own claims are hints; it also polls.
 *
 * Stopping is bounded in time: no new claims, a grace for the attempts under way, then the rest are released without
 * spending an attempt; a store that hangs is not waited for.
 */
import type { Clock } from '../ports/clock.ts';
import type { ClaimedJob, JobStore, Lane, Suspects } from '../ports/job-store.ts';
import type { Log, Telemetry } from '../ports/telemetry.ts';
import type { Wakeups } from '../ports/wakeups.ts';
import type { Announce } from './announce.ts';
import { startAttempt } from './attempt.ts';
import type { AttemptDeps } from './attempt.ts';
import { createCaution } from './caution.ts';
import type { Caution } from './caution.ts';
import type { WorkflowTable } from './define.ts';
import { nameOf, retryDelayMs } from './faults.ts';
import { createHeldLanes } from './held-lanes.ts';
import type { HeldLanes } from './held-lanes.ts';
import { createPartials } from './partials.ts';
import { createPause } from './pause.ts';
import type { Pause } from './pause.ts';
import { createReconciler } from './reconcile.ts';
import type { Reconciler } from './reconcile.ts';
import { createProgress } from './progress.ts';
import { createTimeLimits } from './time-limits.ts';
import { createSession } from './session.ts';
import type { Session } from './session.ts';
import { createSettler } from './settle.ts';
import type { EngineSettings } from './settings.ts';
import { createSlots } from './slots.ts';
import type { Slots } from './slots.ts';

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

/** How often an idle worker asks by itself. */
const POLL_MS = 500;
const MIN_PAUSE_MS = 5;
const HELD_PAUSE_MS = 50;
/** The first of many jobs do not wait until the last is claimed. */
const CLAIM_JOBS = 500;
/** How long a stopping worker waits for the store to take its last words, and then its goodbye. */
const LAST_WORDS_MS = 2000;
const GOODBYE_MS = 1000;
const MAX_EARLY = 1000;

/** What the parts of one worker share. */
interface Parts {
  log: Log;
  slots: Slots;
  session: Session;
  pause: Pause;
  caution: Caution;
  held: HeldLanes;
  reconciler: Reconciler;
  /** Each is the first to be asked for in its turn. */
  lanes: LaneGroup[];
  begin(job: ClaimedJob, now: number): void;
}

/** Lanes that are claimed together. */
interface LaneGroup {
  lanes: Lane[];
  /** How many of their attempts could begin now, slots aside. */
  room: () => number;
  /** How many suspects among them; any number where each runs by itself. */
  allowed: () => Suspects | undefined;
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
  const slots = createSlots({
    width: settings.concurrency,
    onFree: ({ job }) => {
      if (isAmongOthers(job)) caution.ended(job);
      pause.wake();
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
    caution,
    held,
    reconciler,
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
    { lanes: workflows.lanes, room: () => CLAIM_JOBS, allowed: () => caution.allowed() },
    { lanes: workflows.isolatedLanes, room: () => isolation?.ready() ?? 0, allowed: () => undefined },
  ];
  return groups.filter(({ lanes }) => lanes.length > 0);
}

async function claimLoop(deps: WorkerDeps, parts: Parts, stopping: AbortSignal): Promise<void> {
  let failures = 0;
  while (!stopping.aborted) {
    try {
      const pauseMs = await claimOnce(deps, parts);
      if (pauseMs > 0) await parts.pause.wait(pauseMs, stopping);
      failures = 0;
    } catch (error) {
      parts.reconciler.doubt();
      if (failures === 0)
        parts.log.warn({ error_name: nameOf(error) }, 'claiming failed; the worker goes on trying');
      await parts.pause.wait(retryDelayMs(failures), stopping);
      failures += 1;
    }
  }
}

/** @returns how long to wait before the next claim, unless something wakes the worker */
async function claimOnce(deps: WorkerDeps, parts: Parts): Promise<number> {
  const session = parts.session.id();
  if (session === null) return POLL_MS; // the open session wakes the loop
  await parts.reconciler.settle(session);
  const free = () => deps.settings.concurrency - parts.slots.taken();
  if (free() <= 0) return POLL_MS;
  let isFull = true;
  let isCut = false;
  parts.lanes.push(...parts.lanes.splice(0, 1));
  for (const group of parts.lanes) {
    const limit = Math.min(group.room(), free());
    const lanes = parts.held.free(group.lanes);
    if (limit <= 0 || lanes.length === 0) continue;
    const jobs = await claimFrom(deps, parts, { session, group, lanes, limit });
    if (jobs.length < limit) isFull = false;
    if (jobs.length === CLAIM_JOBS || jobs.some(({ suspicion }) => suspicion > 0)) isCut = true;
  }
  if (isCut) return 0;
  if (isFull) return POLL_MS; // a slot or a process that comes free wakes the loop
  const nextDueMs = await deps.store.nextDueInMs();
  const heldMs = parts.held.leftMs();
  // what is due may be what is held
  if (heldMs !== null) return Math.max(HELD_PAUSE_MS, Math.min(POLL_MS, heldMs, nextDueMs ?? POLL_MS));
  return Math.max(MIN_PAUSE_MS, Math.min(POLL_MS, nextDueMs ?? POLL_MS));
}

/** @returns what it began: nothing where the worker stalled meanwhile, and others may have the jobs by now */
async function claimFrom(
  { store, clock, settings, name, announce }: WorkerDeps,
  parts: Parts,
  { session, group, lanes, limit }: { session: string; group: LaneGroup; lanes: Lane[]; limit: number },
): Promise<ClaimedJob[]> {
  const askedMs = clock.monotonicMs();
  const serial = parts.reconciler.nextSerial();
  const suspects = group.allowed();
  const claim = await store.claim({ session, worker: name, serial, lanes, limit, suspects });
  if (claim.lost) parts.session.lost(session);
  announce(claim.moved);
  const isOld = clock.monotonicMs() - askedMs > settings.leaseMs;
  if (isOld) parts.reconciler.doubt();
  // where another session was opened meanwhile, what this claim brought has been recovered with the old one
  if (isOld || parts.session.id() !== session) return [];
  for (const job of claim.jobs) parts.begin(job, claim.now);
  return claim.jobs;
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
