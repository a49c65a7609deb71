/**
 * The whole product, as its operators start it, while its database is treated badly: `serve` with its worker, and a `work`
 * beside it. Nobody restarts any of them by hand.
 */
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { openFileBlobs } from '../../src/blobs/file-blobs.ts';
import { canonicalJson } from '../../src/domain/json.ts';
import { report } from '../../src/testkit/checker/checker.ts';
import { Clients } from '../../src/testkit/crash/clients.ts';
import { drained, judge } from '../../src/testkit/crash/judge.ts';
import { openPostgresStore } from '../../src/stores/postgres/store.ts';
import { RULES } from '../../src/testkit/store/sqlite.ts';
import { serve, start, tempDir } from '../cli/run.ts';
import type { Server as Api } from '../cli/run.ts';
import { withClient } from '../postgres/database.ts';
import { startServer } from '../postgres/server.ts';

const KEY = 'a-key-that-only-the-outages-have-0123456';
const AWAY_MS = 30_000;

it('connections ended by an administrator, a server that crashes, one that is away for half a minute: all of it passes by itself', async () => {
  const server = await startServer();
  onTestFinished(() => server.stop());
  const dataDir = tempDir();
  const env = {
    CLAIMCHECK_DATABASE_URL: server.url,
    CLAIMCHECK_DATA_DIR: dataDir,
    CLAIMCHECK_BOOTSTRAP_KEY: KEY,
    CLAIMCHECK_LEASE_MS: '1000',
    CLAIMCHECK_GRACE_MS: '500',
    CLAIMCHECK_BACKOFF_BASE_MS: '20',
    CLAIMCHECK_BACKOFF_CAP_MS: '200',
    CLAIMCHECK_LOG_LEVEL: 'warn',
  };
  const api = await serve(['--demo'], { cwd: dataDir, env });
  const worker = start(['work', '--demo'], { cwd: dataDir, env });
  await worker.printed(/A worker runs/);
  const watch = watchHealth(api);
  const clients = new Clients({ address: () => Promise.resolve(api.url), key: KEY }, Math.random);
  const over = new AbortController();
  const asking = [1, 2, 3].map(() => clients.run(over.signal));

  await sleep(1000);
  for (let time = 0; time < 5; time += 1) {
    await withClient(
      (client) =>
        client.query(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'claimcheck'`,
        ),
      server.url,
    );
    await sleep(200);
  }
  await server.restart('immediate');
  await sleep(1000);
  const input = { mode: 'slow', ms: AWAY_MS + 2000 };
  const long = await api.ask('/ai-jobs', { workflow: 'demo', input, limits: { max_attempts: 1 } });
  const longId = long.json['job_id'] as string;
  await expect.poll(async () => (await api.ask(`/ai-jobs/${longId}`)).json['status']).toBe('running');

  const away = server.restart('immediate', AWAY_MS);
  await expect.poll(() => watch.ready()).toBe(503);
  await away;
  const quietSince = Date.now();
  await expect.poll(() => watch.ready(), { timeout: 5000 }).toBe(200);
  over.abort();
  await Promise.all(asking);
  watch.stop();
  expect(watch.strange).toEqual([]);

  const store = await openPostgresStore({ url: server.url, schema: 'claimcheck', rules: RULES });
  onTestFinished(() => store.close());
  expect(await drained(store, 20_000)).toBe(true);
  expect((await api.ask(`/ai-jobs/${longId}/record?view=brief`)).json).toMatchObject({
    status: 'completed',
    attempt: 1,
    errors: [],
  });
  const blobs = await openFileBlobs({ dir: `${dataDir}/blobs` });
  await clients.followed();
  const inputSha256 = createHash('sha256').update(canonicalJson(input)).digest('hex');
  clients.log.creates.push({ tenant: 'default', told: 'accepted', jobId: longId, inputSha256 });
  const judgement = await judge({ store, blobs, clients: clients.log, quietSince });
  expect(report(judgement.violations)).toBe('');
  expect(judgement.acknowledged).toBeGreaterThan(20);
  expect(judgement.recovered).toBe(0); // no attempt was taken from a worker, since all of them lived on

  expect(api.stderr()).not.toContain('the worker process ended');
  expect(api.stderr()).not.toContain('a request failed'); // a 500
  for (const { process, ended } of [api, worker]) {
    process.kill('SIGTERM');
    expect(await ended).toEqual({ code: 0, signal: null });
  }
}, 120_000);

const WATCH_EVERY_MS = 100;

/** Asks for the API's health all the time, and keeps whatever it may not answer. */
function watchHealth({ url }: Api) {
  const strange: string[] = [];
  let ready = 0;
  let stopped = false;
  async function look(path: string, allowed: readonly number[]): Promise<number> {
    const response = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${KEY}` } });
    await response.arrayBuffer();
    const { status, headers } = response;
    if (!allowed.includes(status)) strange.push(`${path} answered ${status}`);
    if (status === 503 && headers.get('retry-after') === null)
      strange.push(`${path} said not when to return`);
    return status;
  }
  async function watch(): Promise<void> {
    while (!stopped) {
      await look('/healthz', [200]);
      ready = await look('/readyz', [200, 503]);
      await look('/ai-jobs/job_unknown', [404, 503]);
      await sleep(WATCH_EVERY_MS);
    }
  }
  void watch().catch((error: unknown) => strange.push(String(error)));
  return {
    strange,
    ready: () => ready,
    stop: () => {
      stopped = true;
    },
  };
}
