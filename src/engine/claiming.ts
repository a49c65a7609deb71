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
  await parts.reconciler.settle(session);
  if (freeSlots(deps, parts) <= 0) return POLL_MS;
  let isFull = true;
  parts.lanes.push(...parts.lanes.splice(0, 1));
  for (const group of parts.lanes) {
    const ended = await claimFrom(deps, parts, { session, group }, stopping);
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
    const suspects = jobs.some(({ suspicion }) => suspicion > 0);
    const isFilled = jobs.length === limit;
    const goesOn =
      isFilled && !suspects && parts.lanes.length === 1 && !stopping.aborted && !parts.reconciler.isInDoubt();
    asked = goesOn ? ask(deps, parts, claimant, jobs.length) : null;
    for (const job of jobs) parts.begin(job, now);
    if (!isFilled) return suspects ? 'cut' : 'emptied';
    if (!goesOn) return 'cut';
  }
  return 'full';
}

/** @param beside how many have been claimed and not begun yet */
function ask(deps: ClaimDeps, parts: ClaimParts, claimant: Claimant, beside = 0): Asked | null {
  const params = paramsOf(deps, parts, claimant, beside);
  return params === null ? null : { limit: params.limit, answer: claim(deps, parts, params) };
}

/** Null where there is no room. */
function paramsOf(
  deps: ClaimDeps,
  parts: ClaimParts,
  { session, group }: Claimant,
  beside: number,
): ClaimParams | null {
  const { settings, name: worker } = deps;
  const room = Math.min(group.room(), freeSlots(deps, parts)) - beside;
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
  await standDown?.();
}

/** @returns what ends it: no claim is under way then, and what it has brought has begun; null where there is none */
function standBy(deps: ClaimDeps, parts: ClaimParts): (() => Promise<void>) | null {
  const session = parts.session.id();
  const group = parts.lanes.find(({ room }) => room() === Infinity);
  if (session === null || group === undefined || parts.reconciler.isInDoubt()) return null;
  const params = paramsOf(deps, parts, { session, group }, 0);
  const standing = params === null ? undefined : deps.store.standBy?.(params);
  if (params === null || standing === undefined) return null;
  const begun = standing.claimed
    .then((claimed) => {
      for (const job of received(deps, parts, params, claimed)) parts.begin(job, claimed.now);
    })
    .finally(() => parts.pause.wake());
  return async () => {
    if (!standing.withdraw()) await begun;
  };
}
