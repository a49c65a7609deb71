import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Store } from '../../src/ports/store.ts';
import { Connection } from '../../src/stores/postgres/connection.ts';
import { dryRun, schemaVersion } from '../../src/stores/postgres/migrate.ts';
import { inSchema } from '../../src/stores/postgres/statements.ts';
import { openPostgresStore } from '../../src/stores/postgres/store.ts';
import { Fixture, blob } from '../../src/testkit/store/fixture.ts';
import { RULES } from '../../src/testkit/store/sqlite.ts';
import { BIN, runHere } from '../cli/run.ts';
import { databaseUrl, dropSchema, newSchema, withClient } from './database.ts';

let url: string;
let schema: string;

beforeEach(async () => {
  url = await databaseUrl();
  schema = newSchema();
});

afterEach(() => dropSchema(schema));

function open(changes: { url?: string; schema?: string } = {}): Promise<Store> {
  return openPostgresStore({ url, schema, rules: RULES, ...changes });
}

function query(sql: string): Promise<unknown[]> {
  return withClient(async (client) => (await client.query(sql)).rows as unknown[]);
}

it('of ten that open an empty database at the same moment one migrates, and none fails', async () => {
  const stores = await Promise.all(Array.from({ length: 10 }, () => open()));
  await Promise.all(stores.map((store) => store.jobs.ping()));
  const versions = Array.from({ length: schemaVersion() }, (_, index) => ({ version: index + 1 }));
  expect(await query(`SELECT version FROM "${schema}".migrations ORDER BY version`)).toEqual(versions);
  await Promise.all(stores.map((store) => store.close()));
});

it('a migration is applied once, and a second opening finds everything there', async () => {
  const first = await open();
  const f = new Fixture({ store: first, advance: () => {}, dispose: () => first.close() });
  const jobId = await f.enqueueOne();
  await first.close();
  const second = await open();
  expect((await second.jobs.statuses([{ tenant: 'default', jobId }]))[0]?.status).toBe('queued');
  await second.close();
});

it('a schema of an older version is brought up to date under a worker that goes on', async () => {
  const old = await open();
  const f = new Fixture({ store: old, advance: () => {}, dispose: () => old.close() });
  const claimed = await f.running('ses_1');
  await query(`DELETE FROM "${schema}".migrations WHERE version > 1`);
  await query(`ALTER TABLE "${schema}".sessions DROP COLUMN claims_after`);
  await query(`DROP FUNCTION "${schema}".raise_tokens`);
  await query(`ALTER TABLE "${schema}".lanes DROP COLUMN suspicion`);
  await query(`ALTER TABLE "${schema}".lanes ADD UNIQUE (workflow, version, output_schema_sha256, tenant)`);
  await query(`ALTER TABLE "${schema}".jobs ADD COLUMN keyed boolean NOT NULL DEFAULT false`);
  await query(`ALTER TABLE "${schema}".jobs DROP COLUMN spending_limit, DROP COLUMN output`);
  await query(`DROP TABLE "${schema}".outputs`);
  await query(`DROP TABLE "${schema}".model_calls, "${schema}".spending, "${schema}".spending_limits,
    "${schema}".provider_pauses`);
  await query(`DROP FUNCTION "${schema}".utc_day`);
  await query(`ALTER TABLE "${schema}".idempotency DROP COLUMN jobs, DROP COLUMN open_at, ADD COLUMN job bigint,
    ADD COLUMN job_id text, ADD COLUMN ended_at bigint`);
  const updated = await open();
  const g = new Fixture({ store: updated, advance: () => {}, dispose: () => updated.close() });
  expect((await f.renew('ses_1')).lost).toBe(false);
  expect((await f.complete(claimed)).moved?.status).toBe('completed');
  const later = await g.running('ses_2', { jobId: 'job_later' });
  expect(later.token).toBeGreaterThan(claimed.token);
  await Promise.all([old.close(), updated.close()]);
});

it('the keys of the first version stand for their requests, one key for all jobs of a batch', async () => {
  const first = readFileSync(
    new URL('../../src/stores/postgres/migrations/001-jobs.sql', import.meta.url),
    'utf8',
  );
  await query(`CREATE SCHEMA "${schema}"`);
  await query(
    `CREATE TABLE "${schema}".migrations (version integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())`,
  );
  await query(inSchema(`${first}; INSERT INTO claimcheck.migrations (version) VALUES (1);`, schema));
  await query(`INSERT INTO "${schema}".idempotency (tenant, name, request_sha256, job, job_id, ended_at) VALUES
    ('default', '"one"', 'r1', 1, 'job_1', NULL), ('default', '"many"', 'r2', 2, 'job_2', 5),
    ('default', E'"many\\\\n1"', 'r2', 3, 'job_3', 7), ('default', E'"many\\\\n2"', 'r2', 4, 'job_4', 6)`);
  await (await open()).close();
  const keys = await query(`SELECT name, jobs::text, open_at FROM "${schema}".idempotency ORDER BY jobs`);
  expect(keys).toEqual([
    { name: '"one"', jobs: '{1}', open_at: expect.stringMatching(/^\d{13}$/) },
    { name: '"many"', jobs: '{2,3,4}', open_at: '7' },
  ]);
});

it('outputs of earlier versions are read where they are, and those that follow beside them', async () => {
  const old = await open();
  const f = new Fixture({ store: old, advance: () => {}, dispose: () => old.close() });
  const complete = async (g: Fixture, jobId: string, size: number) => {
    const claimed = await g.running('ses_1', { jobId });
    const output = {
      ...blob(`artifacts/${claimed.jobId}/${claimed.token}.json`, 'o'.repeat(size)),
      mediaType: 'application/json',
    };
    expect((await g.complete(claimed, [output])).moved?.status).toBe('completed');
    return output;
  };
  const outputs = [await complete(f, 'job_before', 2), await complete(f, 'job_long_before', 600)];
  await query(
    `INSERT INTO "${schema}".blobs SELECT j.artifact::json->>'uri', '"application/json"', coalesce(j.output, o.bytes)
     FROM "${schema}".jobs j LEFT JOIN "${schema}".outputs o ON o.job = j.number`,
  );
  await query(`ALTER TABLE "${schema}".jobs DROP COLUMN output`);
  await query(`DROP TABLE "${schema}".outputs`);
  await query(`DELETE FROM "${schema}".migrations WHERE version > 6`);
  await old.close();
  const updated = await open();
  const g = new Fixture({ store: updated, advance: () => {}, dispose: () => updated.close() });
  outputs.push(await complete(g, 'job_after', 2), await complete(g, 'job_long_after', 600));
  for (const output of outputs) expect(await updated.jobs.inlineBlob(output)).toEqual(output);
  const kept = await query(`SELECT uri FROM "${schema}".blobs ORDER BY uri`);
  expect(kept).toEqual(outputs.slice(0, 2).map(({ uri }) => ({ uri })));
  expect(await query(`SELECT length(bytes) FROM "${schema}".outputs`)).toEqual([{ length: 600 }]);
  await updated.close();
});

it('a schema of a newer version is refused in one sentence, and is not touched', async () => {
  await (await open()).close();
  await query(`INSERT INTO "${schema}".migrations (version) VALUES (9999)`);
  await expect(open()).rejects.toThrow(
    /^the schema .* was written by a newer version of Claimcheck .*9999.*$/,
  );
  await query(`DELETE FROM "${schema}".migrations WHERE version = 9999`);
  await (await open()).close();
});

it('a schema that holds tables of another program is refused, and gets none of ours', async () => {
  await query(`CREATE SCHEMA "${schema}"`);
  await query(`CREATE TABLE "${schema}".theirs (a integer)`);
  await expect(open()).rejects.toThrow('tables of another program');
  const tables = await query(`SELECT tablename FROM pg_tables WHERE schemaname = '${schema}'`);
  expect(tables).toEqual([{ tablename: 'theirs' }]);
});

it('an empty schema that an administrator made is used', async () => {
  await query(`CREATE SCHEMA "${schema}"`);
  await (await open()).close();
});

it('the dry run shows the SQL that would run, changes nothing, and is empty afterwards', async () => {
  const connection = new Connection(url, schema);
  const sql = await dryRun(connection);
  expect(sql).toContain(`CREATE SCHEMA "${schema}";`);
  expect(sql).toContain(`CREATE TABLE "${schema}".jobs`);
  expect(await query(`SELECT 1 FROM pg_namespace WHERE nspname = '${schema}'`)).toEqual([]);
  await query(sql);
  expect(await dryRun(connection)).toBe('');
  await connection.close();
  await (await open()).close();
});

/** Does `body` in a process that was started by this script. */
async function asScript<T>(script: string, body: () => Promise<T>): Promise<T> {
  const [node = '', own = '', ...args] = process.argv;
  process.argv = [node, script, ...args];
  try {
    return await body();
  } finally {
    process.argv = [node, own, ...args];
  }
}

it('a role that may create nothing uses what was migrated, and is told what to do where it was not', async () => {
  const role = `${schema}_role`;
  await query(`CREATE ROLE "${role}" LOGIN`);
  const restricted = new URL(url);
  restricted.username = role;
  try {
    await query(`REVOKE CREATE ON DATABASE "${restricted.pathname.slice(1)}" FROM PUBLIC`);
    await expect(open({ url: restricted.href })).rejects.toMatchObject({
      name: 'MigrationDeniedError',
      message: expect.stringMatching(/^this role may not make the tables of the schema .*permission denied/),
    });
    const where = ['--database-url', restricted.href, '--schema', schema];
    expect((await asScript(BIN, () => runHere(['migrate', ...where]))).stderr).toMatch(
      /may not make the tables .*; run `\.\/bin\/claimcheck migrate` once with a role that may\.$/m,
    );
    expect((await asScript(BIN, () => runHere(['list', ...where]))).stderr).toMatch(
      /or run `\.\/bin\/claimcheck migrate`\.$/m,
    );
    await (await open()).close();
    expect((await asScript(BIN, () => runHere(['list', ...where]))).stderr).toMatch(
      /permission denied .*; grant this role USAGE on the schema .*SELECT, INSERT, UPDATE, DELETE on its tables/,
    );
    await query(`GRANT USAGE ON SCHEMA "${schema}" TO "${role}"`);
    await query(`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA "${schema}" TO "${role}"`);
    await query(`GRANT USAGE ON ALL SEQUENCES IN SCHEMA "${schema}" TO "${role}"`);
    await query(`REVOKE INSERT ON "${schema}".outputs FROM "${role}"`); // as where a migration has made it since
    expect((await asScript(BIN, () => runHere(['list', ...where]))).stderr).toMatch(
      /permission denied for outputs in the schema .*; grant this role USAGE on the schema/,
    );
    await query(`GRANT INSERT ON "${schema}".outputs TO "${role}"`);
    const store = await open({ url: restricted.href });
    const f = new Fixture({ store, advance: () => {}, dispose: () => store.close() });
    const claimed = await f.running('ses_1');
    expect((await f.complete(claimed)).moved?.status).toBe('completed');
    await store.close();
  } finally {
    await query(`DROP OWNED BY "${role}"`);
    await query(`DROP ROLE "${role}"`);
  }
});

it('a name that is no plain identifier is refused before anything is asked', async () => {
  for (const name of ['', 'Claim', 'a-b', 'a"b', 'pg_mine', 'x'.repeat(60)]) {
    await expect(open({ schema: name })).rejects.toThrow("cannot be the store's schema");
  }
});

it('what people read of a store does not hold its password', async () => {
  const withPassword = new URL(url);
  withPassword.password = 'secret';
  const store = await open({ url: withPassword.href });
  expect(store.description).toMatch(/^postgres .*, schema test_/);
  expect(store.description).not.toContain('secret');
  await store.close();
});
