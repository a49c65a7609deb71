/** Time as the engine uses it, so that tests can move it. */
export interface Clock {
  /** Milliseconds since 1970. For logs and file names only: leases, due times and deadlines are the store's. */
  now(): number;
  /** Milliseconds that never jump. */
  monotonicMs(): number;
  /** Calls back once after `ms`; the returned function cancels. Does not keep the process alive by itself where `unref` is set. */
  after(ms: number, callback: () => void, options?: { unref?: boolean }): () => void;
}
