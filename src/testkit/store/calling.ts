import assert from 'node:assert/strict';
import {
  ANSWERED,
  begun,
  called,
  callOf,
  ended,
  everywhere,
  OPENING,
  opening,
  sums,
  UPSTREAM,
} from './calls.ts';
import { blob } from './fixture.ts';
import type { Cases } from './fixture.ts';

const RESPONSE = { uri: 'evidence/call-1', sha256: 'digest', bytes: 5 };
const REFUSED = { ...ANSWERED, code: 'upstream_unavailable' as const, rule: 'rate_limited', httpStatus: 429 };

export const callingCases: Cases = {
  'a call is in the record before it is made, and has its end and its response afterwards': async (f) => {
    const claimed = await f.running('ses_1');
    const { jobId, token } = claimed;
    const n = await begun(f, claimed);
    const { startedAt, ...before } = await callOf(f, jobId);
    const held = { n: 1, attempt: 1, token, place: 1, reserved: 10, reusedFrom: null, settledBy: null };
    const open = { end: null, billing: null, cost: null, response: null };
    assert.deepEqual(before, { ...OPENING, ...held, ...open });
    assert.equal(startedAt, (await f.job(jobId)).startedAt);
    f.advance(40);
    const evidence = blob(RESPONSE.uri, 'bytes');
    assert.equal(await ended(f, claimed, n, { response: RESPONSE, blob: evidence }), true);
    const end = { ...ANSWERED, endedAt: startedAt + 40 };
    const answered = { end, billing: 'settled', cost: 4, response: RESPONSE };
    const call = await callOf(f, jobId);
    assert.deepEqual(call, { ...OPENING, ...held, ...answered, startedAt });
    assert.deepEqual(await f.jobs.inlineBlob({ uri: RESPONSE.uri }), evidence);
    assert.deepEqual((await f.job(jobId)).calls, [call]);
  },

  'calls of a job are counted through its attempts, and each has its place in its own': async (f) => {
    const first = await f.running('ses_1');
    await called(f, first);
    await called(f, first, { place: 2 });
    await f.release(first);
    const second = await f.claimOne('ses_2');
    await called(f, second);
    const job = await f.job(first.jobId);
    assert.deepEqual(
      job.calls.map(({ n, attempt, place }) => [n, attempt, place]),
      [
        [1, 1, 1],
        [2, 1, 2],
        [3, 2, 1],
      ],
    );
    assert.deepEqual(await f.store.ledger.calls(first), job.calls);
    assert.deepEqual(await f.store.ledger.calls({ jobId: 'job_none' }), []);
    assert.deepEqual((await f.job(await f.enqueueOne())).calls, []);
  },

  'what was not billed, what cost nothing and what nobody knows are told apart': async (f) => {
    const claimed = await f.running('ses_1');
    const bills = [
      { cost: 'none', billing: ['none', 0] },
      { cost: 0, billing: ['settled', 0] },
      { cost: null, billing: ['unknown', null] },
    ] as const;
    for (const [index, { cost, billing }] of bills.entries()) {
      const n = await begun(f, claimed, { place: index + 1 });
      await ended(f, claimed, n, { end: REFUSED, cost });
      const call = await callOf(f, claimed.jobId, n);
      assert.deepEqual([call.billing, call.cost], billing);
      assert.equal(call.end?.rule, 'rate_limited');
    }
    assert.deepEqual(await sums(f, claimed.jobId), everywhere(0, 10));
  },

  'a begin that is sent again has the answer of the first, and holds nothing more': async (f) => {
    const claimed = await f.running('ses_1', { spendingLimit: 10 });
    const limits = { workflow: 10, day: 10 };
    const again = await Promise.all(Array.from({ length: 5 }, () => begun(f, claimed, { limits })));
    assert.deepEqual(again, [1, 1, 1, 1, 1]);
    assert.deepEqual(await sums(f, claimed.jobId), everywhere(0, 10));
    assert.equal((await f.store.ledger.calls(claimed)).length, 1);
    await f.store.ledger.pause(UPSTREAM, 1000);
    await ended(f, claimed, 1, { cost: 10 });
    assert.equal(await begun(f, claimed), 1);
  },

  'an end that is sent again changes nothing and is true, also when the attempt has ended': async (f) => {
    const claimed = await f.running('ses_1');
    const n = await begun(f, claimed);
    const both = [ended(f, claimed, n, { cost: 4 }), ended(f, claimed, n, { cost: 4 })];
    assert.deepEqual(await Promise.all(both), [true, true]);
    await f.complete(claimed);
    const evidence = blob(RESPONSE.uri, 'bytes');
    assert.equal(await ended(f, claimed, n, { cost: 9, response: RESPONSE, blob: evidence }), true);
    assert.deepEqual(await sums(f, claimed.jobId), everywhere(4, 0));
    assert.equal((await callOf(f, claimed.jobId)).response, null);
    assert.equal(await f.jobs.inlineBlob({ uri: RESPONSE.uri }), null);
  },

  'a stale token begins nothing, and holds nothing': async (f) => {
    const stale = await f.running('ses_1');
    await f.release(stale);
    const { ledger } = f.store;
    assert.deepEqual(await ledger.begin(opening(stale)), { outcome: 'lease_lost' });
    const current = await f.claimOne('ses_2');
    assert.deepEqual(await ledger.begin(opening(stale)), { outcome: 'lease_lost' });
    assert.deepEqual(await ledger.begin(opening({ ...current, jobId: 'job_none' })), {
      outcome: 'lease_lost',
    });
    assert.deepEqual((await f.job(stale.jobId)).calls, []);
    assert.deepEqual(await sums(f, stale.jobId), everywhere(0, 0));
  },

  'a stale token ends nothing: its call stays unknown and held, whoever runs the job now': async (f) => {
    const stale = await f.running('ses_1');
    const { jobId } = stale;
    const n = await begun(f, stale);
    await f.jobs.reapSession({ session: 'ses_1' });
    const evidence = { response: RESPONSE, blob: blob(RESPONSE.uri, 'bytes') };
    assert.equal(await ended(f, stale, n, evidence), false);
    const current = await f.claimOne('ses_2');
    assert.equal(await ended(f, stale, n, evidence), false);
    assert.equal(await ended(f, current, n, evidence), false);
    const call = await callOf(f, jobId);
    assert.deepEqual([call.billing, call.end, call.response], ['unknown', null, null]);
    assert.equal(await f.jobs.inlineBlob({ uri: RESPONSE.uri }), null);
    assert.deepEqual(await sums(f, jobId), everywhere(0, 10));
    const second = await called(f, current);
    assert.equal(second, 2);
    assert.equal(await ended(f, current, 99), false);
    assert.deepEqual(await sums(f, jobId), everywhere(4, 10));
  },

  'of a begin and the end of its attempt at the same time the call is refused, or was there before': async (
    f,
  ) => {
    for (let round = 0; round < 10; round += 1) {
      const session = `ses_${round}`;
      const claimed = await f.running(session);
      const race = [f.store.ledger.begin(opening(claimed)), f.jobs.reapSession({ session })] as const;
      const [answer] = await Promise.all(race);
      const { calls, spending } = await f.job(claimed.jobId);
      const billings = calls.map(({ billing }) => billing);
      const through = answer.outcome === 'begun';
      assert.deepEqual(billings, through ? ['unknown'] : []);
      assert.equal(spending.reserved, through ? 10 : 0);
      await f.cancel(claimed.jobId);
    }
  },

  'a stored response that stands in costs nothing, and neither a limit nor a pause keeps it': async (f) => {
    const claimed = await f.running('ses_1', { spendingLimit: 10 });
    await called(f, claimed);
    await f.store.ledger.pause(UPSTREAM, 1000);
    const limits = { workflow: 1, day: 1 };
    const n = await begun(f, claimed, { place: 2, estimate: 50, limits, reusedFrom: 1 });
    await ended(f, claimed, n, { cost: 'none' });
    const call = await callOf(f, claimed.jobId, n);
    assert.deepEqual([call.reusedFrom, call.reserved, call.billing, call.cost], [1, 0, 'none', 0]);
    assert.deepEqual(await sums(f, claimed.jobId), everywhere(4, 0));
  },

  'a response under a key that is taken fails its own end alone, and changes nothing': async (f) => {
    const claimed = await f.running('ses_1');
    const calls = [await begun(f, claimed), await begun(f, claimed, { place: 2 })];
    const third = await begun(f, claimed, { place: 3 });
    await ended(f, claimed, third, { response: RESPONSE, blob: blob(RESPONSE.uri, 'bytes') });
    const other = blob(RESPONSE.uri, 'other');
    const answers = await Promise.allSettled(
      calls.map((n) => ended(f, claimed, n, n === 1 ? {} : { response: RESPONSE, blob: other })),
    );
    assert.deepEqual(
      answers.map(({ status }) => status),
      ['fulfilled', 'rejected'],
    );
    assert.deepEqual((await callOf(f, claimed.jobId, 2)).end, null);
    assert.deepEqual(await f.jobs.inlineBlob({ uri: RESPONSE.uri }), blob(RESPONSE.uri, 'bytes'));
    assert.deepEqual(await sums(f, claimed.jobId), everywhere(8, 10));
  },

  'a provider that asked for a pause is not called before it ends, and the longest pause wins': async (f) => {
    const claimed = await f.running('ses_1');
    const { ledger } = f.store;
    await ledger.pause(UPSTREAM, 1000);
    await ledger.pause(UPSTREAM, 10);
    f.advance(400);
    assert.deepEqual(await ledger.begin(opening(claimed)), { outcome: 'paused', forMs: 600 });
    assert.deepEqual(await sums(f, claimed.jobId), everywhere(0, 0));
    for (const other of [
      { provider: 'anthropic' },
      { account: 'second' },
      { requestedModel: 'gpt-5-mini' },
    ]) {
      await begun(f, claimed, { place: JSON.stringify(other).length, opening: { ...OPENING, ...other } });
    }
    await ledger.pause(UPSTREAM, 700);
    assert.deepEqual(await ledger.begin(opening(claimed)), { outcome: 'paused', forMs: 700 });
    f.advance(700);
    assert.equal((await ledger.begin(opening(claimed))).outcome, 'begun');
  },

  'workflows whose jobs wait for a provider are held as long as its pause lasts, and not by the next': async (
    f,
  ) => {
    const { ledger } = f.store;
    const other = { ...UPSTREAM, model: 'gpt\u0000-"mini"' };
    await ledger.holdWorkflow(UPSTREAM, 'early');
    await ledger.pause(UPSTREAM, 1000);
    await ledger.holdWorkflow(UPSTREAM, 'demo');
    await ledger.holdWorkflow(UPSTREAM, 'demo');
    await ledger.pause(other, 1500);
    await ledger.holdWorkflow(other, 'demo');
    await ledger.holdWorkflow(UPSTREAM, 'letters');
    const both = (demo: number, letters: number) => [
      { workflow: 'demo', forMs: demo },
      { workflow: 'letters', forMs: letters },
    ];
    assert.deepEqual(await ledger.heldWorkflows(), both(1500, 1000));
    f.advance(500);
    await ledger.pause(UPSTREAM, 2000);
    assert.deepEqual(await ledger.heldWorkflows(), both(2000, 2000));
    f.advance(2000);
    assert.deepEqual(await ledger.heldWorkflows(), []);
    await ledger.pause(UPSTREAM, 100);
    assert.deepEqual(await ledger.heldWorkflows(), []);
  },
};
