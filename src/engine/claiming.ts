/**
 * The loop in which a worker claims: as many jobs as it has free slots, in batches, one claim after the other. While the attempts of one
 * batch begin, the store is already at work on the next. An idle worker waits for a hint, and asks by itself now and then.
 */
import type { Clock } from '../ports/clock.ts';
import type { ClaimedJob, JobStore, Lane, Suspects } from '../ports/job-store.ts';
import type { Log } from '../ports/telemetry.ts';
import type { Announce } from './announce.ts';
import type { HeldLanes } from './held-lanes.ts';
import type { Pause } from './pause.ts';
import type { Reconciler } from './reconcile.ts';
import { nameOf, retryDelayMs } from './faults.ts';
import type { Session } from './session.ts';
import type { EngineSettings } from './settings.ts';
import type { Slots } from './slots.ts';

export interface ClaimDeps {
  store: JobStore;
  clock: Clock;
  announce: Announce;
  settings: EngineSettings;
  name: string;
}

export interface ClaimParts {
  log: Log;
  slots: Slots;
  session: Pick<Session, 'id' | 'lost'>;
  pause: Pause;
  held: HeldLanes;
  reconciler: Reconciler;
  /** Each is the first to be asked for in its turn. */
  lanes: LaneGroup[];
  begin(job: ClaimedJob, now: number): void;
}

/** Lanes that are claimed together. */
export interface LaneGroup {
  lanes: Lane[];
  /** How many of their attempts could begin now, slots aside. */
  room: () => number;
  /** How many suspects among them; any number where each runs by itself. */
  allowed: () => Suspects | undefined;
}

/** How often an idle worker asks by itself. */
const POLL_MS = 500;
const MIN_PAUSE_MS = 5;
const HELD_PAUSE_MS = 50;
/** The bounds of one claim. */
const MOST_JOBS = 500;
const FEW_JOBS = 50;

export async function claimLoop(deps: ClaimDeps, parts: ClaimParts, stopping: AbortSignal): Promise<void> {
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
async function claimOnce(deps: ClaimDeps, parts: ClaimParts): Promise<number> {
  const session = parts.session.id();
  if (session === null) return POLL_MS; // the open session wakes the loop
  await parts.reconciler.settle(session);
  if (freeSlots(deps, parts) <= 0) return POLL_MS;
  let isFull = true;
  parts.lanes.push(...parts.lanes.splice(0, 1));
  for (const group of parts.lanes) {
    const ended = await claimFrom(deps, parts, { session, group });
    if (ended === 'cut') return 0;
    if (ended === 'emptied') isFull = false;
  }
  if (isFull) return POLL_MS; // a slot or a process that comes free wakes the loop
  const nextDueMs = await deps.store.nextDueInMs();
  const heldMs = parts.held.leftMs();
  // what is due may be what is held
  if (heldMs !== null) return Math.max(HELD_PAUSE_MS, Math.min(POLL_MS, heldMs, nextDueMs ?? POLL_MS));
  return Math.max(MIN_PAUSE_MS, Math.min(POLL_MS, nextDueMs ?? POLL_MS));
}

/** What claims are made for. */
interface Claimant {
  session: string;
  group: LaneGroup;
}

interface Asked {
  limit: number;
  answer: Promise<Pick<Awaited<ReturnType<JobStore['claim']>>, 'jobs' | 'now'>>;
}

/**
 * Claims one batch after the other. Where nobody else waits for a turn, the next is asked for before the attempts of the last begin: the
 * store works on it meanwhile.
 *
 * @returns `emptied` where the lanes had less than was asked for, `full` where there is no room for more, `cut` where both may be otherwise
 */
async function claimFrom(
  deps: ClaimDeps,
  parts: ClaimParts,
  claimant: Claimant,
): Promise<'emptied' | 'full' | 'cut'> {
  let asked = ask(deps, parts, claimant);
  while (asked !== null) {
    const { limit, answer } = asked;
    const { jobs, now } = await answer;
    const suspects = jobs.some(({ suspicion }) => suspicion > 0);
    const goesOn = jobs.length === limit && !suspects && parts.lanes.length === 1;
    asked = goesOn ? ask(deps, parts, claimant, jobs.length) : null;
    for (const job of jobs) parts.begin(job, now);
    if (suspects || (jobs.length === limit && parts.lanes.length > 1)) return 'cut';
    if (jobs.length < limit) return 'emptied';
  }
  return 'full';
}

/** @param beside how many have been claimed and not begun yet */
function ask(deps: ClaimDeps, parts: ClaimParts, claimant: Claimant, beside = 0): Asked | null {
  const { group } = claimant;
  const room = Math.min(group.room(), freeSlots(deps, parts)) - beside;
  const lanes = parts.held.free(group.lanes);
  if (room <= 0 || lanes.length === 0) return null;
  const limit = Math.min(room, batchOf(deps.settings.concurrency));
  return { limit, answer: claim(deps, parts, claimant, lanes, limit) };
}

function freeSlots({ settings }: ClaimDeps, { slots }: ClaimParts): number {
  return settings.concurrency - slots.taken();
}

/** The first of many jobs do not wait until the last is claimed, and while some run others are claimed and others settled. */
function batchOf(concurrency: number): number {
  return Math.min(MOST_JOBS, Math.max(FEW_JOBS, Math.ceil(concurrency / 4)));
}

/** @returns what is to begin: nothing where the worker stalled meanwhile, and others may have the jobs by now */
async function claim(
  { store, clock, settings, name, announce }: ClaimDeps,
  parts: ClaimParts,
  { session, group }: Claimant,
  lanes: Lane[],
  limit: number,
): Asked['answer'] {
  const askedMs = clock.monotonicMs();
  const serial = parts.reconciler.nextSerial();
  const suspects = group.allowed();
  const { lost, jobs, now, moved } = await store.claim({
    session,
    worker: name,
    serial,
    lanes,
    limit,
    suspects,
  });
  if (lost) parts.session.lost(session);
  announce(moved);
  const isOld = clock.monotonicMs() - askedMs > settings.leaseMs;
  if (isOld) parts.reconciler.doubt();
  // where another session was opened meanwhile, what this claim brought has been recovered with the old one
  return { now, jobs: isOld || parts.session.id() !== session ? [] : jobs };
}
