import assert from 'node:assert/strict';
import { eventsOf, FAR_MS, first, GRACE_MS, idsOf, LEASE_MS, NO_JITTER } from './fixture.ts';
import type { Cases } from './fixture.ts';

export const passingTimeCases: Cases = {
  'a job whose workflow no worker knows ends at its deadline, and not before': async (f) => {
    const jobId = await f.enqueueOne({ workflow: 'unknown', requestedLimits: { deadlineMs: 500 } });
    f.advance(499);
    assert.deepEqual(await f.sweep(), { moved: [], more: false });
    f.advance(1);
    const { moved } = await f.sweep();
    assert.deepEqual(
      moved.map((one) => [one.jobId, one.event, one.code]),
      [[jobId, 'dead_letter', 'deadline_exceeded']],
    );
    assert.deepEqual(await f.sweep(), { moved: [], more: false });
  },

  'due jobs are promoted by a sweep, without a move': async (f) => {
    await f.openSession('ses_1');
    const { now } = await f.claim('ses_1');
    const jobId = await f.enqueueOne({ runAt: now + 100, requestedLimits: { deadlineMs: 300 } });
    f.advance(100);
    assert.equal(await f.jobs.nextDueInMs(), 0);
    assert.deepEqual((await f.sweep()).moved, []);
    assert.equal(await f.jobs.nextDueInMs(), null);
    f.advance(200);
    assert.deepEqual(idsOf((await f.sweep()).moved), [jobId]);
  },

  'the jobs of a silent session are recovered once, without a wait': async (f) => {
    const claimed = await f.running('ses_1');
    f.advance(LEASE_MS - 1);
    assert.deepEqual((await f.sweep()).moved, []);
    f.advance(1);
    assert.deepEqual((await f.sweep({ reap: false })).moved, []);
    const { moved } = await f.sweep();
    assert.deepEqual(
      moved.map((one) => [one.event, one.status, one.code]),
      [['requeued_after_restart', 'queued', 'worker_lost']],
    );
    assert.deepEqual((await f.sweep()).moved, []);
    const again = await f.claimOne('ses_2');
    assert.deepEqual([again.jobId, again.attempt, again.used], [claimed.jobId, 2, 2]);
    assert.deepEqual(await f.eventTypes(claimed.jobId), [
      'queued',
      'running',
      'requeued_after_restart',
      'running',
    ]);
  },

  'a renewed session is not reaped': async (f) => {
    const claimed = await f.running('ses_1');
    for (let beat = 0; beat < 3; beat += 1) {
      f.advance(LEASE_MS - 1);
      assert.equal((await f.renew('ses_1')).lost, false);
      assert.deepEqual((await f.sweep()).moved, []);
    }
    assert.equal((await f.complete(claimed)).moved?.status, 'completed');
  },

  'an expired session may renew, claim and settle until it is reaped, and never after': async (f) => {
    const claimed = await f.running('ses_1');
    f.advance(LEASE_MS * 3);
    assert.equal((await f.claim('ses_1')).lost, false);
    assert.equal((await f.renew('ses_1')).lost, false);
    f.advance(LEASE_MS);
    await f.sweep();
    assert.deepEqual(await f.renew('ses_1'), { lost: true, revoked: [] });
    assert.equal((await f.claim('ses_1')).lost, true);
    assert.deepEqual(await f.complete(claimed), { refused: 'lease_lost' });
    assert.equal(await f.statusOf(claimed.jobId), 'queued');
  },

  'of a renewal and a reaping at the same time one wins': async (f) => {
    const claimed = await f.running('ses_1');
    f.advance(LEASE_MS);
    const [renewed, swept] = await Promise.all([f.renew('ses_1'), f.sweep()]);
    assert.equal(swept.moved.length, renewed.lost ? 1 : 0);
    assert.equal(await f.statusOf(claimed.jobId), renewed.lost ? 'queued' : 'running');
  },

  'many leases of a dead session are recovered over several sweeps': async (f) => {
    await f.enqueue(...Array.from({ length: 7 }, () => ({})));
    await f.openSession('ses_1');
    await f.claim('ses_1');
    f.advance(LEASE_MS);
    const first3 = await f.sweep({ limit: 3 });
    assert.deepEqual([first3.moved.length, first3.more], [3, true]);
    assert.equal((await f.renew('ses_1')).lost, true);
    const next3 = await f.sweep({ limit: 3 });
    assert.deepEqual([next3.moved.length, next3.more], [3, true]);
    const rest = await f.sweep({ limit: 3 });
    assert.deepEqual([rest.moved.length, rest.more], [1, false]);
    assert.deepEqual(await f.sweep({ limit: 3 }), { moved: [], more: false });
  },

  'a session whose process is known to be gone is reaped at once': async (f) => {
    await f.enqueue({}, {});
    await f.openSession('ses_1');
    await f.openSession('ses_2');
    await f.claim('ses_1', { limit: 1 });
    await f.claim('ses_2', { limit: 1 });
    const moved = await f.jobs.reapSession({ session: 'ses_1' });
    assert.deepEqual(eventsOf(moved), ['requeued_after_restart']);
    assert.deepEqual(await f.jobs.reapSession({ session: 'ses_1' }), []);
    assert.deepEqual(await f.jobs.reapSession({ session: 'ses_unknown' }), []);
    assert.equal((await f.renew('ses_2')).lost, false);
  },

  'a closed session is gone, but one that still holds a lease stays to be reaped': async (f) => {
    const claimed = await f.running('ses_1');
    await f.jobs.closeSession({ session: 'ses_1' });
    assert.equal((await f.renew('ses_1')).lost, false);
    await f.complete(claimed);
    await f.jobs.closeSession({ session: 'ses_1' });
    assert.equal((await f.renew('ses_1')).lost, true);
    await f.jobs.closeSession({ session: 'ses_1' });
  },

  'an attempt past its hard stop and two graces is settled, and its session told': async (f) => {
    const claimed = await f.running('ses_1', { requestedLimits: { timeoutMs: 300 } });
    f.advance(300 + 2 * GRACE_MS - 1);
    assert.deepEqual((await f.sweep()).moved, []);
    f.advance(1);
    const { moved } = await f.sweep({ jitter: NO_JITTER });
    assert.deepEqual(
      moved.map((one) => [one.status, one.code, one.revokedSession]),
      [['queued', 'timeout', 'ses_1']],
    );
    const { jobId, token } = claimed;
    assert.deepEqual((await f.renew('ses_1')).revoked, [{ jobId, token }]);
    assert.deepEqual(await f.complete(claimed), { refused: 'lease_lost' });
    const [entry] = (await f.job(jobId)).errors;
    assert.deepEqual([entry?.limitMs, entry?.elapsedMs], [300, 300 + 2 * GRACE_MS]);
  },

  'an attempt that outlives the deadline ends with it': async (f) => {
    await f.running('ses_1', { requestedLimits: { timeoutMs: FAR_MS, deadlineMs: 400 } });
    f.advance(400 + 2 * GRACE_MS);
    const { moved } = await f.sweep();
    assert.deepEqual(
      moved.map((one) => [one.status, one.code]),
      [['dead_letter', 'deadline_exceeded']],
    );
  },

  'a sweep does no more than its limit, and says that there is more': async (f) => {
    await f.enqueue(...Array.from({ length: 5 }, () => ({ requestedLimits: { deadlineMs: 10 } })));
    f.advance(10);
    const one = await f.sweep({ limit: 2 });
    const two = await f.sweep({ limit: 2 });
    const three = await f.sweep({ limit: 2 });
    assert.deepEqual(
      [one, two, three].map((swept) => [swept.moved.length, swept.more]),
      [
        [2, true],
        [2, true],
        [1, false],
      ],
    );
    const ids = [one, two, three].flatMap((swept) => idsOf(swept.moved));
    assert.equal(new Set(ids).size, 5);
  },

  'a session on another machine is not opened beside a live one, where the store serves one machine': async (
    f,
  ) => {
    await f.openSession('ses_1');
    const elsewhere = { session: 'ses_2', worker: 'w', host: 'other-host', leaseMs: LEASE_MS };
    const refused = await f.jobs.openSession(elsewhere).then(
      () => '',
      (error: Error) => error.message,
    );
    if (refused === '') return;
    assert.match(refused, /another machine/);
    f.advance(LEASE_MS);
    await f.jobs.openSession(elsewhere);
    assert.equal(first([await f.renew('ses_2')]).lost, false);
  },
};
