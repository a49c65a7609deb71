/** Where a fault run keeps its store, how its processes and its judge find it, and what can be done to the database itself. */
import { Client } from 'pg';
import { DEFAULT_BACKOFF, DEFAULT_CAPS } from '../../domain/policy.ts';
import type { Store } from '../../ports/store.ts';
import { openPostgresStore } from '../../stores/postgres/store.ts';
import { openSqliteStore } from '../../stores/sqlite/store.ts';

const RULES = { backoff: DEFAULT_BACKOFF, caps: DEFAULT_CAPS };

export interface Ground {
  name: 'sqlite' | 'postgres';
  /** What the processes need besides their data directory, as flags. */
  settings: Readonly<Record<string, string>>;
  openStore(): Promise<Store>;
  /** Ends some connections of the processes, from the server's side. */
  cut?: () => Promise<void>;
  /** Ends the database's server as a crash would, and starts it again `awayMs` later. */
  restart?: (awayMs: number) => Promise<void>;
}

export function sqliteGround(dataDir: string): Ground {
  return { name: 'sqlite', settings: {}, openStore: () => openSqliteStore({ dataDir, rules: RULES }) };
}

/** @param restart where the server is the run's own */
export function postgresGround(url: string, schema: string, restart?: Ground['restart']): Ground {
  const application = `claimcheck ${schema}`;
  const ofProcesses = new URL(url);
  ofProcesses.searchParams.set('application_name', application);
  return {
    name: 'postgres',
    settings: { 'database-url': ofProcesses.href, schema },
    openStore: () => openPostgresStore({ url, schema, rules: RULES }),
    cut: () => cut(url, application),
    ...(restart === undefined ? {} : { restart }),
  };
}

const CUT = `
  SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE application_name = $1 AND random() < 0.3`;

async function cut(url: string, application: string): Promise<void> {
  const client = new Client({ connectionString: url });
  client.on('error', () => {}); // whoever waits for it hears of it as well
  await client.connect();
  try {
    await client.query(CUT, [application]);
  } finally {
    await client.end();
  }
}
