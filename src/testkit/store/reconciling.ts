import assert from 'node:assert/strict';
import { first, idsOf } from './fixture.ts';
import type { Cases, Fixture } from './fixture.ts';

/** What a worker asks that holds these tokens, after as many claims as were made. */
function reconcile(f: Fixture, session: string, held: readonly number[], serial = f.claims) {
  return f.jobs.reconcile({ session, serial, held });
}

export const reconcilingCases: Cases = {
  'leases that their session does not know of are given back in their old places, and spend no attempt':
    async (f) => {
      const [stray, waiting] = await f.enqueue({ requestedLimits: { maxAttempts: 1 } }, {});
      const other = await f.running('ses_1');
      assert.equal(other.jobId, stray); // its answer was lost, let us say
      const { lost, gone, moved } = await reconcile(f, 'ses_1', []);
      assert.deepEqual([lost, gone], [false, []]);
      assert.deepEqual(
        moved.map((one) => [one.jobId, one.event, one.status, one.code]),
        [[stray, 'queued', 'queued', null]],
      );
      const job = await f.job(stray ?? '');
      assert.deepEqual([job.attempt, job.used, job.errors], [1, 0, []]);
      assert.deepEqual(idsOf((await f.claim('ses_1', { limit: 2 })).jobs), [stray, waiting]);
      assert.deepEqual(await f.complete(other), { refused: 'lease_lost' });
    },

  'what a session holds stays its own, and a token without a lease is told': async (f) => {
    const held = await f.running('ses_1');
    const cancelled = await f.running('ses_1');
    const elsewhere = await f.running('ses_2');
    await f.cancel(cancelled.jobId);
    const tokens = [held, cancelled, elsewhere].map(({ token }) => token);
    const { lost, gone, moved } = await reconcile(f, 'ses_1', tokens);
    assert.deepEqual([lost, gone, moved], [false, [cancelled.token, elsewhere.token], []]);
    for (const one of [held, elsewhere]) assert.equal((await f.complete(one)).moved?.status, 'completed');
  },

  'a claim that arrives after its session was reconciled gets nothing, and the next one does': async (f) => {
    const jobId = await f.enqueueOne();
    await f.openSession('ses_1');
    await reconcile(f, 'ses_1', [], 7);
    assert.deepEqual((await f.claim('ses_1', { serial: 7 })).jobs, []);
    assert.equal(await f.statusOf(jobId), 'queued');
    assert.equal(first((await f.claim('ses_1', { serial: 8 })).jobs).jobId, jobId);
  },

  'a session that was reaped is lost, and gives nothing back': async (f) => {
    const claimed = await f.running('ses_1');
    await f.jobs.reapSession({ session: 'ses_1' });
    assert.deepEqual(await reconcile(f, 'ses_1', [claimed.token]), { lost: true, gone: [], moved: [] });
    assert.deepEqual(await f.eventTypes(claimed.jobId), ['queued', 'running', 'requeued_after_restart']);
  },
};
