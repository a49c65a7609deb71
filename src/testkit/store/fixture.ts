/** What the cases of the store suite share: a store whose clock they move, and short forms of its verbs. */
import assert from 'node:assert/strict';
import type { NewJob, NewRequest } from '../../domain/accept.ts';
import type { Failure, ReplayCommand } from '../../domain/decide.ts';
import { fold } from '../../domain/fold.ts';
import type { Job, StatusView } from '../../domain/record.ts';
import type {
  Acted,
  ClaimedJob,
  Enqueued,
  InlineBlob,
  Lane,
  Settled,
  Settlement,
  Suspects,
  Swept,
} from '../../ports/job-store.ts';
import type { JobStore, Moved } from '../../ports/job-store.ts';
import type { Store } from '../../ports/store.ts';

/** A store that was opened for one case. */
export interface OpenedStore {
  store: Store;
  /** Moves the store's clock. */
  advance: (this: void, ms: number) => void;
  /** Closes the store and removes what it left. */
  dispose(): Promise<void>;
}

export type Case = (fixture: Fixture) => Promise<void>;

/** Cases by the sentence that each of them shows. */
export type Cases = Readonly<Record<string, Case>>;

export const LANE: Lane = { workflow: 'demo', version: '1', outputSchemaSha256: 'schema-1' };
/** What most cases ask for; a worker, too, asks for the same lanes each time. */
export const LANES = [LANE];
export const TENANT = 'default';
export const LEASE_MS = 10_000;
export const GRACE_MS = 1000;
export const IDEMPOTENCY_MS = 60_000;
export const FAR_MS = 3_600_000;

/** Never waits: a retry is due at once. */
export const NO_JITTER = 0;

type ClaimResult = Awaited<ReturnType<JobStore['claim']>>;

export class Fixture {
  readonly store: Store;
  readonly jobs: JobStore;
  readonly advance: (ms: number) => void;
  #lastJob = 0;
  /** How many claims were made. */
  claims = 0;

  constructor({ store, advance }: OpenedStore) {
    this.store = store;
    this.jobs = store.jobs;
    this.advance = advance;
  }

  newJob(changes: Partial<NewJob> = {}): NewJob {
    this.#lastJob += 1;
    return {
      jobId: `job_${String(this.#lastJob).padStart(10, '0')}`,
      tenant: TENANT,
      workflow: LANE.workflow,
      workflowVersion: LANE.version,
      outputSchemaSha256: LANE.outputSchemaSha256,
      inputJson: '{"mode":"success"}',
      inputRef: null,
      inputSha256: 'input-digest',
      requestedLimits: {},
      workflowLimits: {},
      spendingLimit: null,
      runAt: null,
      priority: 0,
      labels: {},
      ...changes,
    };
  }

  /** Enqueues one caller's jobs, which have to be accepted, and gives their ids. */
  async enqueue(...changes: Partial<NewJob>[]): Promise<string[]> {
    return accepted(await this.keyed(null, ...changes)).jobIds;
  }

  /** Enqueues one caller's jobs under a key. */
  async keyed(
    idempotency: NewRequest['idempotency'],
    ...changes: Partial<NewJob>[]
  ): Promise<Enqueued | undefined> {
    const [answer] = await this.jobs.enqueue([this.request(idempotency, ...changes)]);
    return answer;
  }

  /** One caller's request. */
  request(idempotency: NewRequest['idempotency'], ...changes: Partial<NewJob>[]): NewRequest {
    return { jobs: changes.map((change) => this.newJob(change)), idempotency };
  }

  async enqueueOne(changes: Partial<NewJob> = {}): Promise<string> {
    return first(await this.enqueue(changes));
  }

  async openSession(session: string, worker = `worker of ${session}`): Promise<void> {
    await this.jobs.openSession({ session, worker, host: 'this-host', leaseMs: LEASE_MS });
  }

  claim(
    session: string,
    options: { limit?: number; lanes?: Lane[]; serial?: number; suspects?: Suspects } = {},
  ): Promise<ClaimResult> {
    this.claims += 1;
    const defaults = { limit: 100, lanes: LANES, serial: this.claims };
    return this.jobs.claim({ ...defaults, session, worker: `worker of ${session}`, ...options });
  }

  renew(session: string, heard: readonly number[] = []): ReturnType<JobStore['renew']> {
    return this.jobs.renew({ session, heard });
  }

  /** Opens `session` where it is not open, and claims one job with it. */
  async claimOne(session: string, lane = LANE): Promise<ClaimedJob> {
    await this.openSession(session);
    const { jobs } = await this.claim(session, { limit: 1, lanes: [lane] });
    return first(jobs);
  }

  /** A job that runs under `session`. */
  async running(session: string, changes: Partial<NewJob> = {}): Promise<ClaimedJob> {
    await this.enqueueOne(changes);
    return this.claimOne(session);
  }

  /** A job that ended in dead letter after one attempt. */
  async dead(changes: Partial<NewJob> = {}): Promise<string> {
    const claimed = await this.running('ses_dead', changes);
    assert.equal(
      (await this.fail(claimed, { code: 'malformed_output', elapsedMs: 1 })).moved?.status,
      'dead_letter',
    );
    return claimed.jobId;
  }

  async settle(settlement: Settlement): Promise<Settled> {
    return first(await this.jobs.settle([settlement]));
  }

  complete(claimed: ClaimedJob, blobs: InlineBlob[] = []): Promise<Settled> {
    return this.settle(completion(claimed, blobs));
  }

  fail({ jobId, token }: ClaimedJob, failure: Failure, jitter = NO_JITTER): Promise<Settled> {
    return this.settle({ jobId, token, command: { type: 'fail', failure, jitter }, blobs: [] });
  }

  release({ jobId, token }: ClaimedJob): Promise<Settled> {
    return this.settle({ jobId, token, command: { type: 'release' }, blobs: [] });
  }

  hold({ jobId, token }: ClaimedJob, delayMs: number): Promise<Settled> {
    const command = { type: 'hold' as const, delayMs, reason: 'openai/gpt-5 asked for a pause' };
    return this.settle({ jobId, token, command, blobs: [] });
  }

  cancel(jobId: string, tenant = TENANT): Promise<Acted> {
    return this.jobs.act({
      tenant,
      jobId,
      command: { type: 'cancel', actor: 'key:1', reason: 'not needed' },
    });
  }

  replay(jobId: string, changes: Partial<ReplayCommand> = {}, tenant = TENANT): Promise<Acted> {
    const command: ReplayCommand = { type: 'replay', actor: 'key:1', reason: 'mended', ...changes };
    return this.jobs.act({ tenant, jobId, command });
  }

  sweep(changes: { reap?: boolean; limit?: number; jitter?: number } = {}): Promise<Swept> {
    const { reap = true, limit = 1000, jitter = NO_JITTER } = changes;
    return this.jobs.sweep({
      reap,
      limit,
      graceMs: GRACE_MS,
      idempotencyMs: IDEMPOTENCY_MS,
      jitter: () => jitter,
    });
  }

  /** The record, whose history has to say the same as its state. */
  async job(jobId: string, tenant = TENANT): Promise<Job> {
    const job = await this.jobs.job({ tenant, jobId });
    assert.ok(job, `${jobId} is not in the store`);
    assertFolds(job);
    return job;
  }

  async eventTypes(jobId: string): Promise<string[]> {
    return (await this.job(jobId)).events.map((event) => event.type);
  }

  async status(jobId: string, tenant = TENANT): Promise<StatusView | null> {
    return (await this.jobs.statuses([{ tenant, jobId }]))[0] ?? null;
  }

  async statusOf(jobId: string): Promise<string | undefined> {
    return (await this.status(jobId))?.status;
  }
}

export function completion(
  { jobId, token }: { jobId: string; token: number },
  blobs: InlineBlob[] = [],
): Settlement {
  const artifact = {
    uri: `artifacts/${jobId}/${token}.json`,
    sha256: 'digest',
    bytes: 2,
    mediaType: 'application/json',
  };
  return { jobId, token, command: { type: 'complete', artifact, artifacts: [] }, blobs };
}

export function blob(uri: string, text: string): InlineBlob {
  return { uri, bytes: new TextEncoder().encode(text), mediaType: 'text/plain' };
}

/** Invariants that hold of every record, whenever it is read. */
export function assertFolds(job: Job): void {
  const folded = fold(job.events);
  const codes = job.errors.map((error) => error.code);
  const { status, attempt, used, replays } = job;
  assert.deepEqual({ status, attempt, used, replays, errorCodes: codes }, folded);
  assert.equal(job.status === 'running', job.lease !== null, 'running is to have a lease');
  assert.ok(job.used <= job.limits.maxAttempts, 'an attempt was spent past the budget');
  assert.equal(job.status === 'dead_letter', job.decision?.open === true, 'a dead letter opens one decision');
}

export function accepted(answer: Enqueued | undefined): Extract<Enqueued, { outcome: 'accepted' }> {
  assert.ok(answer?.outcome === 'accepted', `enqueue answered ${answer?.outcome}`);
  return answer;
}

export function first<T>(items: readonly T[]): T {
  const [item] = items;
  assert.ok(item !== undefined, 'there is no first item');
  return item;
}

export function idsOf(items: readonly { jobId: string }[]): string[] {
  return items.map((item) => item.jobId);
}

export function eventsOf(moved: readonly Moved[]): string[] {
  return moved.map((one) => one.event);
}
