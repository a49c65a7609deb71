import assert from 'node:assert/strict';
import type { ClaimedJob, Suspects } from '../../ports/job-store.ts';
import { FAR_MS, first, idsOf } from './fixture.ts';
import type { Cases, Fixture } from './fixture.ts';

/** Claims for a session of its own, which then dies. */
async function lose(f: Fixture, session: string, suspects?: Suspects): Promise<ClaimedJob[]> {
  const claimed = await claim(f, session, suspects);
  await f.jobs.reapSession({ session });
  return claimed;
}

async function claim(f: Fixture, session: string, suspects?: Suspects): Promise<ClaimedJob[]> {
  await f.openSession(session);
  return (await f.claim(session, suspects === undefined ? {} : { suspects })).jobs;
}

function suspicionsOf(jobs: readonly ClaimedJob[]): number[] {
  return jobs.map(({ suspicion }) => suspicion).toSorted((a, b) => a - b);
}

const NONE: Suspects = { 1: 0, 2: 0 };

export const suspectsCases: Cases = {
  'of jobs that were lost with their worker a claim brings as many as it allows, beside those that were not':
    async (f) => {
      const lost = await f.enqueue({}, {}, {});
      await lose(f, 'ses_1');
      const fresh = await f.enqueueOne();
      const jobs = await claim(f, 'ses_2', { 1: 2, 2: 0 });
      assert.deepEqual(suspicionsOf(jobs), [0, 1, 1]);
      assert.deepEqual((await claim(f, 'ses_3', NONE)).length, 0);
      const rest = await claim(f, 'ses_3');
      assert.deepEqual(idsOf([...jobs, ...rest]).toSorted(), [...lost, fresh].toSorted());
    },

  'jobs that were lost again are counted by themselves': async (f) => {
    await f.enqueue({}, {}, {});
    await lose(f, 'ses_1');
    const again = idsOf(await lose(f, 'ses_2', { 1: 2, 2: 0 }));
    const jobs = await claim(f, 'ses_3', { 1: 3, 2: 1 });
    const suspicions = suspicionsOf(jobs);
    assert.deepEqual([again.length, suspicions], [2, [1, 2]]);
    assert.deepEqual(await claim(f, 'ses_4', { 1: 3, 2: 0 }), []);
    assert.deepEqual(suspicionsOf(await claim(f, 'ses_4')), [2]);
  },

  'of those that were lost together the one that began last comes first': async (f) => {
    const [early, late] = await f.enqueue({ labels: { name: 'early' } }, { labels: { name: 'late' } });
    await f.openSession('ses_1');
    await f.claim('ses_1', { limit: 1 });
    f.advance(1);
    await f.claim('ses_1', { limit: 1 });
    await f.jobs.reapSession({ session: 'ses_1' });
    assert.deepEqual(idsOf(await claim(f, 'ses_2', { 1: 1, 2: 1 })), [late]);
    assert.deepEqual(idsOf(await claim(f, 'ses_2', { 1: 1, 2: 1 })), [early]);
  },

  'an attempt that fails by itself, and a replay, clear a job of the suspicion, and a release and a hold do not':
    async (f) => {
      const jobId = await f.enqueueOne();
      await lose(f, 'ses_1');
      await f.release(first(await claim(f, 'ses_2')));
      await f.hold(first(await claim(f, 'ses_2')), 1);
      f.advance(1);
      const suspect = first(await claim(f, 'ses_2'));
      assert.equal(suspect.suspicion, 1);
      await f.fail(suspect, { code: 'upstream_unavailable', elapsedMs: 1 });
      f.advance(FAR_MS);
      const cleared = first(await claim(f, 'ses_2', NONE));
      assert.deepEqual([cleared.jobId, cleared.suspicion], [jobId, 0]);
      await f.jobs.reapSession({ session: 'ses_2' });
      assert.equal((await f.job(jobId)).status, 'dead_letter');
      await f.replay(jobId);
      assert.equal(first(await claim(f, 'ses_3', NONE)).suspicion, 0);
    },

  'a suspect that waits is seen, cancelled and overtaken by its deadline like any other': async (f) => {
    const ids = await f.enqueue({}, { requestedLimits: { deadlineMs: 500 } });
    await lose(f, 'ses_1');
    const filter = { status: 'queued', workflow: 'demo' } as const;
    const listed = await f.jobs.list({ tenant: 'default', filter, after: null, limit: 10 });
    assert.deepEqual(idsOf(listed.jobs).toSorted(), ids);
    await f.cancel(first(ids));
    f.advance(500);
    await f.sweep();
    const dead = await Promise.all(ids.map((jobId) => f.job(jobId)));
    assert.deepEqual(
      dead.map((job) => job.errors.at(-1)?.code),
      ['cancelled', 'deadline_exceeded'],
    );
    assert.deepEqual(await claim(f, 'ses_2'), []);
  },
};
