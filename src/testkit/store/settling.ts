import assert from 'node:assert/strict';
import type { Settlement } from '../../ports/job-store.ts';
import { blob, completion, first } from './fixture.ts';
import type { Cases } from './fixture.ts';

export const settlingCases: Cases = {
  'a completed job has its artifact, its history and no lease': async (f) => {
    const claimed = await f.running('ses_1');
    f.advance(40);
    const settlement = completion(claimed, [blob('artifacts/a', 'bytes')]);
    const named = {
      name: 'invoice.pdf',
      uri: 'artifacts/b',
      sha256: 'd',
      bytes: 1,
      mediaType: 'application/pdf',
    };
    assert.ok(settlement.command.type === 'complete');
    const settled = await f.settle({ ...settlement, command: { ...settlement.command, artifacts: [named] } });
    assert.deepEqual(
      [settled.moved?.event, settled.moved?.status, settled.moved?.due],
      ['completed', 'completed', null],
    );
    const job = await f.job(claimed.jobId);
    assert.deepEqual(job.artifact, settlement.command.artifact);
    assert.deepEqual(job.artifacts, [named]);
    assert.deepEqual([job.lease, job.decision, job.errors], [null, null, []]);
    assert.deepEqual(await f.eventTypes(claimed.jobId), ['queued', 'running', 'completed']);
    assert.equal(job.finishedAt, (job.startedAt ?? 0) + 40);
    assert.deepEqual(job.events[1]?.worker, 'worker of ses_1');
  },

  'inline bytes are there with the settlement, and nowhere before': async (f) => {
    const claimed = await f.running('ses_1');
    assert.equal(await f.jobs.inlineBlob({ uri: 'artifacts/a' }), null);
    await f.complete(claimed, [blob('artifacts/a', 'bytes'), blob('evidence/b', '')]);
    assert.deepEqual(await f.jobs.inlineBlob({ uri: 'artifacts/a' }), blob('artifacts/a', 'bytes'));
    assert.deepEqual(await f.jobs.inlineBlob({ uri: 'evidence/b' }), blob('evidence/b', ''));
    assert.equal(await f.jobs.inlineBlob({ uri: 'artifacts/a\u0000' }), null);
  },

  'the bytes of an output are there under its uri, however many they are': async (f) => {
    for (const size of [0, 1, 511, 512, 513, 3000]) {
      const claimed = await f.running('ses_1');
      const settlement = completion(claimed);
      assert.ok(settlement.command.type === 'complete');
      const { uri, mediaType } = settlement.command.artifact;
      const blobs = [
        { ...blob(uri, 'o'.repeat(size)), mediaType },
        blob(`artifacts/${claimed.jobId}/${claimed.token}/beside`, 'beside'),
      ];
      assert.equal((await f.settle({ ...settlement, blobs })).moved?.status, 'completed');
      for (const one of blobs) assert.deepEqual(await f.jobs.inlineBlob({ uri: one.uri }), one);
      for (const other of [`artifacts/${claimed.jobId}/1/other`, `evidence/${claimed.jobId}`, 'artifacts'])
        assert.equal(await f.jobs.inlineBlob({ uri: other }), null);
    }
  },

  'a stale token changes nothing, whatever it says': async (f) => {
    const stale = await f.running('ses_1', { requestedLimits: { maxAttempts: 5 } });
    await f.release(stale);
    const current = await f.claimOne('ses_2');
    const before = await f.job(stale.jobId);
    const failure = { code: 'workflow_error' as const, elapsedMs: 1 };
    assert.deepEqual(await f.complete(stale, [blob('artifacts/stale', 'x')]), { refused: 'lease_lost' });
    assert.deepEqual(await f.fail(stale, failure), { refused: 'lease_lost' });
    assert.deepEqual(await f.release(stale), { refused: 'lease_lost' });
    const { jobId, token } = stale;
    assert.equal(await f.jobs.progress({ jobId, token, progress: { fraction: 1, note: null } }), false);
    assert.deepEqual(await f.job(jobId), before);
    assert.equal(await f.jobs.inlineBlob({ uri: 'artifacts/stale' }), null);
    assert.equal((await f.complete(current)).moved?.status, 'completed');
  },

  'a token is spent by its settlement': async (f) => {
    const claimed = await f.running('ses_1');
    const [one, two] = await Promise.all([
      f.complete(claimed),
      f.fail(claimed, { code: 'refused', elapsedMs: 1 }),
    ]);
    assert.equal(one.moved?.status, 'completed');
    assert.deepEqual(two, { refused: 'lease_lost' });
    assert.deepEqual(await f.complete(claimed), { refused: 'lease_lost' });
  },

  "a token of one job does not open another's": async (f) => {
    const one = await f.running('ses_1');
    const two = await f.running('ses_1');
    assert.deepEqual(await f.settle(completion({ jobId: one.jobId, token: two.token })), {
      refused: 'lease_lost',
    });
    assert.equal(await f.statusOf(one.jobId), 'running');
  },

  'of many settlements each is refused or taken by itself': async (f) => {
    const good = await f.running('ses_1');
    const bad = await f.running('ses_1');
    await f.cancel(bad.jobId);
    const also = await f.running('ses_1');
    const settlements: Settlement[] = [
      completion(bad, [blob('artifacts/bad', 'x')]),
      completion(good, [blob('artifacts/good', 'x')]),
      completion({ jobId: 'job_unknown', token: 1 }),
      completion(good),
      completion(also),
    ];
    const settled = await f.jobs.settle(settlements);
    assert.deepEqual(
      settled.map((one) => one.refused ?? one.moved.jobId),
      ['lease_lost', good.jobId, 'lease_lost', 'lease_lost', also.jobId],
    );
    assert.equal(await f.jobs.inlineBlob({ uri: 'artifacts/bad' }), null);
    assert.ok(await f.jobs.inlineBlob({ uri: 'artifacts/good' }));
  },

  'of two attempts of a job that settle together the one whose lease stands is taken': async (f) => {
    for (const session of ['ses_1', 'ses_3']) {
      const order = (pair: Settlement[]) => (session === 'ses_1' ? pair : pair.toReversed());
      const stale = await f.running(session, { requestedLimits: { maxAttempts: 5 } });
      await f.jobs.reapSession({ session });
      await f.sweep();
      f.advance(60_000);
      const current = await f.claimOne('ses_2');
      assert.equal(current.jobId, stale.jobId);
      const pair = [stale, current].map((one) => completion(one, [blob(`artifacts/of ${one.token}`, 'x')]));
      const settled = await f.jobs.settle(order(pair));
      assert.deepEqual(
        order(pair).map(({ token }, index) => [token, settled[index]?.refused]),
        order(pair).map(({ token }) => [token, token === current.token ? undefined : 'lease_lost']),
      );
      assert.equal((await f.job(current.jobId)).attempt, 2);
      assert.equal(await f.jobs.inlineBlob({ uri: `artifacts/of ${stale.token}` }), null);
    }
  },

  'a failure that may pass is tried again after its wait, and not before': async (f) => {
    const claimed = await f.running('ses_1');
    const { moved } = await f.fail(claimed, {
      code: 'upstream_unavailable',
      elapsedMs: 1,
      retryAfterMs: 700,
    });
    assert.equal(moved?.status, 'queued');
    assert.deepEqual((await f.claim('ses_1')).jobs, []);
    assert.equal(await f.jobs.nextDueInMs(), 700);
    const job = await f.job(claimed.jobId);
    assert.equal(job.events.at(-1)?.due, moved?.due);
    f.advance(700);
    const again = first((await f.claim('ses_1')).jobs);
    assert.deepEqual([again.attempt, again.used], [2, 2]);
    assert.ok(again.token > claimed.token);
  },

  'the last attempt of the budget ends in dead letter, with every error kept': async (f) => {
    const jobId = await f.enqueueOne({ requestedLimits: { maxAttempts: 2 } });
    for (let attempt = 1; attempt <= 2; attempt += 1) {
      await f.fail(await f.claimOne('ses_1'), { code: 'upstream_unavailable', elapsedMs: attempt });
    }
    const job = await f.job(jobId);
    assert.equal(job.status, 'dead_letter');
    assert.deepEqual(
      job.errors.map(({ attempt, elapsedMs }) => [attempt, elapsedMs]),
      [
        [1, 1],
        [2, 2],
      ],
    );
    assert.deepEqual([job.decision?.open, job.decision?.code], [true, 'upstream_unavailable']);
    const status = await f.status(jobId);
    assert.deepEqual(
      [status?.error?.code, status?.error?.attempt, status?.seq],
      ['upstream_unavailable', 2, 5],
    );
    assert.deepEqual((await f.claim('ses_1')).jobs, []);
  },

  'evidence and issues of a failure stay with its entry': async (f) => {
    const claimed = await f.running('ses_1');
    const evidence = [{ kind: 'raw_output' as const, uri: 'evidence/raw', sha256: 'd', bytes: 3 }];
    const issues = [{ path: '/summary', message: 'expected string' }];
    const failure = { code: 'malformed_output' as const, elapsedMs: 3, issues, evidence };
    const { jobId, token } = claimed;
    const command = { type: 'fail' as const, failure, jitter: 0 };
    await f.settle({ jobId, token, command, blobs: [blob('evidence/raw', '{x}')] });
    const [entry] = (await f.job(jobId)).errors;
    assert.deepEqual([entry?.issues, entry?.evidence, entry?.elapsedMs], [issues, evidence, 3]);
    assert.ok(await f.jobs.inlineBlob({ uri: 'evidence/raw' }));
  },

  'a release gives the attempt back to the budget, a crash does not': async (f) => {
    const jobId = await f.enqueueOne({ requestedLimits: { maxAttempts: 2 } });
    for (let round = 1; round <= 3; round += 1) await f.release(await f.claimOne('ses_1'));
    assert.deepEqual([(await f.job(jobId)).attempt, (await f.job(jobId)).used], [3, 0]);
    await f.claimOne('ses_1');
    await f.jobs.reapSession({ session: 'ses_1' });
    assert.deepEqual([(await f.job(jobId)).attempt, (await f.job(jobId)).used], [4, 1]);
    await f.claimOne('ses_2');
    const [moved] = await f.jobs.reapSession({ session: 'ses_2' });
    assert.deepEqual([moved?.status, moved?.code], ['dead_letter', 'worker_lost']);
  },

  'a job that is held waits for its time in the queue, and spends no attempt': async (f) => {
    const jobId = await f.enqueueOne({ requestedLimits: { maxAttempts: 1 } });
    const { moved } = await f.hold(await f.claimOne('ses_1'), 30_000);
    const held = await f.job(jobId);
    const { at, due, reason, code } = held.events.at(-1) ?? {};
    assert.deepEqual([moved?.event, moved?.status, moved?.due], ['queued', 'queued', due]);
    assert.deepEqual([held.status, held.attempt, held.used, held.errors], ['queued', 1, 0, []]);
    assert.deepEqual([due, reason, code], [(at ?? 0) + 30_000, 'openai/gpt-5 asked for a pause', undefined]);
    f.advance(29_999);
    await f.sweep({ reap: false });
    assert.deepEqual((await f.claim('ses_1')).jobs, []);
    f.advance(1);
    await f.sweep({ reap: false });
    await f.complete(await f.claimOne('ses_1'));
    assert.deepEqual([(await f.job(jobId)).status, (await f.job(jobId)).attempt], ['completed', 2]);
  },

  'a hold up to the deadline or past it is a death at once': async (f) => {
    const claimed = await f.running('ses_1', { requestedLimits: { deadlineMs: 5000 } });
    assert.deepEqual((await f.hold(claimed, 5000)).moved?.code, 'deadline_exceeded');
    const { status, errors } = await f.job(claimed.jobId);
    assert.deepEqual([status, errors.map(({ code }) => code)], ['dead_letter', ['deadline_exceeded']]);
    assert.deepEqual(await f.hold(claimed, 1), { refused: 'lease_lost' });
  },

  'progress is shown while the attempt runs, and is gone with it': async (f) => {
    const { jobId, token, ...rest } = await f.running('ses_1');
    assert.ok(await f.jobs.progress({ jobId, token, progress: { fraction: 0.25, note: 'page 1' } }));
    f.advance(5);
    assert.ok(await f.jobs.progress({ jobId, token, progress: { fraction: 0.5, note: null } }));
    const job = await f.job(jobId);
    assert.deepEqual(job.progress, { fraction: 0.5, note: null, at: (job.startedAt ?? 0) + 5 });
    await f.release({ jobId, token, ...rest });
    assert.equal((await f.job(jobId)).progress, null);
  },
};
