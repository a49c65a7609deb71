/**
 * A process that shares a SQLite store with its parent. It plays the part that its second argument names and
 * tells its parent, over their channel, what the store has told it.
 */
import { DatabaseSync } from '@photostructure/sqlite';
import { createJiti } from 'jiti';

const [path = '', part = '', name = ''] = process.argv.slice(2);

/** @type {typeof import('../../src/stores/sqlite/store.ts')} */
const { openSqliteStore } = await createJiti(import.meta.url).import('../../src/stores/sqlite/store.ts');

const HOUR = 3_600_000;
const RULES = {
  backoff: { baseMs: 250, capMs: 60_000 },
  caps: { timeoutMs: HOUR, maxAttempts: 100, deadlineMs: 48 * HOUR },
};
const LANE = { workflow: 'demo', version: '1', outputSchemaSha256: 'schema-1' };
const BATCH = 5;
const own = { session: `ses_${name}`, worker: name, serial: 1 };

/** @param {unknown} message */
function tell(message) {
  return new Promise((resolve) => process.send?.(message, undefined, {}, resolve));
}

/** @param {string} expected */
function told(expected) {
  return new Promise((resolve) => {
    process.on('message', (message) => message === expected && resolve(undefined));
  });
}

/** @param {number} number */
function newJob(number) {
  return {
    jobId: `job_${name}_${number}`,
    tenant: 'default',
    workflow: LANE.workflow,
    workflowVersion: LANE.version,
    outputSchemaSha256: LANE.outputSchemaSha256,
    inputJson: JSON.stringify({ number }),
    inputRef: null,
    inputSha256: 'digest',
    requestedLimits: {},
    workflowLimits: {},
    runAt: null,
    priority: 0,
    spendingLimit: null,
    labels: {},
  };
}

/** @param {{ jobId: string, token: number }} job */
function completion({ jobId, token }) {
  const uri = `artifacts/${jobId}/${token}`;
  const artifact = { uri, sha256: 'digest', bytes: 3, mediaType: 'text/plain' };
  return {
    jobId,
    token,
    command: { type: /** @type {const} */ ('complete'), artifact, artifacts: [] },
    blobs: [{ uri, bytes: new Uint8Array([1, 2, 3]), mediaType: 'text/plain' }],
  };
}

/** Opens the store when it is told to, as the first or the second to touch the file. */
async function open() {
  await tell('ready');
  await told('go');
  const store = await openSqliteStore({ path, rules: RULES });
  await store.close();
}

/** Claims and completes until nothing is left, and tells which jobs it completed. */
async function drain() {
  const store = await openSqliteStore({ path, rules: RULES });
  const { jobs } = store;
  await jobs.openSession({ session: `ses_${name}`, worker: name, host: 'h', leaseMs: 60_000 });
  await tell('ready');
  await told('go');
  for (;;) {
    const claimed = await jobs.claim({ ...own, lanes: [LANE], limit: BATCH });
    if (claimed.jobs.length === 0) break;
    const settled = await jobs.settle(claimed.jobs.map(completion));
    await tell(settled.map((one) => one.moved?.jobId ?? one.refused));
  }
  await store.close();
}

/** Enqueues and completes for ever, and tells of each acceptance and each completion once it is durable. */
async function labour() {
  const { jobs } = await openSqliteStore({ path, rules: RULES });
  await jobs.openSession({ session: `ses_${name}`, worker: name, host: 'h', leaseMs: 60_000 });
  for (let number = 0; ; number += BATCH) {
    const wanted = Array.from({ length: BATCH }, (_, index) => newJob(number + index));
    await jobs.enqueue(wanted.map((job) => ({ jobs: [job], idempotency: null })));
    await tell({ accepted: wanted.map((job) => job.jobId) });
    const claimed = await jobs.claim({ ...own, lanes: [LANE], limit: BATCH - 1 });
    const settled = await jobs.settle(claimed.jobs.map(completion));
    await tell({ completed: settled.flatMap((one) => one.moved?.jobId ?? []) });
  }
}

/** Holds the write lock until it is told to let go. */
async function hold() {
  const db = new DatabaseSync(path);
  db.exec('BEGIN IMMEDIATE');
  await tell('ready');
  await told('go');
  db.exec('COMMIT');
  db.close();
}

const PARTS = { open, drain, labour, hold };
await PARTS[/** @type {keyof typeof PARTS} */ (part)]();
process.disconnect();
