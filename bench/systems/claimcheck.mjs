/**
 * Ours: the package as it is published, through `openClaimcheck`, with its defaults but for one setting: `concurrency`
 * (docs/settings.md), since functions that end at once keep a hundred slots no longer than a claim takes.
 */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { z } from 'zod';

/** @import { OpenOptions, Run, System } from '../types.ts' */

const PACKAGE = new URL('../../dist/index.js', import.meta.url);
const { defineWorkflow, openClaimcheck } = /** @type {typeof import('../../src/index.ts')} */ (
  await import(PACKAGE.href)
);

/** On a server one batch is claimed while another runs and a third is settled; a file has one writer at a time. */
const IN_FLIGHT = { server: 1500, file: 1000 };
const SHORTEST_LEASE_MS = 500;
/** Every job that has not ended is in one of these. */
const TABLES = ['ready', 'scheduled', 'leases'];

/** @param {OpenOptions} options @returns {Promise<System>} */
export async function open(options) {
  const { url, directory, recovery = 'default' } = options;
  const { inFlight = url === null ? IN_FLIGHT.file : IN_FLIGHT.server } = options;
  /** @type {Run} */
  let run = () => null;
  const workflow = defineWorkflow({
    name: 'bench',
    version: '1',
    input: z.object({ text: z.string(), sentMs: z.number().optional() }),
    output: z.object({ summary: z.string() }).nullable(),
    run: async ({ input: { text, sentMs } }) =>
      /** @type {{ summary: string } | null} */ (
        await run(sentMs === undefined ? { text } : { text, sentMs })
      ),
  });
  const claimcheck = await openClaimcheck({
    dataDir: directory,
    ...(url === null ? {} : { databaseUrl: url }),
    workflows: [workflow],
    settings: {
      concurrency: inFlight,
      ...(recovery === 'shortest' ? { leaseMs: SHORTEST_LEASE_MS } : {}),
    },
  });

  const look = url === null ? await lookAtFile(directory) : await lookAtServer(url);
  return {
    enqueue: (input) => claimcheck.enqueue(workflow, input),
    // Callers of the same moment share a commit.
    enqueueMany: (inputs) => Promise.all(inputs.map((input) => claimcheck.enqueue(workflow, input))),
    async work(given) {
      run = given;
      claimcheck.worker().start();
    },
    isDrained: async () => !(await look.isAnyLeft()),
    async close() {
      await look.close();
      await claimcheck.close();
    },
  };
}

/**
 * Whether the queue is empty is asked beside it, as of the peers that do not say; by the driver that the package has loaded
 * already: the bench's own `pg` would be a second one in the process.
 *
 * @param {string} url
 */
async function lookAtServer(url) {
  const { Client } = /** @type {typeof import('pg')} */ (createRequire(PACKAGE)('pg'));
  const client = new Client({ connectionString: url });
  await client.connect();
  const sql = anyOf(TABLES.map((table) => `claimcheck.${table}`));
  return {
    isAnyLeft: async () => (await client.query(sql)).rows.length > 0,
    close: () => client.end(),
  };
}

/** @param {string} directory */
async function lookAtFile(directory) {
  const { DatabaseSync } = await import('@photostructure/sqlite');
  const db = new DatabaseSync(join(directory, 'claimcheck.db'));
  const look = db.prepare(anyOf(TABLES));
  return {
    isAnyLeft: async () => look.get() !== undefined,
    close: async () => db.close(),
  };
}

/** @param {readonly string[]} tables */
function anyOf(tables) {
  return `SELECT 1 WHERE ${tables.map((table) => `EXISTS (SELECT 1 FROM ${table})`).join(' OR ')}`;
}
