/**
 * Group commit: what is asked for while one transaction is under way shares the next. Each caller's promise
 * settles with its own result after the commit that held it.
 */
export function groupCommit<Item, Result>(
  commit: (items: Item[]) => Promise<Result[]>,
  options: { maxWeight: number; weigh?: (item: Item) => number },
): (item: Item) => Promise<Result> {
  const weigh = options.weigh ?? (() => 1);
  const waiting: { item: Item; resolve: (result: Result) => void; reject: (error: unknown) => void }[] = [];
  let underway = false;

  /** At least one item, and as many more as the weight allows. */
  function takeBatch() {
    let weight = 0;
    let count = 0;
    for (const { item } of waiting) {
      weight += weigh(item);
      if (count > 0 && weight > options.maxWeight) break;
      count += 1;
    }
    return waiting.splice(0, count);
  }

  async function drain(): Promise<void> {
    while (waiting.length > 0) {
      const batch = takeBatch();
      try {
        const results = await commit(batch.map(({ item }) => item));
        batch.forEach(({ resolve }, index) => resolve(results[index] as Result));
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    underway = false;
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      if (underway) return;
      underway = true;
      setImmediate(() => void drain()); // callers of the same turn of the event loop share the first commit too
    });
}
