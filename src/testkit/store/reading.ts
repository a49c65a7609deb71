import assert from 'node:assert/strict';
import type { JobFilter } from '../../ports/job-store.ts';
import { first, TENANT } from './fixture.ts';
import type { Cases, Fixture } from './fixture.ts';

async function listed(f: Fixture, filter: JobFilter, limit = 50): Promise<string[]> {
  const { jobs } = await f.jobs.list({ tenant: TENANT, filter, after: null, limit });
  return jobs.map((job) => job.jobId);
}

/** Follows the cursor to the end. */
async function pages(f: Fixture, filter: JobFilter, limit: number): Promise<string[][]> {
  const seen: string[][] = [];
  let after: string | null = null;
  do {
    const page: Awaited<ReturnType<Fixture['jobs']['list']>> = await f.jobs.list({
      tenant: TENANT,
      filter,
      after,
      limit,
    });
    seen.push(page.jobs.map((job) => job.jobId));
    after = page.next;
  } while (after !== null);
  return seen;
}

export const readingCases: Cases = {
  'statuses that are asked for together come in their order, each its own tenant’s': async (f) => {
    const [one, two] = [await f.enqueueOne(), await f.enqueueOne()];
    const asked = [
      { tenant: TENANT, jobId: two },
      { tenant: 'another', jobId: one },
      { tenant: TENANT, jobId: 'job_none' },
      { tenant: TENANT, jobId: one },
      { tenant: TENANT, jobId: two },
    ];
    const views = await f.jobs.statuses(asked);
    assert.deepEqual(
      views.map((view) => view?.jobId ?? null),
      [two, null, null, one, two],
    );
    assert.deepEqual(await f.jobs.statuses([]), []);
  },

  'the status agrees with the record in every state': async (f) => {
    const jobId = await f.enqueueOne();
    const compare = async (expected: string) => {
      const job = await f.job(jobId);
      const status = await f.status(jobId);
      assert.equal(job.status, expected);
      const { workflow, attempt, artifact, updatedAt, events } = job;
      const view = { jobId, workflow, status: job.status, attempt, artifact, updatedAt, seq: events.length };
      const last = job.errors.at(-1);
      const { code = 'refused', message = '', attempt: failed = 0 } = last ?? {};
      const error = job.status === 'dead_letter' ? { code, message, attempt: failed } : null;
      assert.deepEqual(status, { ...view, error });
      const { jobs } = await f.jobs.list({ tenant: TENANT, filter: {}, after: null, limit: 1 });
      assert.deepEqual(jobs, [status]);
    };
    await compare('queued');
    f.advance(1);
    const claimed = await f.claimOne('ses_1');
    await compare('running');
    f.advance(1);
    await f.fail(claimed, { code: 'refused', elapsedMs: 1 });
    await compare('dead_letter');
    await f.replay(jobId);
    await compare('queued');
    await f.complete(await f.claimOne('ses_1'));
    await compare('completed');
  },

  'lists are newest first, and pages follow each other without a gap': async (f) => {
    const ids = (await f.enqueue(...Array.from({ length: 7 }, () => ({})))).toReversed();
    assert.deepEqual(await listed(f, {}), ids);
    assert.deepEqual(await pages(f, {}, 3), [ids.slice(0, 3), ids.slice(3, 6), ids.slice(6)]);
    assert.deepEqual(await pages(f, {}, 7), [ids]);
  },

  'jobs that come in while pages are read do not move those behind': async (f) => {
    const ids = (await f.enqueue({}, {}, {}, {})).toReversed();
    const page = await f.jobs.list({ tenant: TENANT, filter: {}, after: null, limit: 2 });
    await f.enqueue({}, {});
    const rest = await f.jobs.list({ tenant: TENANT, filter: {}, after: page.next, limit: 5 });
    assert.deepEqual(
      [page, rest].flatMap(({ jobs }) => jobs.map((job) => job.jobId)),
      ids,
    );
  },

  'lists are filtered by state': async (f) => {
    await f.openSession('ses_1');
    const { now } = await f.claim('ses_1');
    const completed = await f.running('ses_1');
    await f.complete(completed);
    const dead = await f.dead();
    const running = await f.running('ses_1');
    const queued = await f.enqueueOne();
    const scheduled = await f.enqueueOne({ runAt: now + 60_000 });
    assert.deepEqual(await listed(f, { status: 'completed' }), [completed.jobId]);
    assert.deepEqual(await listed(f, { status: 'dead_letter' }), [dead]);
    assert.deepEqual(await listed(f, { status: 'running' }), [running.jobId]);
    assert.deepEqual(await listed(f, { status: 'queued' }), [scheduled, queued]);
    assert.deepEqual(await pages(f, { status: 'queued' }, 1), [[scheduled], [queued]]);
  },

  'lists are filtered by workflow, by code, by labels, and by all of them together': async (f) => {
    const one = await f.dead({ labels: { order: '17', kind: 'a' } });
    const two = await f.enqueueOne({ labels: { order: '17', kind: 'b' }, workflow: 'other' });
    const three = await f.enqueueOne({ labels: { order: '18' } });
    assert.deepEqual(await listed(f, { workflow: 'other' }), [two]);
    assert.deepEqual(await listed(f, { workflow: 'none' }), []);
    assert.deepEqual(await listed(f, { code: 'malformed_output' }), [one]);
    assert.deepEqual(await listed(f, { code: 'refused' }), []);
    assert.deepEqual(await listed(f, { labels: { order: '17' } }), [two, one]);
    assert.deepEqual(await listed(f, { labels: { order: '17', kind: 'a' } }), [one]);
    assert.deepEqual(await listed(f, { labels: { order: '17' }, status: 'queued' }), [two]);
    assert.deepEqual(await listed(f, { labels: { order: '18' }, workflow: 'demo', status: 'queued' }), [
      three,
    ]);
    assert.deepEqual(await listed(f, { labels: { order: '18' }, workflow: 'other' }), []);
    assert.deepEqual(await listed(f, { code: 'malformed_output', status: 'queued' }), []);
  },

  'a code finds dead letters by it, and no more once they are replayed': async (f) => {
    const jobId = await f.dead();
    await f.replay(jobId);
    assert.deepEqual(await listed(f, { code: 'malformed_output' }), []);
    assert.deepEqual(await listed(f, { status: 'dead_letter' }), []);
  },

  "lists hold one tenant's jobs only, also through filters": async (f) => {
    const labels = { order: '17' };
    const own = await f.dead({ labels });
    await f.dead({ tenant: 'another', labels });
    await f.enqueueOne({ tenant: 'another', labels });
    await f.running('ses_1', { tenant: 'another', labels });
    for (const filter of [
      {},
      { labels },
      { code: 'malformed_output' },
      { status: 'dead_letter' },
    ] as JobFilter[]) {
      assert.deepEqual(await listed(f, filter), [own]);
    }
    for (const status of ['queued', 'running'] as const) assert.deepEqual(await listed(f, { status }), []);
  },

  'many jobs that a filter leaves out do not hide the ones behind them': async (f) => {
    const wanted = await f.enqueueOne({ labels: { a: '1', b: '2' } });
    await f.enqueue(...Array.from({ length: 450 }, () => ({ labels: { a: '1' } })));
    assert.deepEqual(await listed(f, { labels: { a: '1', b: '2' } }), [wanted]);
  },

  'a key is found, listed and revoked by its own tenant': async (f) => {
    const key = {
      id: 'k1',
      tenant: TENANT,
      name: 'laptop \u0000',
      scopes: ['admin'],
      secretSha256: 'digest',
    };
    const { keys } = f.store;
    await keys.add(key);
    f.advance(1);
    await keys.add({ ...key, id: 'k2' });
    const found = await keys.find({ id: 'k1' });
    assert.ok(found);
    const { createdAt, revokedAt, ...rest } = found;
    assert.deepEqual([rest, revokedAt, typeof createdAt], [key, null, 'number']);
    assert.equal(await keys.find({ id: 'k3' }), null);
    assert.equal(await keys.revoke({ tenant: 'another', id: 'k1' }), false);
    assert.equal(await keys.revoke({ tenant: TENANT, id: 'k1' }), true);
    assert.equal(await keys.revoke({ tenant: TENANT, id: 'k1' }), false);
    const all = await keys.list({ tenant: TENANT });
    assert.deepEqual(
      all.map((one) => [one.id, one.revokedAt !== null]),
      [
        ['k1', true],
        ['k2', false],
      ],
    );
    assert.deepEqual(await keys.list({ tenant: 'another' }), []);
  },

  'an upload is found by its own tenant, and written once': async (f) => {
    const { uploads } = f.store;
    const upload = {
      ref: 'uploads/a',
      tenant: TENANT,
      sha256: 'd',
      bytes: 3,
      mediaType: 'text/plain',
      fileName: 'a\u0000.txt',
    };
    await uploads.add(upload);
    await uploads.add({ ...upload, bytes: 4 });
    assert.deepEqual(await uploads.find({ tenant: TENANT, ref: 'uploads/a' }), upload);
    assert.equal(await uploads.find({ tenant: 'another', ref: 'uploads/a' }), null);
    assert.equal(await uploads.find({ tenant: TENANT, ref: 'uploads/a\u0000' }), null);
  },

  'a closed store rejects what comes later': async (f) => {
    await f.jobs.ping();
    await f.store.close();
    await f.store.close();
    const unavailable = { name: 'StoreUnavailableError' };
    await assert.rejects(f.jobs.ping(), unavailable);
    await assert.rejects(f.status('job_1'), unavailable);
    await assert.rejects(f.jobs.enqueue([f.request(null, {})]), unavailable);
    assert.ok(first([f.store.description]).length > 0);
  },
};
