import assert from 'node:assert/strict';
import { accepted, FAR_MS, first, IDEMPOTENCY_MS, TENANT } from './fixture.ts';
import type { Cases } from './fixture.ts';

const KEYED = { key: 'order 17', requestSha256: 'digest-a' };

export const acceptingCases: Cases = {
  'a job is read back as it was handed in': async (f) => {
    const [jobId] = await f.enqueue({
      inputJson: JSON.stringify({ text: 'Zürich', list: [1, null, true] }),
      inputRef: 'uploads/abc.pdf',
      priority: 7,
      labels: { order: '17' },
      requestedLimits: { timeoutMs: 1000, maxAttempts: 2, deadlineMs: 5000 },
    });
    const job = await f.job(jobId ?? '');
    assert.deepEqual(job.input, { text: 'Zürich', list: [1, null, true] });
    assert.equal(job.inputRef, 'uploads/abc.pdf');
    assert.equal(job.priority, 7);
    assert.deepEqual(job.labels, { order: '17' });
    const { createdAt } = job;
    assert.deepEqual(job.limits, {
      timeoutMs: 1000,
      maxAttempts: 2,
      deadlineAt: createdAt + 5000,
      deadlineMs: 5000,
    });
    assert.deepEqual(job.events, [{ type: 'queued', from: null, to: 'queued', at: createdAt, attempt: 0 }]);
    assert.deepEqual([job.startedAt, job.finishedAt, job.lease, job.artifact], [null, null, null, null]);
  },

  'text with U+0000, lone surrogates, quotes and line ends comes back identical': async (f) => {
    const odd = 'nul \u0000 lone \ud800 \udc00 "quoted" \\ \n \r \u2028 end';
    const labels = { [odd]: odd };
    const jobId = await f.enqueueOne({
      inputJson: JSON.stringify({ [odd]: odd }),
      labels,
      inputRef: 'uploads/x',
    });
    const claimed = await f.claimOne('ses_1');
    assert.deepEqual(claimed.input, { [odd]: odd });
    assert.deepEqual(claimed.labels, labels);
    await f.jobs.progress({ jobId, token: claimed.token, progress: { fraction: 0.5, note: odd } });
    assert.equal((await f.job(jobId)).progress?.note, odd);
    await f.fail(claimed, {
      code: 'invalid_input',
      elapsedMs: 1,
      message: odd,
      issues: [{ path: '/x', message: odd }],
    });
    const job = await f.job(jobId);
    assert.deepEqual([job.input, job.labels], [{ [odd]: odd }, labels]);
    assert.equal(job.errors[0]?.message, odd);
    assert.deepEqual(job.errors[0]?.issues, [{ path: '/x', message: odd }]);
    assert.equal((await f.status(jobId))?.error?.message, odd);
    const found = await f.jobs.list({ tenant: TENANT, filter: { labels }, after: null, limit: 10 });
    assert.deepEqual(
      found.jobs.map((view) => view.jobId),
      [jobId],
    );
  },

  'labels that agree up to a U+0000 are different labels': async (f) => {
    const jobId = await f.enqueueOne({ labels: { order: 'a\u0000b' } });
    const list = (value: string) =>
      f.jobs.list({ tenant: TENANT, filter: { labels: { order: value } }, after: null, limit: 10 });
    assert.deepEqual((await list('a')).jobs, []);
    assert.equal((await list('a\u0000b')).jobs[0]?.jobId, jobId);
  },

  'an id that continues behind a U+0000 is another id': async (f) => {
    const jobId = await f.enqueueOne();
    assert.equal(await f.status(`${jobId}\u0000x`), null);
    assert.equal(await f.jobs.job({ tenant: TENANT, jobId: `${jobId}\u0000x` }), null);
    assert.equal((await f.cancel(`${jobId}\u0000x`)).outcome, 'not_found');
    assert.equal(await f.statusOf(jobId), 'queued');
  },

  'a string of ten million characters comes back whole': async (f) => {
    const input = 'ä'.repeat(10_000_000);
    const jobId = await f.enqueueOne({ inputJson: JSON.stringify(input) });
    assert.ok((await f.job(jobId)).input === input);
  },

  'one caller with a bad job gets none of its jobs in, and the others are not touched': async (f) => {
    const bad = f.newJob({ requestedLimits: { timeoutMs: FAR_MS * 1000 } });
    const before = f.newJob();
    const after = f.newJob();
    const requests = [[before], [f.newJob(), bad], [after]];
    const answers = await f.jobs.enqueue(requests.map((jobs) => ({ jobs, idempotency: null })));
    assert.deepEqual(
      answers.map((answer) => answer.outcome),
      ['accepted', 'invalid', 'accepted'],
    );
    assert.ok(answers[1]?.outcome === 'invalid');
    assert.equal(answers[1].index, 1);
    assert.equal(answers[1].issues[0]?.path, '/limits/timeout_ms');
    const { jobs } = await f.jobs.list({ tenant: TENANT, filter: {}, after: null, limit: 10 });
    assert.deepEqual(
      jobs.map((job) => job.jobId),
      [after.jobId, before.jobId],
    );
  },

  'jobs that come together keep each what is its own, also where all else is alike': async (f) => {
    const { createdAt } = await f.job(await f.enqueueOne());
    const own = [
      { workflow: 'another' },
      { priority: 3 },
      { inputRef: 'uploads/x' },
      { labels: { order: '17' } },
      { requestedLimits: { timeoutMs: 500 } },
      { runAt: createdAt + 60_000 },
    ];
    const mixed = own.flatMap((one) => [one, one, {}]);
    const ids = await f.enqueue(...mixed);
    const jobs = await Promise.all(ids.map((id) => f.job(id)));
    const told = jobs.map((job) => ({
      ...(job.workflow === 'another' ? { workflow: 'another' } : {}),
      ...(job.priority === 0 ? {} : { priority: job.priority }),
      ...(job.inputRef === null ? {} : { inputRef: job.inputRef }),
      ...(Object.keys(job.labels).length === 0 ? {} : { labels: job.labels }),
      ...(job.limits.timeoutMs === 500 ? { requestedLimits: { timeoutMs: 500 } } : {}),
      ...(job.runAt < createdAt + 60_000 ? {} : { runAt: job.runAt }),
    }));
    assert.deepEqual(told, mixed);
  },

  'each job of a batch is told of as a move': async (f) => {
    const { jobIds, moved } = accepted(await f.keyed(null, {}, { runAt: null }));
    assert.deepEqual(
      moved.map((one) => [one.jobId, one.event, one.status]),
      jobIds.map((id) => [id, 'queued', 'queued']),
    );
    const { createdAt } = await f.job(first(jobIds));
    assert.ok(
      moved.every((one) => one.due === createdAt && one.tenant === TENANT && one.workflow === 'demo'),
    );
  },

  'a deadline that is given as an instant is that instant, and one that is given as a time counts from now':
    async (f) => {
      const { createdAt } = await f.job(await f.enqueueOne());
      f.advance(10);
      const deadlineAt = createdAt + 5000;
      const ids = await f.enqueue(
        { requestedLimits: { deadlineAt } },
        { requestedLimits: { deadlineMs: 7000 }, labels: { order: '17' } },
      );
      const [instant, time] = await Promise.all(ids.map((id) => f.job(id)));
      assert.deepEqual([instant?.limits.deadlineAt, instant?.limits.deadlineMs], [deadlineAt, 4990]);
      assert.deepEqual([time?.limits.deadlineAt, time?.createdAt], [createdAt + 7010, createdAt + 10]);
    },

  'the same idempotency key with the same request answers with the first jobs': async (f) => {
    const { jobIds } = accepted(await f.keyed(KEYED, {}, {}, {}));
    const { moved, ...rest } = accepted(await f.keyed(KEYED, {}, {}, {}));
    assert.deepEqual(rest, { outcome: 'accepted', jobIds, repeated: true });
    assert.deepEqual(moved, []);
    assert.equal((await f.jobs.list({ tenant: TENANT, filter: {}, after: null, limit: 10 })).jobs.length, 3);
  },

  'of two requests with one key in the same call the second repeats the first': async (f) => {
    const [one, two, other, last] = await f.jobs.enqueue([
      f.request(KEYED, {}, {}),
      f.request(KEYED, {}, {}),
      f.request({ ...KEYED, requestSha256: 'digest-b' }, {}),
      f.request({ ...KEYED, key: 'order 18' }, {}),
    ]);
    assert.deepEqual(accepted(two).jobIds, accepted(one).jobIds);
    assert.deepEqual([accepted(one).repeated, accepted(two).repeated], [false, true]);
    assert.deepEqual(other, { outcome: 'idempotency_key_reused' });
    const again = await f.keyed({ ...KEYED, key: 'order 18' }, {});
    assert.deepEqual(accepted(again).jobIds, accepted(last).jobIds);
  },

  'the same key with another request is refused, for this tenant only': async (f) => {
    await f.keyed(KEYED, {});
    const other = { ...KEYED, requestSha256: 'digest-b' };
    assert.deepEqual(await f.keyed(other, {}), { outcome: 'idempotency_key_reused' });
    assert.equal(accepted(await f.keyed(other, { tenant: 'another' })).repeated, false);
  },

  'a key is not taken by a request that is refused': async (f) => {
    const bad = { requestedLimits: { timeoutMs: FAR_MS * 1000 } };
    assert.equal((await f.keyed(KEYED, {}, bad))?.outcome, 'invalid');
    assert.equal(accepted(await f.keyed({ ...KEYED, requestSha256: 'digest-b' }, {})).repeated, false);
  },

  'an idempotency key is kept until some time after its job ended, and a replay keeps it on': async (f) => {
    const [jobId] = accepted(await f.keyed(KEYED, {})).jobIds;
    const claimed = await f.claimOne('ses_1');
    f.advance(IDEMPOTENCY_MS * 2);
    await f.sweep({ reap: false });
    const repeats = async () => accepted(await f.keyed(KEYED, {})).repeated;
    assert.ok(await repeats());
    await f.fail(claimed, { code: 'workflow_error', elapsedMs: 1 });
    await f.replay(jobId ?? '');
    f.advance(IDEMPOTENCY_MS + 1);
    await f.sweep({ reap: false });
    assert.ok(await repeats());
    await f.cancel(claimed.jobId);
    f.advance(IDEMPOTENCY_MS - 1);
    await f.sweep({ reap: false });
    assert.ok(await repeats());
    f.advance(1);
    await f.sweep({ reap: false });
    assert.equal(await repeats(), false);
  },

  'the key of a batch is kept until some time after the last of its jobs ended, and then goes as a whole':
    async (f) => {
      const { jobIds } = accepted(await f.keyed(KEYED, {}, {}, {}));
      const again = async () => accepted(await f.keyed(KEYED, {}, {}, {}));
      await f.cancel(jobIds[0] ?? '');
      f.advance(IDEMPOTENCY_MS);
      await f.sweep({ reap: false });
      await f.cancel(jobIds[2] ?? '');
      f.advance(IDEMPOTENCY_MS / 2);
      await f.cancel(jobIds[1] ?? '');
      for (const step of [IDEMPOTENCY_MS / 2, IDEMPOTENCY_MS / 2 - 1]) {
        f.advance(step);
        await f.sweep({ reap: false });
        assert.deepEqual((await again()).jobIds, jobIds);
      }
      f.advance(1);
      const { more } = await f.sweep({ reap: false });
      assert.equal(more, false);
      assert.equal((await again()).repeated, false);
    },

  'keys that cannot go yet do not keep a sweep from others, nor have it come again at once': async (f) => {
    const key = (name: string) => ({ key: name, requestSha256: 'digest' });
    for (const name of ['a', 'b', 'c']) await f.keyed(key(name), { requestedLimits: { deadlineMs: FAR_MS } });
    const { jobIds } = accepted(await f.keyed(key('d'), {}));
    await f.cancel(jobIds[0] ?? '');
    f.advance(IDEMPOTENCY_MS);
    const looks: boolean[] = [];
    for (let sweep = 0; sweep < 5; sweep += 1) looks.push((await f.sweep({ reap: false, limit: 2 })).more);
    assert.deepEqual(looks, [true, true, false, false, false]);
    const repeated = [];
    for (const name of ['a', 'b', 'c', 'd']) repeated.push(accepted(await f.keyed(key(name), {})).repeated);
    assert.deepEqual(repeated, [true, true, true, false]);
  },
};
