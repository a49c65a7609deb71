import assert from 'node:assert/strict';
import { begun, called, callOf, ended, everywhere, NO_LIMITS, opening, refusedBy, sums } from './calls.ts';
import type { Cases, Fixture } from './fixture.ts';

/** A job whose worker died during its only call. */
async function lost(f: Fixture, session = 'ses_lost') {
  const claimed = await f.running(session);
  const n = await begun(f, claimed);
  await f.jobs.reapSession({ session });
  return { ...claimed, n };
}

function verdict(jobId: string, n: number, cost = 7) {
  return { tenant: 'default', jobId, n, cost, actor: 'key:1', reason: 'on the invoice\u0000' };
}

export const spendingCases: Cases = {
  'a call is held in the accounts of its job, its workflow and the day, and then spent there': async (f) => {
    const claimed = await f.running('ses_1');
    const n = await begun(f, claimed);
    assert.deepEqual(await sums(f, claimed.jobId), everywhere(0, 10));
    await ended(f, claimed, n, { cost: 4 });
    assert.deepEqual(await sums(f, claimed.jobId), everywhere(4, 0));
    await called(f, claimed, { place: 2 });
    assert.deepEqual(await sums(f, claimed.jobId), everywhere(8, 0));
  },

  'the first limit that a call would pass refuses it, and nothing is held in any account': async (f) => {
    const claimed = await f.running('ses_1', { spendingLimit: 15 });
    await begun(f, claimed);
    const job = refusedBy(await f.store.ledger.begin(opening(claimed, { place: 2, estimate: 6 })));
    assert.deepEqual(job, { scope: 'job', name: claimed.jobId, limit: 15, spent: 0, reserved: 10 });
    const workflow = await f.store.ledger.begin(
      opening(claimed, { place: 2, estimate: 5, limits: { workflow: 14, day: 14 } }),
    );
    assert.deepEqual(refusedBy(workflow), {
      scope: 'workflow',
      name: 'demo',
      limit: 14,
      spent: 0,
      reserved: 10,
    });
    const day = await f.store.ledger.begin(
      opening(claimed, { place: 2, estimate: 5, limits: { workflow: 15, day: 14 } }),
    );
    assert.deepEqual([refusedBy(day).scope, refusedBy(day).name], ['day', '2026-01-01']);
    assert.deepEqual(await sums(f, claimed.jobId), everywhere(0, 10));
    assert.equal((await f.store.ledger.calls(claimed)).length, 1);
    assert.equal(await begun(f, claimed, { place: 2, estimate: 5, limits: { workflow: 15, day: 15 } }), 2);
  },

  'the first call of all is refused where its estimate alone passes a limit': async (f) => {
    const claimed = await f.running('ses_1', { spendingLimit: 9 });
    assert.equal(refusedBy(await f.store.ledger.begin(opening(claimed))).scope, 'job');
    const other = await f.running('ses_2');
    const limits = { workflow: null, day: 9 };
    assert.equal(refusedBy(await f.store.ledger.begin(opening(other, { limits }))).scope, 'day');
    assert.deepEqual(await sums(f, claimed.jobId), everywhere(0, 0));
  },

  'fifty that begin at once do not pass a limit that pays for ten': async (f) => {
    const limits = [
      { changes: { spendingLimit: 100 }, limits: NO_LIMITS, jobs: 1 },
      { changes: {}, limits: { workflow: 200, day: null }, jobs: 50 },
      { changes: {}, limits: { workflow: null, day: 300 }, jobs: 50 },
    ];
    for (const { changes, limits: own, jobs } of limits) {
      await f.enqueue(...Array.from({ length: jobs }, () => changes));
      await f.openSession('ses_1');
      const claimed = (await f.claim('ses_1')).jobs;
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, index) => {
          const running = claimed[index % jobs];
          assert.ok(running);
          return f.store.ledger.begin(opening(running, { place: index + 1, limits: own }));
        }),
      );
      const through = answers.filter(({ outcome }) => outcome === 'begun').length;
      assert.deepEqual([through, answers.length], [10, 50]);
      for (const answer of answers) if (answer.outcome !== 'begun') refusedBy(answer);
    }
    const [day, workflow] = await f.store.ledger.limits();
    assert.deepEqual([day?.reserved, workflow?.reserved], [300, 300]);
  },

  'a job that is replayed may get another limit, and spends on what it spent before': async (f) => {
    const claimed = await f.running('ses_1', { spendingLimit: 10 });
    const { jobId } = claimed;
    await called(f, claimed);
    await f.fail(claimed, { code: 'spending_limit', elapsedMs: 1 });
    await f.replay(jobId);
    assert.deepEqual((await f.job(jobId)).spending, { limit: 10, spent: 4, reserved: 0 });
    const second = await f.claimOne('ses_2');
    assert.equal(refusedBy(await f.store.ledger.begin(opening(second))).spent, 4);
    await f.fail(second, { code: 'spending_limit', elapsedMs: 1 });
    await f.replay(jobId, { limits: { spendingLimit: 14 } });
    assert.equal((await f.job(jobId)).spending.limit, 14);
    const third = await f.claimOne('ses_3');
    assert.equal(await called(f, third), 2);
    await f.fail(third, { code: 'spending_limit', elapsedMs: 1 });
    await f.replay(jobId, { limits: { spendingLimit: null } });
    assert.equal((await f.job(jobId)).spending.limit, null);
    await called(f, await f.claimOne('ses_4'), { estimate: 1_000_000 });
  },

  'a limit that a person set replaces the one that is asked with, until another does': async (f) => {
    const claimed = await f.running('ses_1');
    const { ledger } = f.store;
    const by = { actor: 'key:1', reason: 'month end\u0000' };
    const limits = { workflow: 100, day: 100 };
    await ledger.setLimit({ scope: 'workflow', name: 'demo', limit: 5, ...by });
    await ledger.setLimit({ scope: 'workflow', name: 'other', limit: 1, ...by });
    assert.equal(refusedBy(await ledger.begin(opening(claimed, { limits }))).limit, 5);
    await ledger.setLimit({ scope: 'workflow', name: 'demo', limit: null, ...by });
    await ledger.setLimit({ scope: 'day', name: null, limit: 12, ...by });
    assert.equal(await begun(f, claimed, { limits }), 1);
    const next = opening(claimed, { place: 2, estimate: 3, limits });
    assert.deepEqual(refusedBy(await ledger.begin(next)), {
      scope: 'day',
      name: '2026-01-01',
      limit: 12,
      spent: 0,
      reserved: 10,
    });
    f.advance(86_400_000);
    assert.equal((await ledger.begin(next)).outcome, 'begun');
    const setBy = { ...by, at: Date.UTC(2026, 0, 1) };
    assert.deepEqual(await ledger.limits(), [
      { scope: 'day', name: '2026-01-02', limit: 12, spent: 0, reserved: 3, setBy },
      { scope: 'workflow', name: 'demo', limit: null, spent: 0, reserved: 3, setBy },
      { scope: 'workflow', name: 'other', limit: 1, spent: 0, reserved: 0, setBy },
    ]);
    await assert.rejects(ledger.setLimit({ scope: 'workflow', name: null, limit: 1, ...by }));
    await assert.rejects(ledger.setLimit({ scope: 'workflow', name: 'demo\u0000', limit: 1, ...by }));
  },

  'a call is spent on the day on which it began': async (f) => {
    const claimed = await f.running('ses_1');
    f.advance(86_399_999);
    const n = await begun(f, claimed);
    f.advance(1);
    const limits = { workflow: 10, day: 10 };
    const other = await begun(f, claimed, { place: 2, limits });
    await ended(f, claimed, n, { cost: 4 });
    assert.deepEqual((await sums(f, claimed.jobId))['day'], [0, 10]);
    await ended(f, claimed, other, { cost: 5 });
    assert.deepEqual(await sums(f, claimed.jobId), { day: [5, 0], workflow: [5, 0], job: [9, 0] });
  },

  'a call whose attempt was lost stays held, until a person says what it cost': async (f) => {
    const { jobId, n } = await lost(f);
    f.advance(5);
    const call = await callOf(f, jobId);
    assert.deepEqual([call.billing, call.cost, call.end], ['unknown', null, null]);
    assert.deepEqual(await sums(f, jobId), everywhere(0, 10));
    assert.equal(await f.store.ledger.settleUnknown(verdict(jobId, n)), 'settled');
    assert.deepEqual(await sums(f, jobId), everywhere(7, 0));
    const settled = await callOf(f, jobId);
    const settledBy = { actor: 'key:1', reason: 'on the invoice\u0000', at: call.startedAt + 5 };
    assert.deepEqual(settled, { ...call, billing: 'settled', cost: 7, settledBy });
  },

  'a cost that nobody can know is settled by a person while the attempt goes on': async (f) => {
    const claimed = await f.running('ses_1');
    const n = await begun(f, claimed);
    const { jobId } = claimed;
    assert.equal(await f.store.ledger.settleUnknown(verdict(jobId, n)), 'not_unknown');
    await ended(f, claimed, n, { cost: null });
    assert.deepEqual(await sums(f, jobId), everywhere(0, 10));
    assert.equal(await f.store.ledger.settleUnknown(verdict(jobId, n, 0)), 'settled');
    assert.deepEqual(await sums(f, jobId), everywhere(0, 0));
    assert.equal(await ended(f, claimed, n, { cost: 3 }), true);
    assert.equal((await callOf(f, jobId)).cost, 0);
  },

  'only what is unknown is settled, of the tenant that asks': async (f) => {
    const claimed = await f.running('ses_1');
    const { jobId } = claimed;
    const none = await begun(f, claimed);
    await ended(f, claimed, none, { cost: 'none' });
    const settled = await called(f, claimed, { place: 2 });
    const { ledger } = f.store;
    for (const n of [none, settled])
      assert.equal(await ledger.settleUnknown(verdict(jobId, n)), 'not_unknown');
    const held = await begun(f, claimed, { place: 3 });
    await f.jobs.reapSession({ session: 'ses_1' });
    assert.equal(await ledger.settleUnknown({ ...verdict(jobId, held), tenant: 'another' }), 'not_found');
    assert.equal(await ledger.settleUnknown(verdict(jobId, 99)), 'not_found');
    assert.equal(await ledger.settleUnknown(verdict('job_none', 1)), 'not_found');
    assert.equal(await ledger.settleUnknown(verdict(`${jobId}\u0000`, held)), 'not_found');
    assert.deepEqual(await sums(f, jobId), everywhere(4, 10));
  },

  'of several that settle one call, one does': async (f) => {
    const { jobId, n } = await lost(f);
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, index) => f.store.ledger.settleUnknown(verdict(jobId, n, index + 1))),
    );
    assert.equal(answers.filter((answer) => answer === 'settled').length, 1);
    const { cost } = await callOf(f, jobId);
    assert.equal(answers.indexOf('settled') + 1, cost);
    assert.deepEqual(await sums(f, jobId), everywhere(cost ?? 0, 0));
  },

  'calls of unknown billing are listed over all tenants, oldest first, and those under way are not': async (
    f,
  ) => {
    const first = await lost(f);
    f.advance(1);
    const claimed = await f.running('ses_2', { tenant: 'another' });
    const n = await begun(f, claimed);
    await ended(f, claimed, n, { cost: null });
    f.advance(1);
    await begun(f, claimed, { place: 2 });
    const { ledger } = f.store;
    const unknown = await ledger.unknownCalls({ limit: 10 });
    assert.deepEqual(
      unknown.map(({ jobId, tenant, workflow, call }) => [jobId, tenant, workflow, call.n, call.billing]),
      [
        [first.jobId, 'default', 'demo', 1, 'unknown'],
        [claimed.jobId, 'another', 'demo', 1, 'unknown'],
      ],
    );
    assert.equal((await ledger.unknownCalls({ limit: 1 }))[0]?.jobId, first.jobId);
    await ledger.settleUnknown(verdict(first.jobId, 1));
    await f.release(claimed);
    assert.deepEqual(
      (await ledger.unknownCalls({ limit: 10 })).map(({ call }) => call.n),
      [1, 2],
    );
  },
};
