import assert from 'node:assert/strict';
import type { ClaimedJob, InlineBlob } from '../../ports/job-store.ts';
import { begun, callOf, ended } from './calls.ts';
import type { Cases, Fixture } from './fixture.ts';

const DAY_MS = 24 * 3_600_000;

/** One call with a response that the store keeps itself. Gives its uri. */
async function answered(f: Fixture, claimed: ClaimedJob, place = 1): Promise<string> {
  const n = await begun(f, claimed, { place });
  const uri = `evidence/${claimed.jobId}/${claimed.token}/call-${n}.json`;
  const blob: InlineBlob = { uri, bytes: Buffer.from('{}'), mediaType: 'application/json' };
  const response = { uri, sha256: 'digest', bytes: 2 };
  assert.ok(await ended(f, claimed, n, { response, blob }));
  return uri;
}

async function oldJobs(f: Fixture, olderThanMs = DAY_MS): Promise<string[]> {
  const found = await f.store.evidence.old({ olderThanMs, limit: 10 });
  return found.map(({ jobId, tenant }) => `${tenant} ${jobId}`);
}

export const evidenceCases: Cases = {
  'of a job is old so long after its end, and not before, nor while it runs or waits': async (f) => {
    const running = await f.running('ses_1');
    await answered(f, running);
    f.advance(2 * DAY_MS);
    assert.deepEqual(await oldJobs(f), []);
    await f.complete(running);
    f.advance(DAY_MS);
    assert.deepEqual(await oldJobs(f), []);
    f.advance(1);
    assert.deepEqual(await oldJobs(f), [`default ${running.jobId}`]);
  },

  'of a job without calls is never old': async (f) => {
    await f.dead();
    f.advance(2 * DAY_MS);
    assert.deepEqual(await oldJobs(f), []);
  },

  'is erased with a mark on every response: the record keeps the rest of it': async (f) => {
    const claimed = await f.running('ses_1');
    const uris = [await answered(f, claimed), await answered(f, claimed, 2)];
    await f.complete(claimed);
    f.advance(DAY_MS + 1);
    const { jobId } = claimed;
    await f.store.evidence.erase({ jobId, olderThanMs: DAY_MS, uris });
    const erasedAt = ((await f.job(jobId)).finishedAt ?? 0) + DAY_MS + 1;
    for (const uri of uris) assert.equal(await f.jobs.inlineBlob({ uri }), null);
    for (const [index, uri] of uris.entries()) {
      const { response } = await callOf(f, jobId, index + 1);
      assert.deepEqual(response, { uri, sha256: 'digest', bytes: 2, erasedAt });
    }
    f.advance(1);
    await f.store.evidence.erase({ jobId, olderThanMs: DAY_MS, uris });
    assert.equal((await callOf(f, jobId)).response?.erasedAt, erasedAt, 'a mark stays as it was');
  },

  'that is marked is found until no bytes are left, even where its job runs again': async (f) => {
    const claimed = await f.running('ses_1');
    const uris = [await answered(f, claimed)];
    await f.fail(claimed, { code: 'workflow_error', elapsedMs: 1 });
    f.advance(DAY_MS + 1);
    const { jobId } = claimed;
    await f.store.evidence.erase({ jobId, olderThanMs: DAY_MS, uris });
    await f.jobs.act({
      tenant: 'default',
      jobId,
      command: { type: 'replay', actor: 'key:1', reason: 'again' },
    });
    assert.deepEqual(await oldJobs(f), [`default ${jobId}`]);
    await f.store.evidence.gone({ jobId });
    assert.deepEqual(await oldJobs(f), []);
  },

  'of a job that runs again is not erased, however old it is': async (f) => {
    const claimed = await f.running('ses_1');
    const uri = await answered(f, claimed);
    await f.fail(claimed, { code: 'workflow_error', elapsedMs: 1 });
    f.advance(DAY_MS + 1);
    const { jobId } = claimed;
    await f.jobs.act({
      tenant: 'default',
      jobId,
      command: { type: 'replay', actor: 'key:1', reason: 'again' },
    });
    await f.store.evidence.erase({ jobId, olderThanMs: DAY_MS, uris: [uri] });
    await f.store.evidence.gone({ jobId });
    assert.notEqual(await f.jobs.inlineBlob({ uri }), null);
    assert.deepEqual((await callOf(f, jobId)).response, { uri, sha256: 'digest', bytes: 2 });
    await f.complete(await f.claimOne('ses_2'));
    f.advance(DAY_MS + 1);
    assert.deepEqual(await oldJobs(f), [`default ${jobId}`]);
  },
};
