/**
 * The store's connections, and the way every statement takes over them.
 *
 * Each verb is made of statements that are whole by themselves: each runs in a transaction of its own, applies a move only
 * where its job is still in the state that was read, and tells which it applied. So nothing is held between two
 * statements, any of the pool's connections may take the next, and a pooler in transaction mode may stand in between.
 *
 * Straight to a server, statements stay prepared and their plans are pinned: the tables of a queue swing between empty and
 * full, and a plan made for one is a disaster for the other. Behind a pooler a session's settings would reach somebody else,
 * so there are none. Which of the two it is shows in the backend's process id, which a pooler cannot pass on.
 * An acknowledgement is a commit on the disk, also where a role's settings would have it otherwise.
 *
 * A machine that goes says nothing: its connections stay open, and whatever is sent over them is never answered. So once
 * a statement was not answered in time, every connection that has not been heard of since it was sent is replaced, too.
 */
import { Pool, types as standardTypes } from 'pg';
import type { ClientBase, ClientConfig, PoolClient } from 'pg';
import { StoreUnavailableError } from '../../ports/job-store.ts';
import { asStoreError, isContended, isUnanswered, leavesConnectionUsable } from './errors.ts';
import type { Prepared, SqlValue } from './statements.ts';

/** One for each group commit, some for readers: what a process has in flight shares transactions. */
const POOL_SIZE = 7;
const CONNECT_MS = 5000;
const STATEMENT_MS = 10_000;
/** The server gives up first, so that the reason is its own. */
const CLIENT_MS = STATEMENT_MS + 1000;
const IDLE_MS = 60_000;
const CLOSE_MS = 2000;
const CONTENDED_TRIES = 5;

const PINNED = `
  SET plan_cache_mode = force_generic_plan; SET jit = off;
  SET enable_seqscan = off; SET enable_mergejoin = off;
  SET default_transaction_isolation = 'read committed'; SET statement_timeout = ${STATEMENT_MS};
  SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'`;

export interface Answer {
  rows: SqlValue[][];
  rowCount: number | null;
  fields: { name: string }[];
}

/** As much of a connection as a statement needs: `pg`'s own Client and PoolClient are such. */
export interface Executor {
  query(query: object): Promise<unknown>;
}

const INT8 = 20;

/** Numbers of 64 bits come as numbers: none of ours passes 2^53. */
const types = {
  getTypeParser(oid: Parameters<typeof standardTypes.getTypeParser>[0]): unknown {
    const wide: number = oid;
    return wide === INT8 ? Number : standardTypes.getTypeParser(oid);
  },
};

export class Connection {
  readonly schema: string;
  /** Where workers on other machines are told of what concerns them. */
  readonly channel: string;
  readonly #pool: Pool;
  readonly #greeted = new WeakSet<ClientBase>();
  readonly #pooled = new WeakSet<ClientBase>();
  readonly #busy = new Set<PoolClient>();
  readonly #heardAt = new WeakMap<ClientBase, number>();
  readonly #onBreak: (() => void)[] = [];
  /** When the last statement was sent that was not answered in time. */
  #unansweredFrom = 0;
  #closing: Promise<void> | null = null;

  constructor(url: string, schema: string) {
    this.schema = schema;
    this.channel = `${schema}_ready`;
    this.#pool = new Pool({
      ...clientConfig(url),
      max: POOL_SIZE,
      idleTimeoutMillis: IDLE_MS,
    });
    // At once: a server that ends a connection as soon as it is ready says so before anybody has taken it.
    this.#pool.on('connect', (client) => client.on('error', () => {})); // the statement under way hears of it as well
    this.#pool.on('error', () => this.#broken()); // an idle connection that broke is replaced when one is needed
  }

  /** Calls `listener` where a connection broke: what answers next may be a standby, or a database that was restored. */
  onBreak(listener: () => void): void {
    this.#onBreak.push(listener);
  }

  /** @param on where it is somebody else's transaction: nothing is prepared there, tried again or translated */
  async run(statement: Prepared, values: SqlValue[], on?: Executor): Promise<Answer> {
    const { text, withinMs } = statement;
    const query = {
      text,
      values,
      rowMode: 'array',
      types,
      ...(withinMs === undefined ? {} : { query_timeout: withinMs }),
    };
    if (on !== undefined) return (await on.query(query)) as Answer;
    const answer = await this.withClient((client: PoolClient & Executor) =>
      client.query(this.#pooled.has(client) ? query : { ...query, name: statement.name }),
    );
    return answer as Answer;
  }

  /** Gives `body` a connection of its own; again where the server undid its work because of others. */
  async withClient<T>(body: (client: PoolClient) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#once(body);
      } catch (error) {
        if (!isContended(error) || attempt === CONTENDED_TRIES) throw asStoreError(error);
      }
    }
  }

  /** Resolves in bounded time; statements still under way then are cut off. */
  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  async #once<T>(body: (client: PoolClient) => Promise<T>): Promise<T> {
    if (this.#closing !== null) throw new StoreUnavailableError('the store was closed');
    const client = await this.#connect();
    const from = performance.now();
    this.#busy.add(client);
    let usable = true;
    try {
      if (!this.#greeted.has(client)) await this.#greet(client);
      return await body(client);
    } catch (error) {
      usable = leavesConnectionUsable(error);
      if (isUnanswered(error)) this.#unansweredFrom = from;
      if (!usable) this.#broken();
      throw error;
    } finally {
      this.#busy.delete(client);
      if (usable) this.#heardAt.set(client, performance.now());
      client.release(!usable);
    }
  }

  async #connect(): Promise<PoolClient> {
    for (;;) {
      const client = await this.#pool.connect();
      const heardAt = this.#heardAt.get(client) ?? Number.POSITIVE_INFINITY;
      if (heardAt >= this.#unansweredFrom) return client;
      client.release(true);
    }
  }

  #broken(): void {
    for (const listener of this.#onBreak) listener();
  }

  async #greet(client: ClientBase): Promise<void> {
    if (await isBehindPooler(client)) this.#pooled.add(client);
    else await client.query(PINNED);
    this.#greeted.add(client);
  }

  async #end(): Promise<void> {
    const ended = this.#pool.end();
    const cut = setTimeout(() => {
      for (const client of this.#busy) destroy(client);
    }, CLOSE_MS);
    await ended.finally(() => clearTimeout(cut));
  }
}

export function clientConfig(url: string): ClientConfig {
  return {
    connectionString: url,
    application_name: 'claimcheck',
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: CLIENT_MS,
    keepAlive: true,
  };
}

/** The server tells its process id when a connection begins; a pooler makes one up. */
export async function isBehindPooler(client: ClientBase): Promise<boolean> {
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  return rows[0]?.pid !== (client as unknown as { processID: number }).processID;
}

/** Ends a connection without waiting for the statement under way. */
export function destroy(client: ClientBase): void {
  (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
}
