/**
 * Group commit: what is asked for while one transaction is under way shares the next. Each caller's promise
 * settles with its own result after the commit that held it.
 *
 * While a caller's promise is open, a crash of the process may lose what it asked for; once it has resolved, it is on the disk.
 * What waits is bounded, so that a store which stalls costs callers an error and not the process its memory.
 *
 * A fault of the store is everybody's. Any other error is the fault of some item: the transaction was undone, so each
 * item is written alone, and the error reaches its own caller only.
 */
import { StoreUnavailableError } from '../ports/job-store.ts';
import { isPassing } from './faults.ts';

interface GroupCommitOptions<Item> {
  /** Of one commit; an item heavier than that goes alone. */
  maxWeight: number;
  /** Of all items that wait for their commit to begin; beyond it they are refused as unavailable. Unbounded by default. */
  maxWaiting?: number;
  /** With so many items that wait it begins at once, not at the end of the turn: what many callers hold until then is dear to keep. */
  enough?: number;
  /** So many commits may be under way at the same time; 1 by default. */
  inFlight?: number;
  /** 1 by default. */
  weigh?: (item: Item) => number;
}

export function groupCommit<Item, Result>(
  commit: (items: Item[]) => Promise<Result[]>,
  options: GroupCommitOptions<Item>,
): (item: Item) => Promise<Result> {
  const { maxWeight, maxWaiting = Infinity, enough = Infinity, inFlight = 1, weigh = () => 1 } = options;
  const waiting: { item: Item; resolve: (result: Result) => void; reject: (error: unknown) => void }[] = [];
  let waitingWeight = 0;
  /** How many items each commit under way holds. */
  const underway: number[] = [];
  let awaitsTurn = false;

  /** At least one item, and as many more as the weight allows. */
  function takeBatch() {
    let weight = 0;
    let count = 0;
    for (const { item } of waiting) {
      const own = weigh(item);
      if (count > 0 && weight + own > maxWeight) break;
      weight += own;
      count += 1;
    }
    waitingWeight -= weight;
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
    while (mayBegin()) {
      const batch = takeBatch();
      underway.push(batch.length);
      await write(batch);
      underway.splice(underway.indexOf(batch.length), 1);
    }
  }

  /** Beside another one a commit begins once as many wait as that one holds: many small ones cost more than they gain. */
  function mayBegin(): boolean {
    const { length } = waiting;
    return length > 0 && underway.length < inFlight && underway.every((size) => length >= size);
  }

  /** Callers of the same turn of the event loop share the first commit too. */
  function drainAfterTurn(): void {
    if (awaitsTurn || !mayBegin()) return;
    awaitsTurn = true;
    setImmediate(() => {
      awaitsTurn = false;
      void drain();
    });
  }

  return (item) =>
    new Promise((resolve, reject) => {
      const weight = weigh(item);
      if (waiting.length > 0 && waitingWeight + weight > maxWaiting)
        return reject(new StoreUnavailableError('more waits to be written than the store takes'));
      waiting.push({ item, resolve, reject });
      waitingWeight += weight;
      if (waiting.length >= enough) void drain();
      else drainAfterTurn();
    });
}
