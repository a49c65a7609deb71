/** The same drain under a burden: behind a long history, and while somebody else's transaction stays open. */
import { join } from 'node:path';
import { readdirSync } from 'node:fs';
import { DatabaseSync } from '@photostructure/sqlite';
import { Client } from 'pg';
import { nowMs } from '../lib/clock.mjs';
import { fillAndDrain } from './drain.mjs';

/** @import { Place } from '../types.ts' */
/** @import { Ground } from '../lib/places.mjs' */
/** @import { Numbers } from '../lib/race.mjs' */

/**
 * Works under an open transaction (or without one) for `ms`, and then drains a full queue under it.
 *
 * @param {Ground} ground
 * @param {string} system
 * @param {{ jobs: number, warm: number, ms: number, stretch: number, held: boolean }} options `stretch`: jobs between two looks at the clock
 * @returns {Promise<Numbers>}
 */
export async function drainAfter(ground, system, { jobs, warm, ms, stretch, held }) {
  await fillAndDrain(ground, system, { jobs: stretch / 10, warm: 0 });
  const release = held ? await holdTransaction(ground.place) : async () => {};
  try {
    for (const untilMs = nowMs() + ms; nowMs() < untilMs; ) {
      await fillAndDrain(ground, system, { jobs: stretch, warm: 0 });
    }
    return await fillAndDrain(ground, system, { jobs, warm });
  } finally {
    await release();
  }
}

/**
 * Opens a transaction that has read something, and leaves it idle: no row that was there then can be removed.
 *
 * @param {Place} place
 * @returns {Promise<() => Promise<void>>} what ends it
 */
async function holdTransaction({ url, directory }) {
  if (url !== null) {
    const client = new Client({ connectionString: url });
    client.on('error', () => {}); // whoever is measured hears of it as well
    await client.connect();
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    await client.query('SELECT count(*) FROM pg_class');
    return () => client.end();
  }
  const file = readdirSync(directory).find((name) => name.endsWith('.db')) ?? '';
  const db = new DatabaseSync(join(directory, file));
  db.exec('BEGIN');
  db.prepare('SELECT count(*) FROM sqlite_schema').get();
  return async () => db.close();
}
