/**
 * Which evidence has had its time. The bytes that a store keeps itself go with a mark on the responses of calls; those in
 * files go after it, by whoever saw the mark, so that a crash in between leaves a mark that is found again, and no bytes.
 */
export interface EvidenceStore {
  /**
   * Jobs that ended longer ago than `olderThanMs` and whose calls have responses with bytes, and those whose responses are marked while
   * bytes may still be there; by their oldest call.
   */
  old(params: { olderThanMs: number; limit: number }): Promise<{ jobId: string; tenant: string }[]>;

  /**
   * Marks the responses of a job that ended so long ago as erased, and deletes the bytes at `uris` that the store keeps itself.
   * Nothing is changed where it runs again by now.
   */
  erase(params: { jobId: string; olderThanMs: number; uris: readonly string[] }): Promise<void>;

  /** Of the responses of a job that are marked, no bytes are left anywhere. */
  gone(params: { jobId: string }): Promise<void>;
}
