/** Where a fault run keeps its store, and how its processes and its judge find it. */
import { DEFAULT_BACKOFF, DEFAULT_CAPS } from '../../domain/policy.ts';
import type { Store } from '../../ports/store.ts';
import { openPostgresStore } from '../../stores/postgres/store.ts';
import { openSqliteStore } from '../../stores/sqlite/store.ts';

const RULES = { backoff: DEFAULT_BACKOFF, caps: DEFAULT_CAPS };

export interface Ground {
  /** For messages: `postgres`. */
  name: string;
  /** What the processes need besides their data directory, as flags. */
  settings: Readonly<Record<string, string>>;
  openStore(): Promise<Store>;
}

export function sqliteGround(dataDir: string): Ground {
  return { name: 'sqlite', settings: {}, openStore: () => openSqliteStore({ dataDir, rules: RULES }) };
}

export function postgresGround(url: string, schema: string): Ground {
  return {
    name: 'postgres',
    settings: { 'database-url': url, schema },
    openStore: () => openPostgresStore({ url, schema, rules: RULES }),
  };
}
