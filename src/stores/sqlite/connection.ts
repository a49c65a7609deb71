/**
 * One connection to the file, and the way every verb goes through it.
 *
 * The driver is synchronous, so a transaction runs from its BEGIN to its COMMIT without any other verb of this
 * process in between. Only the wait for another process's write lock is asynchronous: SQLite itself waits a few
 * milliseconds, since that wait blocks the event loop, and then the verb sleeps for a random while and tries again.
 * Writers of this process queue up behind each other, so that only the first of them tries.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { DatabaseSyncInstance, StatementSyncInstance } from '@photostructure/sqlite';
import { StoreUnavailableError } from '../../ports/job-store.ts';
import { asStoreError, isBusy } from './errors.ts';

/** How long SQLite itself may wait for a lock, blocking the event loop. */
export const BLOCKING_WAIT_MS = 10;

const RETRY_MIN_MS = 2;
const RETRY_SPREAD_MS = 6;

export class Connection {
  readonly db: DatabaseSyncInstance;
  readonly #control: Record<'read' | 'write' | 'commit' | 'mark' | 'keep', StatementSyncInstance>;
  readonly #busyMs: number;
  readonly #onRollback: (() => void)[] = [];
  readonly #closing = new AbortController();
  /** Settled when the last writer in the queue is done; null where nobody writes. */
  #lastWriter: Promise<void> | null = null;

  constructor(db: DatabaseSyncInstance, busyMs: number) {
    this.db = db;
    this.#control = {
      read: db.prepare('BEGIN'),
      write: db.prepare('BEGIN IMMEDIATE'),
      commit: db.prepare('COMMIT'),
      mark: db.prepare('SAVEPOINT attempt'),
      keep: db.prepare('RELEASE attempt'),
    };
    this.#busyMs = busyMs;
  }

  /** Calls `listener` where a transaction was undone, or an attempt within one: what was remembered of it is not so. */
  onRollback(listener: () => void): void {
    this.#onRollback.push(listener);
  }

  /** Runs `body` on one snapshot. It takes no lock that a writer waits for. */
  async read<T>(body: () => T): Promise<T> {
    return await this.patiently(() => this.#transaction(this.#control.read, body));
  }

  /**
   * Runs `body` alone: nobody else writes between its BEGIN and its COMMIT, and the commit is on the disk.
   *
   * @param committed called once it is, before anything else happens
   */
  async write<T>(body: () => T, committed: () => void = () => {}): Promise<T> {
    const deadline = this.#deadline();
    const before = this.#lastWriter;
    let done = () => {};
    const turn = new Promise<void>((resolve) => {
      done = resolve;
    });
    this.#lastWriter = turn;
    try {
      if (before !== null) await before;
      const transaction = () => {
        const result = this.#transaction(this.#control.write, body);
        committed();
        return result;
      };
      return await this.patiently(transaction, deadline);
    } finally {
      if (this.#lastWriter === turn) this.#lastWriter = null;
      done();
    }
  }

  /** Only within a write: runs `body`, and undoes what it wrote where it says that it was not to be. */
  attempt(body: () => boolean): boolean {
    this.#control.mark.get();
    const kept = body();
    if (!kept) {
      this.db.exec('ROLLBACK TO attempt');
      this.#tellOfRollback();
    }
    this.#control.keep.get();
    return kept;
  }

  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort();
    await this.#lastWriter;
    this.db.close();
  }

  #deadline(): number {
    return performance.now() + this.#busyMs;
  }

  /** Runs `attempt` outside of a transaction of its own; again and again while another connection is in its way. */
  async patiently<T>(attempt: () => T, deadline = this.#deadline()): Promise<T> {
    for (;;) {
      if (this.#closing.signal.aborted) throw new StoreUnavailableError('the store was closed');
      try {
        return attempt();
      } catch (error) {
        if (!isBusy(error) || performance.now() >= deadline) throw asStoreError(error);
      }
      await this.#pause();
    }
  }

  async #pause(): Promise<void> {
    const ms = RETRY_MIN_MS + Math.random() * RETRY_SPREAD_MS;
    await sleep(ms, undefined, { signal: this.#closing.signal }).catch(() => {});
  }

  #transaction<T>(begin: StatementSyncInstance, body: () => T): T {
    begin.get();
    try {
      const result = body();
      this.#control.commit.get();
      return result;
    } catch (error) {
      this.#undo();
      throw error;
    }
  }

  /** After some errors (a full disk, an I/O error) SQLite has undone the transaction itself. */
  #undo(): void {
    if (this.db.isTransaction) this.db.exec('ROLLBACK');
    this.#tellOfRollback();
  }

  #tellOfRollback(): void {
    for (const listener of this.#onRollback) listener();
  }
}
