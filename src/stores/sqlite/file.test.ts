import { chmod, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { begun, opening } from '../../testkit/store/calls.ts';
import { Fixture } from '../../testkit/store/fixture.ts';
import { RULES } from '../../testkit/store/sqlite.ts';
import { asStoreError } from './errors.ts';
import { refuseOldSqlite, requireDurable } from './file.ts';
import { schemaVersion } from './migrate.ts';
import { openSqliteStore } from './store.ts';

let directory: string;
let path: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'claimcheck-file-'));
  path = join(directory, 'store.db');
});

afterEach(() => rm(directory, { recursive: true, force: true }));

function raw(sql: string): void {
  const db = new DatabaseSync(path);
  db.exec(sql);
  db.close();
}

function opened(options: { now?: () => number; path?: string } = {}) {
  return openSqliteStore({ path, rules: RULES, ...options });
}

it('a file of a newer version is refused in one sentence, and is not touched', async () => {
  await (await opened()).close();
  raw('PRAGMA user_version = 9999');
  await expect(opened()).rejects.toThrow(
    /^.*store\.db was written by a newer version of Claimcheck .*9999.*$/,
  );
  raw(`PRAGMA user_version = ${schemaVersion()}`);
  await (await opened()).close();
});

it('a copy of the file that is put back in place gives none of the tokens again that were given since', async () => {
  const claimOne = async (jobId: string) => {
    const store = await opened();
    const f = new Fixture({ store, advance: () => {}, dispose: () => store.close() });
    const { token } = await f.running(`session of ${jobId}`, { jobId });
    await store.close();
    return token;
  };
  await claimOne('job_1');
  const copy = join(directory, 'copy.db');
  raw(`VACUUM INTO '${copy}'`);
  const before = await claimOne('job_2');
  await Promise.all(['', '-wal', '-shm'].map((ending) => rm(`${path}${ending}`, { force: true })));
  await rename(copy, path);
  expect(await claimOne('job_2')).toBeGreaterThan(before);
});

it('a database of another program is refused, and gets no tables of ours', async () => {
  raw('CREATE TABLE theirs (a)');
  await expect(opened()).rejects.toThrow('a database of another program');
  const db = new DatabaseSync(path);
  expect(db.prepare('SELECT name FROM sqlite_master').all()).toEqual([{ name: 'theirs' }]);
  db.close();
});

it('a file that is no database, and a path that cannot be opened, are said plainly', async () => {
  await writeFile(path, 'x'.repeat(5000));
  await expect(opened()).rejects.toThrow(/not a database/);
  await expect(opened({ path: join(path, 'below.db') })).rejects.toThrow(/below\.db cannot be opened/);
});

it('its files are readable for their owner only, also in a directory that others may read', async () => {
  await chmod(directory, 0o755);
  const umask = process.umask(0);
  try {
    const store = await opened();
    const files = await readdir(directory);
    expect(files.toSorted()).toEqual(['store.db', 'store.db-shm', 'store.db-wal']);
    for (const file of files) expect((await stat(join(directory, file))).mode & 0o777).toBe(0o600);
    await store.close();
  } finally {
    process.umask(umask);
  }
});

it('a migration is applied once, and a second opening finds everything there', async () => {
  const first = await opened();
  const [id] = await new Fixture({ store: first, advance: () => {}, dispose: () => first.close() }).enqueue(
    {},
  );
  await first.close();
  const second = await opened();
  expect((await second.jobs.statuses([{ tenant: 'default', jobId: id! }]))[0]?.status).toBe('queued');
  await second.close();
});

it('the keys of the first version stand for their requests, one key for all jobs of a batch', async () => {
  const first = new URL('migrations/001-jobs.sql', import.meta.url);
  raw(`${await readFile(first, 'utf8')}
    PRAGMA user_version = 1; PRAGMA application_id = 1668050275;
    INSERT INTO idempotency (tenant, name, request_sha256, job, job_id, ended_at) VALUES
      ('default', '"one"', 'r1', 1, 'job_1', NULL), ('default', '"many"', 'r2', 2, 'job_2', 5),
      ('default', '"many\\n1"', 'r2', 3, 'job_3', 7), ('default', '"many\\n2"', 'r2', 4, 'job_4', 6)`);
  await (await opened()).close();
  const db = new DatabaseSync(path);
  expect(
    db
      .prepare('SELECT name, first_job, last_job, open_at > 7 AS open FROM idempotency ORDER BY first_job')
      .all(),
  ).toEqual([
    { name: '"one"', first_job: 1, last_job: 1, open: 1 },
    { name: '"many"', first_job: 2, last_job: 4, open: 0 },
  ]);
  db.close();
});

it('a file of an older version is brought up to date under a worker that goes on', async () => {
  const old = await opened();
  const f = new Fixture({ store: old, advance: () => {}, dispose: () => old.close() });
  const claimed = await f.running('ses_1', { spendingLimit: 10 });
  raw(`DROP TABLE model_calls; DROP TABLE spending; DROP TABLE spending_limits; DROP TABLE provider_pauses; DROP TABLE outputs;
    ALTER TABLE jobs DROP COLUMN spending_limit; PRAGMA user_version = 4`);
  const updated = await opened();
  expect(await begun(f, claimed, { estimate: 11 })).toBe(1);
  expect((await updated.jobs.job({ tenant: 'default', jobId: claimed.jobId }))?.calls).toHaveLength(1);
  expect((await f.complete(claimed)).moved?.status).toBe('completed');
  await Promise.all([old.close(), updated.close()]);
});

it('two processes share a limit: fifty calls begin at once, and ten are let through', async () => {
  const stores = await Promise.all([opened(), opened()]);
  const [f] = stores.map((store) => new Fixture({ store, advance: () => {}, dispose: () => store.close() }));
  const claimed = await f!.running('ses_1', { spendingLimit: 100 });
  const calls = Array.from({ length: 50 }, (_, index) => opening(claimed, { place: index + 1 }));
  const answers = await Promise.all(calls.map((call, index) => stores[index % 2]!.ledger.begin(call)));
  expect(answers.filter(({ outcome }) => outcome === 'begun')).toHaveLength(10);
  expect(answers.filter(({ outcome }) => outcome === 'over_limit')).toHaveLength(40);
  await Promise.all(stores.map((store) => store.close()));
});

it('a connection that does not sync each commit is refused', () => {
  const db = new DatabaseSync(path);
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE t (a)');
  requireDurable(db, path);
  db.exec('PRAGMA synchronous = NORMAL; INSERT INTO t VALUES (1)');
  expect(() => requireDurable(db, path)).toThrow('not synced at each commit');
  db.close();
});

it('a SQLite that can corrupt a shared WAL is refused', () => {
  for (const version of ['3.51.2', '3.50.9', '2.99.99'])
    expect(() => refuseOldSqlite(version)).toThrow('too old');
  for (const version of ['3.51.3', '3.51.10', '3.53.0', '4.0.0']) refuseOldSqlite(version);
});

it('a full disk is told apart from one that cannot be used', () => {
  const db = new DatabaseSync(path);
  db.exec('PRAGMA max_page_count = 3; CREATE TABLE t (a)');
  let thrown: unknown;
  try {
    db.exec('INSERT INTO t VALUES (zeroblob(1000000))');
  } catch (error) {
    thrown = error;
  }
  expect(asStoreError(thrown)).toMatchObject({ name: 'StorageFullError' });
  db.close();
  const plain = new Error('plain');
  expect(asStoreError(plain)).toBe(plain);
});

it("the store's time never falls, also where the machine's clock is set back", async () => {
  let now = 1_700_000_000_000;
  const store = await opened({ now: () => now });
  const f = new Fixture({ store, advance: () => {}, dispose: () => store.close() });
  const claimed = await f.running('ses_1');
  now -= 3_600_000;
  await f.complete(claimed);
  const job = await f.job(claimed.jobId);
  expect(job.finishedAt).toBe(job.startedAt);
  await store.close();
});
