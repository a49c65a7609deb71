/**
 * The loop in which a worker claims: as many jobs as it has free slots, in batches, one claim after the other. While the attempts of one
 * batch begin, the store is already at work on the next. An idle worker waits for a hint, and asks by itself now and then.
 */
import type { Clock } from '../ports/clock.ts';
import type { Claimed, ClaimedJob, ClaimParams, JobStore, Lane, Suspects } from '../ports/job-store.ts';
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
  /** Whether jobs that the store has now may wait for a slot: not where one was free when the lanes were last found empty. */
  wants: { slot: boolean };
  /** Each is the first to be asked for in its turn. */
  lanes: LaneGroup[];
  /** Nothing where the worker was killed. */
  begin(job: ClaimedJob, now: number): void;
}

/** Lanes that are claimed together. */
export interface LaneGroup {
  lanes: Lane[];
  /** How many of their attempts could begin now, slots aside; Infinity where they need nothing but a slot. */
  room: () => number;
  /** How many suspects among them; any number where each runs by itself. */
  allowed: () => Suspects | undefined;
}

/** How often an idle worker asks by itself. */
const POLL_MS = 500;
const MIN_PAUSE_MS = 5;
const HELD_PAUSE_MS = 50;
/**
 * A worker that has something to do looks again after so long. Stores tell nothing while something that came in just now still waits in the
 * same lane, and what is committed once that was taken is told by nobody.
 */
export const FOLLOW_MS = 25;
/** The bounds of one claim. */
const MOST_JOBS = 500;
const FEW_JOBS = 50;

export async function claimLoop(deps: ClaimDeps, parts: ClaimParts, stopping: AbortSignal): Promise<void> {
  let failures = 0;
  while (!stopping.aborted) {
    try {
      const pauseMs = await claimOnce(deps, parts, stopping);
      if (pauseMs > 0) await idle(deps, parts, pauseMs, stopping);
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
async function claimOnce(deps: ClaimDeps, parts: ClaimParts, stopping: AbortSignal): Promise<number> {
  const session = parts.session.id();
  if (session === null) return POLL_MS; // the open session wakes the loop
  parts.pause.forget(); // what was hinted at until now, the claims to come will find
  await parts.reconciler.settle(session);
  parts.wants.slot = freeSlots(deps, parts) <= 0;
  if (parts.wants.slot) return POLL_MS;
  let isFull = true;
  parts.lanes.push(...parts.lanes.splice(0, 1));
  for (const group of parts.lanes) {
    const ended = await claimFrom(deps, parts, { session, group }, stopping);
    if (ended === 'cut') return 0;
    if (ended === 'emptied') isFull = false;
  }
  // where there is no room, a slot or a process that comes free wakes the loop
  const nextDueMs = isFull ? null : await deps.store.nextDueInMs();
  const heldMs = parts.held.leftMs();
  // what is due may be what is held
  const leastMs = heldMs === null ? MIN_PAUSE_MS : HELD_PAUSE_MS;
  return Math.max(leastMs, Math.min(POLL_MS, heldMs ?? POLL_MS, nextDueMs ?? POLL_MS));
}

/** What claims are made for. */
interface Claimant {
  session: string;
  group: LaneGroup;
}

interface Asked {
  limit: number;
  answer: Promise<Pick<Claimed, 'jobs' | 'now'>>;
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
  stopping: AbortSignal,
): Promise<'emptied' | 'full' | 'cut'> {
  let asked = ask(deps, parts, claimant);
  while (asked !== null) {
    const { limit, answer } = asked;
    const { jobs, now } = await answer;
    if (jobs.length > 0) parts.pause.wakeWithin(FOLLOW_MS);
    const suspects = jobs.some(({ suspicion }) => suspicion > 0);
    const isFilled = jobs.length === limit;
    const goesOn =
      isFilled && !suspects && parts.lanes.length === 1 && !stopping.aborted && !parts.reconciler.isInDoubt();
    asked = goesOn ? ask(deps, parts, claimant, jobs.length) : null;
    await beginBatch(parts, claimant.session, { jobs, now }, asked);
    if (!isFilled) return suspects || parts.reconciler.isInDoubt() ? 'cut' : 'emptied';
    if (!goesOn) return 'cut';
  }
  return 'full';
}

/** @param next has its turn to go out first: a batch takes long to begin */
async function beginBatch(
  parts: ClaimParts,
  session: string,
  { jobs, now }: Pick<Claimed, 'jobs' | 'now'>,
  next: Asked | null,
): Promise<void> {
  try {
    if (next !== null) await turn();
    // where the session was lost meanwhile, these were recovered with it
    if (parts.session.id() === session) for (const job of jobs) parts.begin(job, now);
  } catch (error) {
    await next?.answer.catch(() => {}); // while a claim is under way nobody can say which leases are strays
    throw error;
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}

/** @param beside how many have been claimed and not begun yet */
function ask(deps: ClaimDeps, parts: ClaimParts, claimant: Claimant, beside = 0): Asked | null {
  const params = paramsOf(deps, parts, claimant, beside);
  if (params === null) return null;
  const answer = claim(deps, parts, params);
  answer.catch(() => {}); // where it fails before it is awaited, that is early enough
  return { limit: params.limit, answer };
}

/** Null where there is no room. */
function paramsOf(
  deps: ClaimDeps,
  parts: ClaimParts,
  { session, group }: Claimant,
  beside: number,
): ClaimParams | null {
  const { settings, name: worker } = deps;
  const free = freeSlots(deps, parts) - beside;
  if (free <= 0) parts.wants.slot = true;
  const room = Math.min(group.room() - beside, free);
  const lanes = parts.held.free(group.lanes);
  if (room <= 0 || lanes.length === 0) return null;
  const limit = Math.min(room, batchOf(settings.concurrency));
  return { session, worker, serial: parts.reconciler.nextSerial(), lanes, limit, suspects: group.allowed() };
}

function freeSlots({ settings }: ClaimDeps, { slots }: ClaimParts): number {
  return settings.concurrency - slots.taken();
}

/** The first of many jobs do not wait until the last is claimed, and while some run others are claimed and others settled. */
function batchOf(concurrency: number): number {
  return Math.min(MOST_JOBS, Math.max(FEW_JOBS, Math.ceil(concurrency / 2)));
}

/** @returns what is to begin: nothing where the worker stalled meanwhile, and others may have the jobs by now */
async function claim(deps: ClaimDeps, parts: ClaimParts, params: ClaimParams): Asked['answer'] {
  const { store, clock, settings } = deps;
  const askedMs = clock.monotonicMs();
  const claimed = await store.claim(params);
  const jobs = received(deps, parts, params, claimed);
  const isOld = clock.monotonicMs() - askedMs > settings.leaseMs;
  if (isOld) parts.reconciler.doubt();
  return { now: claimed.now, jobs: isOld ? [] : jobs };
}

/** Where another session was opened meanwhile, what this claim brought has been recovered with the old one. */
function received(
  { announce }: ClaimDeps,
  { session }: ClaimParts,
  params: ClaimParams,
  { lost, moved, jobs }: Claimed,
): ClaimedJob[] {
  if (lost) session.lost(params.session);
  announce(moved);
  return session.id() === params.session ? jobs : [];
}

/** Waits for a hint or for `ms`. Where the store lets it, what this process hands in meanwhile is claimed with its enqueue. */
async function idle(deps: ClaimDeps, parts: ClaimParts, ms: number, stopping: AbortSignal): Promise<void> {
  const standDown = standBy(deps, parts);
  await parts.pause.wait(ms, stopping);
  await standDown();
}

/** @returns what ends it: no claim is under way then, and what it has brought has begun */
function standBy(deps: ClaimDeps, parts: ClaimParts): () => Promise<void> {
  let isOver = false;
  let end = async () => {};

  function stand(): boolean {
    const params = standingParams(deps, parts);
    const standing = params === null ? undefined : deps.store.standBy?.(params);
    if (params === null || standing === undefined) return false;
    const begun = standing.claimed.then((claimed) => {
      const jobs = received(deps, parts, params, claimed);
      for (const job of jobs) parts.begin(job, claimed.now);
      const leftNothing = jobs.length < params.limit && !jobs.some(({ suspicion }) => suspicion > 0);
      if (isOver || !leftNothing || !stand()) parts.pause.wake();
    });
    begun.catch(() => parts.pause.wake()); // whoever ends it hears of it
    end = async () => {
      if (!standing.withdraw()) await begun;
    };
    return true;
  }

  stand();
  return () => {
    isOver = true;
    return end();
  };
}

function standingParams(deps: ClaimDeps, parts: ClaimParts): ClaimParams | null {
  const session = parts.session.id();
  const group = parts.lanes.find(({ room }) => room() === Infinity);
  if (session === null || group === undefined || parts.reconciler.isInDoubt()) return null;
  return paramsOf(deps, parts, { session, group }, 0);
}
