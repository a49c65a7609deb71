/** Evidence that has had its time, on the real store and in real files, as it is seen over HTTP. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { createApp } from '../src/http/app.ts';
import { openParts } from '../src/main/open.ts';
import type { Log } from '../src/ports/telemetry.ts';
import { manualClock } from '../src/testkit/manual-clock.ts';
import { CENT, claimNext } from './support/calls.ts';

const KEY = 'bootstrap-key-of-the-tests-0123456789';
const DAY_MS = 24 * 3_600_000;
const paid = { name: 'paid', version: '1', input: z.unknown(), output: z.unknown(), run: () => null };

async function open() {
  const dataDir = mkdtempSync(join(tmpdir(), 'claimcheck-retention-'));
  const messages: string[] = [];
  const write = (_: object, message: string) => void messages.push(message);
  const log: Log = { debug: write, info: write, warn: write, error: write, child: () => log };
  const clock = manualClock(Date.now());
  const parts = await openParts({
    dataDir,
    workflows: [paid],
    model: null,
    telemetry: { log, moved: () => {} },
    bootstrapKey: KEY,
    clock,
    settings: { evidenceRetentionMs: 30 * DAY_MS },
  });
  onTestFinished(async () => {
    await parts.close();
    rmSync(dataDir, { recursive: true, force: true });
  });
  const app = createApp({ engine: parts.engine, log });
  const ask = async (path: string, json?: object) => {
    const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
    const init = json === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(json) };
    return app.fetch(new Request(`http://claimcheck.test${path}`, init));
  };
  const files = () =>
    readdirSync(join(dataDir, 'blobs'), { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('.json'),
    );
  return { parts, clock, messages, ask, files };
}

it('the responses of a job, in the store and in files, are erased so long after its end, and the record says so', async () => {
  const { parts, clock, messages, ask, files } = await open();
  const { job_id: id } = (await (await ask('/ai-jobs', { workflow: 'paid' })).json()) as { job_id: string };
  const attempt = await claimNext(parts);
  const small = await attempt.answer((await attempt.begin(CENT))!, CENT);
  const n = (await attempt.begin(CENT))!;
  const large = `evidence/${id}/${attempt.job.token}/call-${n}.json`;
  const stored = await parts.blobs.put({ uri: large, body: Buffer.from('{"large":true}'), maxBytes: 100 });
  await attempt.answerFrom(n, { uri: large, ...stored });
  const raw = `evidence/${id}/${attempt.job.token}/raw-output.json`;
  const kept = await parts.blobs.put({ uri: raw, body: Buffer.from('{"raw":1}'), maxBytes: 100 });
  await attempt.fail({ code: 'malformed_output', evidence: [{ kind: 'raw_output', uri: raw, ...kept }] });

  const evidence = (uri: string) => ask(`/ai-jobs/${id}/evidence?uri=${encodeURIComponent(uri)}`);
  for (const uri of [small, large, raw]) expect((await evidence(uri)).status).toBe(200);
  expect(files()).toHaveLength(2);

  parts.sweeper.start();
  await clock.advance(29 * DAY_MS);
  expect((await evidence(small)).status).toBe(200);
  clock.jump(DAY_MS + 1);
  await clock.advance(60_000);
  await expect.poll(() => messages.filter((message) => message === 'evidence was erased').length).toBe(1);

  for (const uri of [small, large, raw]) {
    const answer = await evidence(uri);
    expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([
      410,
      'evidence_expired',
    ]);
    expect(await parts.store.jobs.inlineBlob({ uri })).toBeNull();
  }
  expect(files()).toEqual([]);
  const record = (await (await ask(`/ai-jobs/${id}/record`)).json()) as {
    calls: { response: object }[];
    errors: { evidence: object[] }[];
  };
  const erased_at = expect.stringMatching(/^\d{4}-.*Z$/) as string;
  expect(record.calls.map(({ response }) => response)).toEqual([
    { uri: small, sha256: expect.any(String) as string, bytes: expect.any(Number) as number, erased_at },
    { uri: large, ...stored, erased_at },
  ]);
  expect(record.errors[0]?.evidence).toMatchObject([{ uri: raw, ...kept }]);
  expect((await evidence(`evidence/${id}/1/other.json`)).status).toBe(404);
});
