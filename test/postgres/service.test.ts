/** The whole product on PostgreSQL: in an app's process, and as its users start it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { defineWorkflow, openClaimcheck } from '../../src/index.ts';
import type { Claimcheck } from '../../src/index.ts';
import { openParts } from '../../src/main/open.ts';
import { createTelemetry } from '../../src/main/telemetry.ts';
import type { Wakeup } from '../../src/ports/wakeups.ts';
import { schemaVersion } from '../../src/stores/postgres/migrate.ts';
import { run, runHere, serve, start, tempDir, endOf } from '../cli/run.ts';
import { databaseUrl, dropSchema, newSchema } from './database.ts';

const double = defineWorkflow({
  name: 'double',
  version: '1',
  input: z.strictObject({ number: z.number() }),
  output: z.object({ doubled: z.number() }),
  run: ({ input }) => ({ doubled: input.number * 2 }),
});

const endless = defineWorkflow({
  name: 'endless',
  version: '1',
  input: z.undefined(),
  output: z.null(),
  run: ({ signal }) =>
    new Promise<null>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    }),
});

const CALLER = { tenant: 'default', actor: 'local:test' };

let url: string;
let schema: string;

beforeEach(async () => {
  url = await databaseUrl();
  const own = newSchema();
  schema = own;
  onTestFinished(async () => void (await dropSchema(own)));
});

async function openApp(): Promise<Claimcheck> {
  const dataDir = mkdtempSync(join(tmpdir(), 'claimcheck-service-'));
  const app = await openClaimcheck({ dataDir, databaseUrl: url, schema, workflows: [double] });
  onTestFinished(async () => {
    await app.close();
    rmSync(dataDir, { recursive: true, force: true });
  });
  return app;
}

describe('an app', () => {
  it('runs jobs of another that shares its database, woken rather than polling', async () => {
    const [one, other] = await Promise.all([openApp(), openApp()]);
    other.worker().start();
    const jobs = await Promise.all([1, 2, 3].map((number) => one.enqueue(double, { number })));
    for (const { job_id } of jobs) {
      expect((await one.wait(job_id, { waitMs: 20_000 })).status).toBe('completed');
    }
  });

  it('writes a job within its own transaction: gone with a rollback, run after a commit', async () => {
    const app = await openApp();
    const client = new Client({ connectionString: url });
    await client.connect();
    await client.query(`CREATE TABLE "${schema}".orders (id integer)`);
    async function order(id: number, end: 'COMMIT' | 'ROLLBACK'): Promise<string> {
      await client.query('BEGIN');
      await client.query(`INSERT INTO "${schema}".orders VALUES ($1)`, [id]);
      const { job_id } = await app.enqueue(
        double,
        { number: id },
        { tx: client, labels: { order: `${id}` } },
      );
      await client.query(end);
      return job_id;
    }
    const undone = await order(1, 'ROLLBACK');
    const done = await order(2, 'COMMIT');
    await client.end();
    app.worker().start();
    expect((await app.wait(done, { waitMs: 20_000 })).status).toBe('completed');
    await expect(app.status(undone)).rejects.toMatchObject({ code: 'not_found' });
  });
});

it('a worker hears of a cancel that another process was told, and of nothing that concerns others', async () => {
  const open = async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'claimcheck-service-'));
    const telemetry = createTelemetry({ level: 'silent', process: 'test' });
    const parts = await openParts({
      dataDir,
      database: { url, schema },
      workflows: [endless],
      model: null,
      telemetry,
    });
    onTestFinished(async () => {
      await parts.close();
      rmSync(dataDir, { recursive: true, force: true });
    });
    return parts;
  };
  const [api, host, other] = [await open(), await open(), await open()];
  const [worker, idle] = [host.createWorker(), other.createWorker()];
  onTestFinished(() => [worker, idle].forEach((one) => one.kill()));
  const heard: Wakeup[] = [];
  host.wakeups.on((wakeup) => heard.push(wakeup));
  worker.start();
  const ticket = await api.engine.enqueue(CALLER, { workflow: 'endless' });
  const { jobId } = ticket.ok ? ticket.value : { jobId: '' };
  await expect.poll(() => worker.slotsTaken()).toBe(1);
  idle.start();
  await api.engine.cancel(CALLER, jobId, 'not needed');
  await expect.poll(() => heard).toContainEqual({ type: 'revoked', session: worker.session() });
  await expect.poll(() => worker.slotsTaken()).toBe(0);
  expect(heard.filter(({ type }) => type === 'revoked')).toHaveLength(1);
});

describe('the commands', () => {
  it('serve and work on one database, with a worker on another data directory', async () => {
    const env = { CLAIMCHECK_DATABASE_URL: url, CLAIMCHECK_SCHEMA: schema };
    const server = await serve(['--demo', '--no-worker'], { cwd: tempDir(), env });
    expect(server.stdout()).toContain(`schema ${schema}`);
    const worker = start(['work', '--demo'], { cwd: tempDir(), env });
    const { status, json } = await server.ask('/ai-jobs', {
      workflow: 'demo',
      input: { mode: 'flaky', fail_times: 1 },
    });
    expect(status).toBe(202);
    expect(await endOf(server, json['job_id'] as string)).toMatchObject({
      status: 'completed',
      errors: ['upstream_unavailable'],
      events: ['queued', 'running', 'queued', 'running', 'completed'],
    });
    worker.process.kill('SIGTERM');
    expect((await worker.ended).code).toBe(0);
  });

  it('ten of them started at the same moment on an empty database: one migrates, and none fails', async () => {
    const where = ['--database-url', url, '--schema', schema, '--data-dir', tempDir()];
    const all = await Promise.all(
      Array.from({ length: 10 }, () => run(['migrate', ...where], { cwd: tempDir() })),
    );
    expect(all.map(({ code, stderr }) => `${code} ${stderr}`)).toEqual(all.map(() => '0 '));
    expect((await runHere(['migrate', '--dry-run', ...where])).stdout).toBe('');
  });

  it('read no store that is not there, show what a migration would do, do it, and then read', async () => {
    const where = ['--database-url', url, '--schema', schema, '--data-dir', tempDir()];
    const early = await runHere(['list', ...where]);
    expect([early.code === 0, early.stderr]).toEqual([
      false,
      expect.stringContaining(`no store in the schema ${schema}`),
    ]);
    expect((await runHere(['migrate', '--dry-run', ...where])).stdout).toContain(
      `CREATE TABLE "${schema}".jobs`,
    );
    expect((await runHere(['migrate', ...where])).stdout).toContain(
      `schema ${schema} has schema version ${schemaVersion()}`,
    );
    expect((await runHere(['migrate', '--dry-run', ...where])).stdout).toBe('');
    expect((await runHere(['list', ...where])).code).toBe(0);
  });

  it('say in one sentence that a database cannot be reached, without its password', async () => {
    const { code, stderr } = await runHere([
      'migrate',
      '--database-url',
      'postgres://me:secret@127.0.0.1:1/db',
      '--data-dir',
      tempDir(),
    ]);
    expect(code).not.toBe(0);
    expect(stderr).toMatch(/^.*The database cannot be used: .*ECONNREFUSED.*\n$/);
    expect(stderr).not.toContain('secret');
  });
});

it('the embedded store says that it has no transactions to share', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'claimcheck-service-'));
  const app = await openClaimcheck({ dataDir, workflows: [double] });
  const tx = { query: () => Promise.resolve() };
  await expect(app.enqueue(double, { number: 1 }, { tx })).rejects.toThrow(
    '`tx` needs a store in PostgreSQL',
  );
  await app.close();
  rmSync(dataDir, { recursive: true, force: true });
});
