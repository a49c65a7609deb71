/** SQLite stores for tests: real files in a temporary directory, with a clock that stands still until it is moved. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DEFAULT_BACKOFF, DEFAULT_CAPS } from '../../domain/policy.ts';
import { openSqliteStore } from '../../stores/sqlite/store.ts';
import type { OpenedStore } from './fixture.ts';

export const RULES = { backoff: DEFAULT_BACKOFF, caps: DEFAULT_CAPS };

const START = Date.UTC(2026, 0, 1);

export async function openSqliteForTest(): Promise<OpenedStore> {
  const directory = await mkdtemp(join(tmpdir(), 'claimcheck-store-'));
  let now = START;
  const store = await openSqliteStore({
    path: join(directory, 'claimcheck.db'),
    rules: RULES,
    now: () => now,
  });
  return {
    store,
    advance: (ms) => {
      now += ms;
    },
    dispose: async () => {
      await store.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
