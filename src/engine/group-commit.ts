/**
 * Group commit: what is asked for while one transaction is under way shares the next. Each caller's promise
 * settles with its own result after the commit that held it.
 *
 * A fault of the store is everybody's. Any other error is the fault of some item: the transaction was undone, so each
 * item is written alone, and the error reaches its own caller only.
 */
import { isPassing } from './faults.ts';

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

  async function write(batch: typeof waiting): Promise<void> {
    try {
      const results = await commit(batch.map(({ item }) => item));
      batch.forEach(({ resolve }, index) => resolve(results[index] as Result));
    } catch (error) {
      if (batch.length > 1 && !isPassing(error)) {
        for (const one of batch) await write([one]);
      } else {
        for (const { reject } of batch) reject(error);
      }
    }
  }

  async function drain(): Promise<void> {
    while (waiting.length > 0) await write(takeBatch());
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
