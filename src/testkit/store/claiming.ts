import assert from 'node:assert/strict';
import type { Lane } from '../../ports/job-store.ts';
import { completion, eventsOf, FAR_MS, first, idsOf, LANE, TENANT } from './fixture.ts';
import type { Cases, Fixture } from './fixture.ts';

const OTHER: Lane = { ...LANE, workflow: 'other' };

/** Claims one job after another and gives the labels under `name`. */
async function drainOneByOne(f: Fixture, name: string, count: number, lanes = [LANE]): Promise<string[]> {
  const seen: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const { jobs } = await f.claim('ses_1', { limit: 1, lanes });
    seen.push(first(jobs).labels[name] ?? '');
  }
  return seen;
}

export const claimingCases: Cases = {
  'a claim gives what a worker needs, and the record says who runs it': async (f) => {
    const jobId = await f.enqueueOne({ labels: { order: '17' }, requestedLimits: { timeoutMs: 500 } });
    await f.openSession('ses_1');
    const { jobs, moved, lost, now } = await f.claim('ses_1');
    const { token, limits, ...rest } = first(jobs);
    assert.equal(lost, false);
    assert.deepEqual(rest, {
      jobId,
      tenant: TENANT,
      workflow: 'demo',
      version: '1',
      outputSchemaSha256: 'schema-1',
      input: { mode: 'success' },
      inputRef: null,
      labels: { order: '17' },
      attempt: 1,
      used: 1,
      suspicion: 0,
    });
    assert.equal(limits.timeoutMs, 500);
    assert.deepEqual(
      moved.map((one) => [one.event, one.status, one.worker, one.attempt]),
      [['running', 'running', 'worker of ses_1', 1]],
    );
    const job = await f.job(jobId);
    assert.deepEqual(job.lease, {
      worker: 'worker of ses_1',
      session: 'ses_1',
      token,
      attempt: 1,
      since: now,
      until: now + 500,
    });
    assert.deepEqual([job.status, job.startedAt, job.updatedAt], ['running', now, now]);
  },

  'of jobs that are claimed together each has what is its own': async (f) => {
    const asked = [
      { timeoutMs: 500, maxAttempts: 3, deadlineMs: 80_000 },
      { timeoutMs: 500, maxAttempts: 3, deadlineMs: 80_000 },
      { timeoutMs: 700, maxAttempts: 3, deadlineMs: 80_000 },
      { timeoutMs: 500, maxAttempts: 3, deadlineMs: 80_000 },
      { timeoutMs: 500, maxAttempts: 5, deadlineMs: 90_000 },
    ];
    const ids = await f.enqueue(...asked.map((requestedLimits) => ({ requestedLimits })));
    await f.openSession('ses_1');
    const { jobs } = await f.claim('ses_1');
    assert.deepEqual(idsOf(jobs), ids);
    const given = jobs.map(({ limits: { timeoutMs, maxAttempts, deadlineMs } }) => ({
      timeoutMs,
      maxAttempts,
      deadlineMs,
    }));
    assert.deepEqual(given, asked);
    for (const { jobId, limits } of jobs) assert.deepEqual((await f.job(jobId)).limits, limits);
  },

  'a job is given to one worker only': async (f) => {
    await f.enqueue({}, {}, {});
    await f.openSession('ses_1');
    await f.openSession('ses_2');
    const claims = await Promise.all(
      ['ses_1', 'ses_2', 'ses_1', 'ses_2'].map((session) => f.claim(session, { limit: 2 })),
    );
    const ids = claims.flatMap((claim) => idsOf(claim.jobs));
    assert.equal(ids.length, 3);
    assert.equal(new Set(ids).size, 3);
  },

  'tokens only grow, over jobs and over attempts': async (f) => {
    await f.enqueue({}, {});
    await f.openSession('ses_1');
    const tokens: number[] = [];
    for (let round = 0; round < 3; round += 1) {
      const { jobs } = await f.claim('ses_1');
      tokens.push(...jobs.map((job) => job.token));
      await f.jobs.settle(
        jobs.map(({ jobId, token }) => ({ jobId, token, command: { type: 'release' }, blobs: [] })),
      );
    }
    assert.equal(tokens.length, 6);
    assert.deepEqual(
      tokens,
      [...new Set(tokens)].toSorted((a, b) => a - b),
    );
  },

  'higher priority comes first, then the order of arrival': async (f) => {
    const labelled = (name: string, priority: number) => ({ labels: { name }, priority });
    await f.enqueue(labelled('low', -5), labelled('first', 0), labelled('second', 0), labelled('high', 100));
    f.advance(1);
    await f.enqueue(labelled('third', 0), labelled('also high', 100));
    await f.openSession('ses_1');
    assert.deepEqual(await drainOneByOne(f, 'name', 6), [
      'high',
      'also high',
      'first',
      'second',
      'third',
      'low',
    ]);
  },

  'a job waits for its time, and those that waited come in the order of their times': async (f) => {
    await f.openSession('ses_1');
    const now = (await f.claim('ses_1')).now;
    const at = (name: string, ms: number) => ({ labels: { name }, runAt: now + ms });
    await f.enqueue(at('late', 300), at('early', 100), at('middle', 200));
    assert.equal(await f.jobs.nextDueInMs(), 100);
    assert.deepEqual((await f.claim('ses_1')).jobs, []);
    f.advance(100);
    assert.equal(first((await f.claim('ses_1')).jobs).labels['name'], 'early');
    assert.equal(await f.jobs.nextDueInMs(), 100);
    f.advance(200);
    assert.deepEqual(await drainOneByOne(f, 'name', 2), ['middle', 'late']);
    assert.equal(await f.jobs.nextDueInMs(), null);
  },

  'the first event of a job that waits says when it is due': async (f) => {
    await f.openSession('ses_1');
    const { now } = await f.claim('ses_1');
    const job = await f.job(await f.enqueueOne({ runAt: now + 500 }));
    assert.deepEqual([job.runAt, job.events[0]?.due], [now + 500, now + 500]);
  },

  'a worker gets only jobs of workflow, version and schema that it knows': async (f) => {
    await f.enqueue({ workflowVersion: '2' }, { outputSchemaSha256: 'schema-2' }, { workflow: 'other' });
    const jobId = await f.enqueueOne();
    await f.openSession('ses_1');
    assert.deepEqual(idsOf((await f.claim('ses_1')).jobs), [jobId]);
    assert.deepEqual((await f.claim('ses_1', { lanes: [] })).jobs, []);
  },

  'lanes are served in turn, however full one of them is': async (f) => {
    const of = (workflow: string) => ({ workflow, labels: { lane: workflow } });
    await f.enqueue(...Array.from({ length: 20 }, () => of('demo')), of('other'), of('other'));
    await f.openSession('ses_1');
    const turns = await drainOneByOne(f, 'lane', 4, [LANE, OTHER]);
    assert.deepEqual(turns.toSorted(), ['demo', 'demo', 'other', 'other']);
    const { jobs } = await f.claim('ses_1', { limit: 10, lanes: [LANE, OTHER] });
    assert.equal(jobs.length, 10);
  },

  'a lane that comes in beside one that fills every claim has its turn within a moment': async (f) => {
    const lanes = [LANE, OTHER];
    await f.enqueue(...Array.from({ length: 500 }, () => ({})));
    await f.openSession('ses_1');
    const next = async () => (await f.claim('ses_1', { lanes, limit: 1 })).jobs[0]?.workflow;
    assert.equal(await next(), LANE.workflow);
    assert.equal(await next(), LANE.workflow);
    await f.enqueue({ workflow: OTHER.workflow });
    let claimed = await next();
    while (claimed === LANE.workflow) claimed = await next();
    assert.equal(claimed, OTHER.workflow);
    assert.equal(await next(), LANE.workflow);
  },

  'tenants are served in turn, however many lanes one of them fills': async (f) => {
    const names = ['a', 'b', 'c', 'd'];
    const lanes = names.map((workflow) => ({ ...LANE, workflow }));
    const of = (tenant: string) => names.flatMap((workflow) => [1, 2].map(() => ({ tenant, workflow })));
    for (const tenant of ['big', 'small']) {
      await f.enqueue(
        ...of(tenant)
          .map((job) => ({ ...job, labels: { tenant } }))
          .slice(0, tenant === 'small' ? 2 : 8),
      );
    }
    await f.openSession('ses_1');
    const { jobs } = await f.claim('ses_1', { limit: 4, lanes });
    assert.deepEqual(jobs.map((job) => job.tenant).toSorted(), ['big', 'big', 'small', 'small']);
    assert.equal(new Set(jobs.filter((job) => job.tenant === 'big').map((job) => job.workflow)).size, 2);
  },

  'after a claim that found nothing, the next one serves lanes in turn and by priority, and goes on for the rest':
    async (f) => {
      const lanes = [LANE, OTHER];
      const of = (workflow: string, name: string, priority = 0) => ({ workflow, priority, labels: { name } });
      await f.enqueue(of('demo', 'before'), of('other', 'before'));
      await f.openSession('ses_1');
      assert.equal((await f.claim('ses_1', { lanes })).jobs.length, 2);
      assert.deepEqual((await f.claim('ses_1', { lanes })).jobs, []);
      const many = Array.from({ length: 20 }, () => of('demo', 'demo'));
      await f.enqueue(...many, of('demo', 'urgent', 1), of('other', 'other'), of('other', 'other'));
      const { jobs } = await f.claim('ses_1', { lanes, limit: 10 });
      const names = jobs.map(({ labels }) => labels['name'] ?? '').toSorted((a, b) => (a < b ? -1 : 1));
      assert.deepEqual(names, [...Array.from({ length: 7 }, () => 'demo'), 'other', 'other', 'urgent']);
    },

  'after a claim that found nothing, the next one finds a lane that is new, and a job that came due': async (
    f,
  ) => {
    const lanes = [LANE, OTHER];
    await f.openSession('ses_1');
    const { now } = await f.claim('ses_1', { lanes });
    const due = await f.enqueueOne({ runAt: now + 100 });
    assert.deepEqual((await f.claim('ses_1', { lanes })).jobs, []);
    const other = await f.enqueueOne({ workflow: 'other' });
    assert.deepEqual(idsOf((await f.claim('ses_1', { lanes })).jobs), [other]);
    assert.deepEqual((await f.claim('ses_1', { lanes })).jobs, []);
    f.advance(100);
    assert.deepEqual(idsOf((await f.claim('ses_1', { lanes })).jobs), [due]);
  },

  'a job found past its deadline goes to dead letter instead, and does not count': async (f) => {
    const late = await f.enqueueOne({ requestedLimits: { deadlineMs: 100 } });
    const good = await f.enqueueOne();
    f.advance(100);
    await f.openSession('ses_1');
    const { jobs, moved } = await f.claim('ses_1', { limit: 1 });
    assert.deepEqual(idsOf(jobs), [good]);
    assert.deepEqual(eventsOf(moved).toSorted(), ['dead_letter', 'running']);
    const job = await f.job(late);
    assert.deepEqual([job.status, job.attempt, job.errors[0]?.code], ['dead_letter', 0, 'deadline_exceeded']);
  },

  'a lease ends at the deadline, where that comes before the timeout': async (f) => {
    const claimed = await f.running('ses_1', { requestedLimits: { timeoutMs: FAR_MS, deadlineMs: 700 } });
    const { lease, createdAt } = await f.job(claimed.jobId);
    assert.equal(lease?.until, createdAt + 700);
  },

  'a session that was never opened, or was reaped, gets nothing': async (f) => {
    await f.enqueueOne();
    const { lost, jobs } = await f.claim('ses_unknown');
    assert.deepEqual([lost, jobs], [true, []]);
    await f.openSession('ses_1');
    await f.claim('ses_1');
    assert.deepEqual((await f.claim('ses_1')).jobs, []);
    await f.enqueueOne();
    await f.jobs.reapSession({ session: 'ses_1' });
    assert.deepEqual(await f.claim('ses_1').then(({ lost: again, jobs: none }) => [again, none]), [true, []]);
    assert.equal((await f.claim('ses_1')).lost, true);
  },

  'what was completed is never given again': async (f) => {
    const claimed = await f.running('ses_1');
    await f.jobs.settle([completion(claimed)]);
    f.advance(FAR_MS);
    await f.sweep({ reap: false });
    assert.deepEqual((await f.claim('ses_1')).jobs, []);
  },

  'a job taken back from a worker keeps its place, and a retry goes behind those that waited': async (f) => {
    await f.enqueue({ labels: { name: 'first' } });
    f.advance(1);
    await f.enqueue({ labels: { name: 'second' } });
    f.advance(1);
    const claimed = await f.claimOne('ses_1');
    await f.release(claimed);
    assert.deepEqual(await drainOneByOne(f, 'name', 2), ['first', 'second']);
  },
};
