/**
 * Takes from several sources in turn, so that a full one does not starve the others. Where fewer are wanted than
 * there are sources, the next call goes on behind the one that was served last.
 */
export class Turns<Key extends number | string> {
  #lastServed: Key | null = null;

  /**
   * @param sources in the order of their keys, each with something to give at first
   * @param take takes up to `limit` from a source and says how many it gave; fewer mean that it is empty
   */
  take<Source extends { key: Key }>(
    sources: readonly Source[],
    limit: number,
    take: (source: Source, limit: number) => number,
  ): number {
    let open = this.#rotated(sources);
    let taken = 0;
    while (open.length > 0 && taken < limit) {
      const share = Math.max(1, Math.floor((limit - taken) / open.length));
      const stillOpen: Source[] = [];
      for (const source of open) {
        if (taken === limit) break;
        const given = take(source, Math.min(share, limit - taken));
        taken += given;
        if (given > 0) this.#lastServed = source.key;
        if (given === share) stillOpen.push(source);
      }
      open = stillOpen;
    }
    return taken;
  }

  #rotated<Source extends { key: Key }>(sources: readonly Source[]): Source[] {
    const last = this.#lastServed;
    const next = last === null ? 0 : sources.findIndex((source) => source.key > last);
    return next <= 0 ? [...sources] : [...sources.slice(next), ...sources.slice(0, next)];
  }
}
