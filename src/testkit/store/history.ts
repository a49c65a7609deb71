/**
 * Random lives of jobs in a store. Whatever is asked in whatever order, every record stays in agreement with its own
 * history, what was given up changes nothing, and in the end every job ends.
 */
import assert from 'node:assert/strict';
import type { ErrorCode } from '../../domain/failures.ts';
import type { ClaimedJob } from '../../ports/job-store.ts';
import { assertFolds, FAR_MS, LANE, LEASE_MS, TENANT } from './fixture.ts';
import type { Fixture } from './fixture.ts';

export const STEPS = [
  'enqueue',
  'enqueue later',
  'claim',
  'complete',
  'fail',
  'fail for good',
  'release',
  'hold',
  'settle again',
  'cancel',
  'replay',
  'renew',
  'reconcile',
  'wait',
  'sweep',
  'reap',
] as const;

export interface Step {
  verb: (typeof STEPS)[number];
  /** Chooses among what there is. */
  pick: number;
}

const SESSIONS = ['ses_1', 'ses_2', 'ses_3'];

export async function liveThrough(fixture: Fixture, steps: readonly Step[]): Promise<void> {
  const life = new Life(fixture);
  for (const step of steps) await life.take(step);
  await life.finish();
}

const ENDS = ['complete', 'fail', 'fail for good', 'release', 'hold'] as const;
type End = (typeof ENDS)[number];

function isEnd(verb: Step['verb']): verb is End {
  return ENDS.some((end) => end === verb);
}

class Life {
  readonly #f: Fixture;
  readonly #ids: string[] = [];
  /** Claims that were not settled by us; they may have been taken away. */
  readonly #held: ClaimedJob[] = [];
  readonly #spent: ClaimedJob[] = [];
  #lastToken = 0;

  constructor(fixture: Fixture) {
    this.#f = fixture;
  }

  async take({ verb, pick }: Step): Promise<void> {
    await this.#do(verb, pick);
    const jobId = this.#ids[pick % this.#ids.length];
    if (jobId !== undefined) await this.#check(jobId);
  }

  /** Lets every job come to its end. */
  async finish(): Promise<void> {
    for (let round = 0; round < 200; round += 1) {
      this.#f.advance(LEASE_MS * 7);
      while ((await this.#f.sweep()).more);
      await this.#claim('ses_last', 1000);
      for (const claimed of this.#held.splice(0)) await this.#f.complete(claimed);
      const states = await Promise.all(this.#ids.map((jobId) => this.#check(jobId)));
      if (states.every((state) => state === 'completed' || state === 'dead_letter')) return;
    }
    assert.fail('a job never ended');
  }

  async #do(verb: Step['verb'], pick: number): Promise<void> {
    const session = SESSIONS[pick % SESSIONS.length] ?? '';
    if (isEnd(verb)) return this.#end(verb, pick);
    switch (verb) {
      case 'enqueue':
        return this.#enqueue(0, pick);
      case 'enqueue later':
        return this.#enqueue(1 + (pick % 900), pick);
      case 'claim':
        return this.#claim(session, 1 + (pick % 3));
      case 'settle again':
        return this.#settleAgain(pick);
      case 'cancel':
      case 'replay':
        return this.#person(verb, pick);
      case 'renew':
        await this.#f.renew(session);
        return;
      case 'reconcile':
        return this.#reconcile(session, pick);
      case 'reap':
        await this.#f.jobs.reapSession({ session });
        return;
      case 'wait':
        return this.#f.advance(pick % 2 === 0 ? pick % 500 : LEASE_MS + pick);
      case 'sweep':
        await this.#f.sweep({ limit: 1 + (pick % 4), jitter: (pick % 10) / 10 });
    }
  }

  async #enqueue(delayMs: number, pick: number): Promise<void> {
    const { now } = await this.#f.claim('ses_clock', { lanes: [] });
    const requestedLimits = {
      maxAttempts: 1 + (pick % 3),
      deadlineMs: pick % 5 === 0 ? 1000 : FAR_MS,
      timeoutMs: 5000,
    };
    const runAt = delayMs === 0 ? null : now + delayMs;
    this.#ids.push(await this.#f.enqueueOne({ requestedLimits, runAt, priority: pick % 3 }));
  }

  async #claim(session: string, limit: number): Promise<void> {
    await this.#f.openSession(session).catch(() => {});
    const { jobs } = await this.#f.claim(session, { limit, lanes: [LANE] });
    for (const job of jobs.toSorted((a, b) => a.token - b.token)) {
      assert.ok(job.token > this.#lastToken, 'a token was given twice, or fell');
      this.#lastToken = job.token;
      this.#held.push(job);
    }
  }

  async #end(verb: End, pick: number): Promise<void> {
    const [claimed] = this.#held.splice(pick % Math.max(1, this.#held.length), 1);
    if (claimed === undefined) return;
    this.#spent.push(claimed);
    const codes: ErrorCode[] =
      verb === 'fail' ? ['upstream_unavailable', 'timeout'] : ['refused', 'malformed_output'];
    const code = codes[pick % codes.length] ?? 'refused';
    const before = await this.#f.job(claimed.jobId);
    const settled = await this.#settle(verb, claimed, code);
    const current = before.lease?.token === claimed.token;
    assert.equal(settled.refused, current ? undefined : 'lease_lost');
    if (!current)
      assert.deepEqual(await this.#f.job(claimed.jobId), before, 'a refused settlement changed the record');
  }

  /** A session that has forgotten one of its tokens, or another's. */
  async #reconcile(session: string, pick: number): Promise<void> {
    const held = this.#held.map(({ token }) => token);
    held.splice(pick % Math.max(1, held.length), 1);
    await this.#f.jobs.reconcile({ session, serial: this.#f.claims, held });
  }

  #settle(verb: End, claimed: ClaimedJob, code: ErrorCode) {
    if (verb === 'complete') return this.#f.complete(claimed);
    if (verb === 'release') return this.#f.release(claimed);
    if (verb === 'hold') return this.#f.hold(claimed, 700);
    return this.#f.fail(claimed, { code, elapsedMs: 1 }, 0.5);
  }

  async #settleAgain(pick: number): Promise<void> {
    const claimed = this.#spent[pick % Math.max(1, this.#spent.length)];
    if (claimed === undefined) return;
    assert.deepEqual(await this.#f.complete(claimed), { refused: 'lease_lost' });
  }

  async #person(verb: 'cancel' | 'replay', pick: number): Promise<void> {
    const jobId = this.#ids[pick % Math.max(1, this.#ids.length)];
    if (jobId === undefined) return;
    const { status } = await this.#f.job(jobId);
    const acted = verb === 'cancel' ? await this.#f.cancel(jobId) : await this.#f.replay(jobId);
    const may = verb === 'cancel' ? status === 'queued' || status === 'running' : status === 'dead_letter';
    assert.equal(acted.outcome, may ? 'moved' : 'refused');
  }

  async #check(jobId: string): Promise<string> {
    const job = await this.#f.jobs.job({ tenant: TENANT, jobId });
    assert.ok(job);
    assertFolds(job);
    const status = await this.#f.status(jobId);
    assert.equal(status?.seq, job.events.length);
    return job.status;
  }
}
