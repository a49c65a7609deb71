/**
 * As much of the interface of better-sqlite3 as plainjob and liteque use, over the SQLite that Claimcheck runs on: the same library and the
 * same driver for everybody, and nothing to compile at the first run. (The package itself brings no binary for every Node; liteque's
 * runner needs one older than 11.10, which lets its asynchronous transactions pass. A job cost the same processor time with it.)
 */
import { DatabaseSync } from '@photostructure/sqlite';

/** @typedef {string | number | bigint | null | Uint8Array} Value */
/** @typedef {(...args: never[]) => unknown} Body */

export default class Database {
  #db;
  /** @param {string} path */
  constructor(path) {
    this.name = path;
    this.#db = new DatabaseSync(path);
  }

  /** @param {string} sql */
  exec(sql) {
    this.#db.exec(sql);
    return this;
  }

  /** @param {string} statement */
  pragma(statement) {
    return /** @type {unknown[]} */ (this.#db.prepare(`PRAGMA ${statement}`).all());
  }

  /** @param {string} sql */
  prepare(sql) {
    const statement = this.#db.prepare(sql);
    return Object.assign(statement, {
      /** Rows as arrays from now on. */
      raw() {
        statement.setReturnArrays(true);
        return this;
      },
    });
  }

  /** @param {Body} body */
  transaction(body) {
    const within =
      (/** @type {string} */ kind) =>
      (/** @type {never[]} */ ...args) => {
        this.#db.exec(`BEGIN ${kind}`);
        try {
          const result = body(...args);
          this.#db.exec('COMMIT');
          return result;
        } catch (error) {
          this.#db.exec('ROLLBACK');
          throw error;
        }
      };
    return Object.assign(within('DEFERRED'), {
      deferred: within('DEFERRED'),
      immediate: within('IMMEDIATE'),
      exclusive: within('EXCLUSIVE'),
    });
  }

  close() {
    this.#db.close();
  }
}
