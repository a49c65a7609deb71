/** `serve` and its worker, as their operators start them, on a disk that fills up under load and is then given room again. */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { openFileBlobs } from '../../src/blobs/file-blobs.ts';
import { canonicalJson } from '../../src/domain/json.ts';
import { openSqliteStore } from '../../src/stores/sqlite/store.ts';
import { report } from '../../src/testkit/checker/checker.ts';
import type { CreateLine } from '../../src/testkit/checker/history.ts';
import { Clients } from '../../src/testkit/crash/clients.ts';
import { drained, judge } from '../../src/testkit/crash/judge.ts';
import { RULES } from '../../src/testkit/store/sqlite.ts';
import { serve, tempDir } from '../cli/run.ts';
import type { Server } from '../cli/run.ts';
import { NO_SMALL_DISK, smallDisk } from '../support/small-disk.ts';

const KEY = 'a-key-that-only-the-full-disk-has-012345';
const LEASE_MS = 1000;
const ENV = {
  CLAIMCHECK_BOOTSTRAP_KEY: KEY,
  CLAIMCHECK_LEASE_MS: `${LEASE_MS}`,
  CLAIMCHECK_GRACE_MS: '500',
  CLAIMCHECK_BACKOFF_BASE_MS: '20',
  CLAIMCHECK_BACKOFF_CAP_MS: '200',
  CLAIMCHECK_LOG_LEVEL: 'warn',
};
const skipped = NO_SMALL_DISK === null ? '' : ` (skipped: ${NO_SMALL_DISK})`;
const PATIENCE = { timeout: 20_000 };

/** Hands in a job whose input is large, and says what was answered. */
async function handIn(api: Server, creates: CreateLine[]): Promise<number> {
  const input = { mode: 'throw', message: 'x'.repeat(200_000) };
  const inputSha256 = createHash('sha256').update(canonicalJson(input)).digest('hex');
  const line: CreateLine = { tenant: 'default', told: 'nothing', inputSha256 };
  creates.push(line);
  const { status, json } = await api.ask('/ai-jobs', { workflow: 'demo', input });
  if (status === 202) Object.assign(line, { told: 'accepted', jobId: json['job_id'] });
  return status;
}

it.skipIf(skipped !== '')(
  `a full disk ends no process, loses nothing, and passes by itself${skipped}`,
  async () => {
    const disk = smallDisk(48);
    const dataDir = join(disk.dir, 'data');
    const api = await serve(['--demo'], { cwd: tempDir(), env: { ...ENV, CLAIMCHECK_DATA_DIR: dataDir } });
    const answer = async (path: string) => (await api.ask(path)).status;
    const clients = new Clients({ address: () => Promise.resolve(api.url), key: KEY }, Math.random);
    const over = new AbortController();
    const asking = [1, 2, 3].map(() => clients.run(over.signal));
    const completed = async () => (await api.ask('/ai-jobs?status=completed&limit=20')).json['jobs'];
    await expect.poll(completed, PATIENCE).toHaveLength(20);

    disk.fill();
    await expect.poll(() => handIn(api, clients.log.creates), PATIENCE).toBe(507);
    await expect.poll(() => answer('/readyz'), PATIENCE).toBe(507);
    expect([await answer('/ai-jobs?limit=5'), await answer('/healthz')]).toEqual([200, 200]);
    await sleep(1.5 * LEASE_MS);

    disk.free();
    const quietSince = Date.now();
    await expect.poll(() => answer('/readyz')).toBe(200);
    const before = clients.acknowledged();
    await expect.poll(() => clients.acknowledged(), PATIENCE).toBeGreaterThan(before + 10);
    over.abort();
    await Promise.all(asking);

    const store = await openSqliteStore({ dataDir, rules: RULES });
    onTestFinished(() => store.close());
    expect(await drained(store, 20_000)).toBe(true);
    await clients.followed();
    const blobs = await openFileBlobs({ dir: join(dataDir, 'blobs') });
    const judgement = await judge({ store, blobs, clients: clients.log, quietSince });
    expect(report(judgement.violations)).toBe('');
    expect(judgement.recovered).toBe(0); // no worker lost its session over it
    expect(
      api
        .stderr()
        .split('\n')
        .filter((line) => /the worker process ended|a request failed/.test(line)),
    ).toEqual([]);
    api.process.kill('SIGTERM');
    expect(await api.ended).toEqual({ code: 0, signal: null });
  },
  90_000,
);
