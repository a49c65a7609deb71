/**
 * The disk is full: what was accepted is kept and goes on, what finds no room is refused and leaves nothing, and all of it
 * mends by itself once there is room.
 */
import { chownSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type * as sqlite from '@photostructure/sqlite';
import { expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { defineWorkflow } from '../../src/index.ts';
import type { RunContext } from '../../src/index.ts';
import { databaseUrl, dropSchema, newSchema, withClient } from '../postgres/database.ts';
import { startServer } from '../postgres/server.ts';
import { gate, tempDir } from '../support/claimcheck.ts';
import { NO_SMALL_DISK, smallDisk } from '../support/small-disk.ts';
import { judged, Party } from './party.ts';

/** The connections that stores of this test have made: the limit of a file's pages is each one's own. */
const databases = vi.hoisted((): sqlite.DatabaseSyncInstance[] => []);
vi.mock('@photostructure/sqlite', async (original) => {
  const driver = await original<typeof sqlite>();
  class Remembered extends driver.DatabaseSync {
    constructor(...args: ConstructorParameters<typeof driver.DatabaseSync>) {
      super(...args);
      databases.push(this);
    }
  }
  return { ...driver, DatabaseSync: Remembered };
});

const NOBODY = 65_534;
const skipped = NO_SMALL_DISK === null ? '' : ` (skipped: ${NO_SMALL_DISK})`;
const FIRST_TRY = { status: 'completed', attempt: 1, errors: [], events: ['queued', 'running', 'completed'] };

interface Disk {
  fill(): void;
  free(): void;
}

/** What an attempt does. */
let run: (context: RunContext<unknown>) => unknown;

const workflows = [
  defineWorkflow({
    name: 'test',
    version: '1',
    input: z.any(),
    output: z.any(),
    run: (context) => run(context),
  }),
];

/** Attempts that wait until they are let go, and then return so much text. */
function waiting(characters: number) {
  const go = gate();
  let started = 0;
  run = async () => {
    started += 1;
    await go.opened;
    return 'x'.repeat(characters);
  };
  return { go, started: () => started };
}

/** Settlements that the store refused. */
function refusals({ parts }: Party): () => number {
  let count = 0;
  const settle = parts.store.jobs.settle.bind(parts.store.jobs);
  parts.store.jobs.settle = (settlements) =>
    settle(settlements).catch((error: unknown) => {
      count += 1;
      throw error;
    });
  return () => count;
}

/** Hands in large jobs until there is no room: never a 202 that is not kept. */
async function untilRefused(party: Party): Promise<void> {
  for (let index = 0; index < 200; index += 1) {
    const { status, headers, json } = await party.create(`${index} ${'x'.repeat(100_000)}`);
    if (status === 202) continue;
    expect([status, json['code']]).toEqual([507, 'storage_full']);
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    return;
  }
  expect.unreachable('a full disk went on taking jobs');
}

async function storeIsFull(party: Party, disk: Disk): Promise<void> {
  const refused = refusals(party);
  const { go, started } = waiting(12_000);
  party.parts.sweeper.start();
  party.startWorker();
  const jobs = await Promise.all(
    [1, 2, 3, 4, 5, 6].map((number) => party.accepted(number, { max_attempts: 1 })),
  );
  await expect.poll(started).toBe(6);
  disk.fill();
  await untilRefused(party);
  for (const path of ['', '/record', '/events']) {
    expect((await party.ask('GET', `/ai-jobs/${jobs[0]}${path}`)).status).toBe(200);
  }
  expect((await party.ask('GET', '/ai-jobs?status=running')).status).toBe(200);
  expect((await party.ask('GET', '/healthz')).status).toBe(200);
  go.open();
  await expect.poll(refused).toBeGreaterThan(2);
  expect(await party.statusOf(jobs[0]!)).toBe('running');
  disk.free();
  for (const job of jobs) expect(await party.ended(job)).toMatchObject(FIRST_TRY);
  expect(await party.ended(await party.accepted('after'))).toMatchObject(FIRST_TRY);
  await judged(party);
}

/** An embedded store, and a limit for its file. */
async function embedded(): Promise<{ party: Party; dataDir: string; disk: Disk }> {
  const dataDir = await tempDir();
  const party = await Party.open({ dataDir, workflows });
  const db = databases.at(-1)!;
  const limit = (pages: number) => db.exec(`PRAGMA max_page_count = ${pages}`);
  const pages = () => (db.prepare('PRAGMA page_count').get() as { page_count: number }).page_count;
  return { party, dataDir, disk: { fill: () => limit(pages()), free: () => limit(1_000_000) } };
}

it('SQLite that may not grow refuses with 507, goes on reading, and settles what ran when it may', async () => {
  const { party, disk } = await embedded();
  await storeIsFull(party, disk);
});

it('an upload that finds room for its bytes and none for the line that names them leaves no file', async () => {
  const { party, dataDir, disk } = await embedded();
  disk.fill();
  let kept = 0;
  for (let answer = 201; answer === 201 && kept < 200; ) {
    answer = (await party.ask('POST', '/uploads', 'z'.repeat(1000))).status;
    if (answer === 201) kept += 1;
    else expect(answer).toBe(507);
  }
  expect(readdirSync(join(dataDir, 'blobs', 'uploads'))).toHaveLength(kept);
  disk.free();
  expect((await party.ask('POST', '/uploads', 'z')).status).toBe(201);
  await judged(party);
});

it.skipIf(skipped !== '')(`PostgreSQL on a full disk does so too${skipped}`, async () => {
  const [disk, server] = [smallDisk(32), await startServer()];
  onTestFinished(() => server.stop());
  const space = join(disk.dir, 'space');
  mkdirSync(space);
  chownSync(space, NOBODY, NOBODY);
  await withClient(async (client) => {
    await client.query(`CREATE TABLESPACE small LOCATION '${space}'`);
    await client.query('ALTER ROLE postgres SET default_tablespace = small');
  }, server.url);
  await storeIsFull(await Party.open({ url: server.url, workflows }), disk);
});

it.skipIf(skipped !== '')(
  `a full disk of files keeps outputs waiting, and an upload leaves nothing${skipped}`,
  async () => {
    const disk = smallDisk(8);
    const schema = newSchema();
    onTestFinished(async () => void (await dropSchema(schema)));
    const party = await Party.open({ url: await databaseUrl(), schema, dataDir: disk.dir, workflows });
    const files = (directory: string) => readdirSync(join(disk.dir, 'blobs', directory));
    party.parts.sweeper.start();
    const worker = party.startWorker();
    const go = gate();
    run = async ({ input, saveArtifact }) => {
      await go.opened;
      if (input === 'named') await saveArtifact('report', 'x'.repeat(100_000), 'text/plain');
      return 'y'.repeat(input === 'named' ? 10 : 100_000);
    };
    const [named, output, cancelled] = [
      await party.accepted('named', { max_attempts: 1 }),
      await party.accepted('output', { max_attempts: 1 }),
      await party.accepted('cancelled', { max_attempts: 1 }),
    ];
    await expect.poll(() => worker.slotsTaken()).toBe(3);
    disk.fill();
    go.open();

    const upload = await party.ask('POST', '/uploads', 'z'.repeat(100_000));
    expect([upload.status, upload.json['code']]).toEqual([507, 'storage_full']);
    expect((await party.ask('GET', '/readyz')).status).toBe(507);
    expect((await party.cancel(cancelled)).status).toBe(200);
    await expect.poll(() => worker.slotsTaken()).toBe(2);
    const late = await party.accepted('late', { max_attempts: 1, timeout_ms: 200 });
    expect(await party.ended(late)).toMatchObject({ status: 'dead_letter', errors: ['timeout'] });
    await expect.poll(() => worker.slotsTaken()).toBe(2);
    expect([await party.statusOf(named), await party.statusOf(output)]).toEqual(['running', 'running']);

    disk.free();
    for (const job of [named, output]) expect(await party.ended(job)).toMatchObject(FIRST_TRY);
    expect([files('.temporary'), readdirSync(join(disk.dir, 'blobs')).includes('uploads')]).toEqual([
      [],
      false,
    ]);
    expect((await party.ask('POST', '/uploads', 'z'.repeat(100_000))).status).toBe(201);
    await judged(party);
  },
);
