/** The database of this run of the tests, a schema in it for each test, and stores whose clock stands still until it is moved. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { Client } from 'pg';
import { inject } from 'vitest';
import type { Store } from '../../src/ports/store.ts';
import { openPostgresStore } from '../../src/stores/postgres/store.ts';
import type { OpenedStore } from '../../src/testkit/store/fixture.ts';
import { RULES } from '../../src/testkit/store/sqlite.ts';

const START = Date.UTC(2026, 0, 1);

let known: Promise<string> | null = null;
let lastSchema = 0;

export function databaseUrl(): Promise<string> {
  known ??= ask();
  return known;
}

async function ask(): Promise<string> {
  const socket = connect(inject('databaseDesk'), '127.0.0.1').setEncoding('utf8');
  let answer = '';
  socket.on('data', (text: string) => {
    answer += text;
  });
  await once(socket, 'end');
  if (answer.startsWith('error: ')) throw new Error(answer.slice('error: '.length));
  return answer;
}

/** A name that no other test of this run has; the schema is made by whoever opens a store in it. */
export function newSchema(): string {
  lastSchema += 1;
  return `test_${process.pid}_${Date.now().toString(36)}_${lastSchema}`;
}

export async function withClient<T>(body: (client: Client) => Promise<T>, url?: string): Promise<T> {
  const client = new Client({ connectionString: url ?? (await databaseUrl()) });
  await client.connect();
  try {
    return await body(client);
  } finally {
    await client.end();
  }
}

export function dropSchema(schema: string): Promise<unknown> {
  return withClient((client) =>
    client.query(`SET client_min_messages = warning; DROP SCHEMA IF EXISTS "${schema}" CASCADE`),
  );
}

/** The database's clock itself is replaced, in the schema of the test alone, by one that a row holds. */
export async function openPostgresForTest(): Promise<OpenedStore & { schema: string }> {
  const url = await databaseUrl();
  const schema = newSchema();
  const store = await openPostgresStore({ url, schema, rules: RULES });
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(`
    CREATE TABLE "${schema}".stopped_clock (ms bigint);
    INSERT INTO "${schema}".stopped_clock VALUES (${START});
    CREATE OR REPLACE FUNCTION "${schema}".now_ms() RETURNS bigint LANGUAGE sql VOLATILE
      AS 'SELECT ms FROM "${schema}".stopped_clock'`);
  let moved: Promise<unknown> = Promise.resolve();
  return {
    schema,
    store: afterEach(store, () => moved),
    advance: (ms) => {
      moved = client.query(`UPDATE "${schema}".stopped_clock SET ms = ms + ${ms}`);
    },
    async dispose() {
      await store.close();
      await client.query(`SET client_min_messages = warning; DROP SCHEMA "${schema}" CASCADE`);
      await client.end();
    },
  };
}

/** The store, of which every verb first waits until the clock was moved. */
function afterEach(store: Store, moved: () => Promise<unknown>): Store {
  const waiting = <Part extends object>(part: Part): Part =>
    new Proxy(part, {
      get(target, name) {
        const verb = Reflect.get(target, name) as (...args: unknown[]) => Promise<unknown>;
        return async (...args: unknown[]) => {
          await moved();
          return verb(...args);
        };
      },
    });
  const { jobs, ledger, evidence, keys, uploads } = store;
  return {
    ...store,
    jobs: waiting(jobs),
    ledger: waiting(ledger),
    evidence: waiting(evidence),
    keys: waiting(keys),
    uploads: waiting(uploads),
  };
}
