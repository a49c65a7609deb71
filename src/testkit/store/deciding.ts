import assert from 'node:assert/strict';
import { completion, eventsOf, first, LANE, TENANT } from './fixture.ts';
import type { Cases } from './fixture.ts';

export const decidingCases: Cases = {
  'a waiting job that is cancelled is dead at once and never runs': async (f) => {
    const now = f.newJob();
    const later = f.newJob();
    await f.openSession('ses_1');
    const at = (await f.claim('ses_1')).now + 1000;
    await f.jobs.enqueue([{ jobs: [now, { ...later, runAt: at }], idempotency: null }]);
    for (const { jobId } of [now, later]) {
      const acted = await f.cancel(jobId);
      assert.ok(acted.outcome === 'moved');
      assert.deepEqual(
        [acted.moved.status, acted.moved.code, acted.moved.revokedSession],
        ['dead_letter', 'cancelled', null],
      );
      assert.deepEqual(await f.eventTypes(jobId), ['queued', 'cancel_requested', 'dead_letter']);
    }
    f.advance(1000);
    assert.deepEqual((await f.claim('ses_1')).jobs, []);
    assert.equal(await f.jobs.nextDueInMs(), null);
  },

  'a cancelled attempt is told with every renewal until its token is said to be heard, and cannot write':
    async (f) => {
      const claimed = await f.running('ses_1');
      const other = await f.running('ses_1');
      const acted = await f.cancel(claimed.jobId);
      assert.ok(acted.outcome === 'moved');
      assert.equal(acted.moved.revokedSession, 'ses_1');
      assert.deepEqual(await f.complete(claimed), { refused: 'lease_lost' });
      const { jobId, token } = claimed;
      const told = { lost: false, revoked: [{ jobId, token }] };
      assert.deepEqual(await f.renew('ses_1'), told);
      assert.deepEqual(await f.renew('ses_1'), told); // the first answer may have been lost
      assert.deepEqual(await f.renew('ses_1', [token]), { lost: false, revoked: [] });
      assert.deepEqual(await f.renew('ses_1'), { lost: false, revoked: [] });
      const job = await f.job(jobId);
      assert.deepEqual([job.status, job.errors[0]?.code, job.attempt], ['dead_letter', 'cancelled', 1]);
      assert.equal(job.events.at(-1)?.reason, 'not needed');
      assert.equal(await f.statusOf(other.jobId), 'running');
    },

  'of a cancel and a completion at the same time one wins, and the other is told': async (f) => {
    for (let round = 0; round < 10; round += 1) {
      const claimed = await f.running('ses_1');
      const race = [f.cancel(claimed.jobId), f.jobs.settle([completion(claimed)])] as const;
      const [acted, settled] = await Promise.all(round % 2 === 0 ? race : [race[0], race[1]]);
      const cancelled = acted.outcome === 'moved';
      assert.equal(first(settled).refused, cancelled ? 'lease_lost' : undefined);
      assert.equal(await f.statusOf(claimed.jobId), cancelled ? 'dead_letter' : 'completed');
    }
  },

  'what has ended cannot be cancelled': async (f) => {
    const claimed = await f.running('ses_1');
    await f.complete(claimed);
    const before = await f.job(claimed.jobId);
    assert.deepEqual(await f.cancel(claimed.jobId), {
      outcome: 'refused',
      refusal: { refused: 'already_ended' },
    });
    assert.deepEqual(await f.job(claimed.jobId), before);
    assert.deepEqual(await f.cancel(await f.dead()), {
      outcome: 'refused',
      refusal: { refused: 'already_ended' },
    });
  },

  'a replay gives a dead letter a fresh budget, and keeps its past': async (f) => {
    const jobId = await f.dead({ requestedLimits: { maxAttempts: 1 } });
    f.advance(10);
    const acted = await f.replay(jobId);
    assert.ok(acted.outcome === 'moved');
    const { event, status, due } = acted.moved;
    const job = await f.job(jobId);
    assert.deepEqual([event, status, due], ['queued', 'queued', job.updatedAt]);
    assert.deepEqual(
      [job.attempt, job.used, job.replays, job.errors.length, job.finishedAt],
      [1, 0, 1, 1, null],
    );
    assert.deepEqual(
      [job.decision?.open, job.decision?.choice, job.decision?.actor],
      [false, 'replay', 'key:1'],
    );
    assert.deepEqual([job.events.at(-1)?.actor, job.events.at(-1)?.reason], ['key:1', 'mended']);
    assert.equal((await f.status(jobId))?.error, null);
    const again = await f.claimOne('ses_2');
    assert.deepEqual([again.jobId, again.attempt, again.used], [jobId, 2, 1]);
    await f.complete(again);
    assert.equal(await f.statusOf(jobId), 'completed');
  },

  'of many replays at once one is taken': async (f) => {
    const jobId = await f.dead();
    const acted = await Promise.all(Array.from({ length: 8 }, () => f.replay(jobId)));
    assert.equal(acted.filter((one) => one.outcome === 'moved').length, 1);
    assert.deepEqual(await f.eventTypes(jobId), ['queued', 'running', 'dead_letter', 'queued']);
  },

  'a decision is used once, by its id': async (f) => {
    const jobId = await f.dead();
    const decisionId = (await f.job(jobId)).decision?.decisionId;
    const taken = { outcome: 'refused', refusal: { refused: 'decision_taken' } };
    assert.deepEqual(await f.replay(jobId, { decisionId: 'dec_other' }), taken);
    assert.equal((await f.replay(jobId, { decisionId })).outcome, 'moved');
    assert.deepEqual(await f.replay(jobId, { decisionId }), taken);
    await f.fail(await f.claimOne('ses_2'), { code: 'refused', elapsedMs: 1 });
    assert.deepEqual(await f.replay(jobId, { decisionId }), taken);
    assert.notEqual((await f.job(jobId)).decision?.decisionId, decisionId);
  },

  'a replay of what is not dead is refused': async (f) => {
    const claimed = await f.running('ses_1');
    const refused = { outcome: 'refused', refusal: { refused: 'not_dead_letter' } };
    assert.deepEqual(await f.replay(claimed.jobId), refused);
    await f.complete(claimed);
    assert.deepEqual(await f.replay(claimed.jobId), refused);
  },

  'a replay takes new limits, and refuses those past the caps': async (f) => {
    const jobId = await f.dead();
    const refused = await f.replay(jobId, { limits: { maxAttempts: 1_000_000 } });
    assert.ok(refused.outcome === 'refused' && refused.refusal.refused === 'invalid');
    assert.equal(refused.refusal.issues[0]?.path, '/limits/max_attempts');
    await f.replay(jobId, { limits: { timeoutMs: 1234, maxAttempts: 7 } });
    const claimed = await f.claimOne('ses_2');
    assert.deepEqual([claimed.limits.timeoutMs, claimed.limits.maxAttempts], [1234, 7]);
  },

  'a replay after the deadline counts a new one, and the job expires by it': async (f) => {
    const jobId = await f.enqueueOne({ requestedLimits: { deadlineMs: 100 } });
    f.advance(100);
    assert.deepEqual(eventsOf((await f.sweep()).moved), ['dead_letter']);
    await f.replay(jobId);
    assert.deepEqual(await f.eventTypes(jobId), ['queued', 'dead_letter', 'queued', 'deadline_extended']);
    assert.deepEqual((await f.sweep()).moved, []);
    f.advance(100);
    assert.deepEqual(eventsOf((await f.sweep()).moved), ['dead_letter']);
  },

  'a replay from evidence says so in its event, and another does not': async (f) => {
    const jobId = await f.dead();
    await f.replay(jobId, { fromEvidence: true });
    assert.deepEqual((await f.job(jobId)).events.at(-1)?.detail, { from_evidence: true });
    await f.fail(await f.claimOne('ses_2'), { code: 'refused', elapsedMs: 1 });
    await f.replay(jobId);
    assert.equal((await f.job(jobId)).events.at(-1)?.detail, undefined);
  },

  'a replay may pin another output schema, and then only its workers get the job': async (f) => {
    const jobId = await f.dead();
    await f.replay(jobId, { outputSchemaSha256: 'schema-2' });
    assert.equal((await f.job(jobId)).outputSchemaSha256, 'schema-2');
    await f.openSession('ses_2');
    assert.deepEqual((await f.claim('ses_2')).jobs, []);
    const claimed = await f.claimOne('ses_2', { ...LANE, outputSchemaSha256: 'schema-2' });
    assert.deepEqual([claimed.jobId, claimed.outputSchemaSha256], [jobId, 'schema-2']);
    const { jobs } = await f.jobs.list({
      tenant: TENANT,
      filter: { workflow: 'demo' },
      after: null,
      limit: 5,
    });
    assert.deepEqual(
      jobs.map((job) => job.jobId),
      [jobId],
    );
  },

  "another tenant's job is not there": async (f) => {
    const jobId = await f.dead();
    assert.deepEqual(await f.replay(jobId, {}, 'another'), { outcome: 'not_found' });
    assert.deepEqual(await f.cancel(jobId, 'another'), { outcome: 'not_found' });
    assert.deepEqual(await f.cancel('job_unknown'), { outcome: 'not_found' });
    assert.equal(await f.jobs.job({ tenant: 'another', jobId }), null);
    assert.equal(await f.status(jobId, 'another'), null);
    assert.deepEqual((await f.jobs.list({ tenant: 'another', filter: {}, after: null, limit: 5 })).jobs, []);
  },
};
