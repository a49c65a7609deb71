import { expect, it } from 'vitest';
import { StoreUnavailableError } from '../ports/job-store.ts';
import { groupCommit } from './group-commit.ts';

/** A commit that is under way until it is told to end. */
function gatedCommit() {
  const batches: string[][] = [];
  const gates: ((error?: Error) => void)[] = [];
  const commit = (items: string[]) =>
    new Promise<string[]>((resolve, reject) => {
      batches.push(items);
      gates.push((error) =>
        error === undefined ? resolve(items.map((item) => item.toUpperCase())) : reject(error),
      );
    });
  const nextTurn = () => new Promise((resolve) => setImmediate(resolve));
  return { batches, gates, commit, nextTurn };
}

it('callers of one turn share a commit, and those who come during it share the next', async () => {
  const { batches, gates, commit, nextTurn } = gatedCommit();
  const write = groupCommit(commit, { maxWeight: 100 });
  const first = [write('a'), write('b')];
  await nextTurn();
  const second = [write('c'), write('d'), write('e')];
  expect(batches).toEqual([['a', 'b']]);
  gates[0]?.();
  expect(await Promise.all(first)).toEqual(['A', 'B']);
  expect(batches).toEqual([
    ['a', 'b'],
    ['c', 'd', 'e'],
  ]);
  gates[1]?.();
  expect(await Promise.all(second)).toEqual(['C', 'D', 'E']);
});

it('begins beside another commit once as many wait as that one holds, and never a third', async () => {
  const { batches, gates, commit, nextTurn } = gatedCommit();
  const write = groupCommit(commit, { maxWeight: 100, inFlight: 2 });
  const written = ['a', 'b'].map(write);
  await nextTurn();
  written.push(write('c'));
  await nextTurn();
  expect(batches).toEqual([['a', 'b']]);
  written.push(write('d'));
  await nextTurn();
  written.push(...['e', 'f', 'g'].map(write));
  await nextTurn();
  expect(batches).toEqual([
    ['a', 'b'],
    ['c', 'd'],
  ]);
  gates[0]?.();
  await nextTurn();
  expect(batches.slice(2)).toEqual([['e', 'f', 'g']]);
  for (const gate of gates) gate();
  expect(await Promise.all(written)).toEqual(['A', 'B', 'C', 'D', 'E', 'F', 'G']);
});

it('begins in the middle of a turn once enough wait', async () => {
  const { batches, gates, commit, nextTurn } = gatedCommit();
  const write = groupCommit(commit, { maxWeight: 100, enough: 2 });
  const written = ['a', 'b', 'c'].map(write);
  expect(batches).toEqual([['a', 'b']]);
  gates[0]?.();
  await nextTurn();
  gates[1]?.();
  expect(await Promise.all(written)).toEqual(['A', 'B', 'C']);
});

it('an item that cannot be written fails alone: the others of its commit are written', async () => {
  const write = groupCommit(
    async (items: string[]) => {
      if (items.includes('poison')) throw new TypeError('cannot be bound');
      return items;
    },
    { maxWeight: 100 },
  );
  const written = await Promise.allSettled(['a', 'poison', 'b'].map(write));
  expect(written.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
});

it('a commit that fails with the store fails its own callers alone, and the next goes on', async () => {
  const { gates, commit, nextTurn } = gatedCommit();
  const write = groupCommit(commit, { maxWeight: 100 });
  const lost = [write('a'), write('b')];
  await nextTurn();
  const kept = write('b');
  gates[0]?.(new StoreUnavailableError('the disk is away'));
  for (const one of lost) await expect(one).rejects.toThrow('the disk is away');
  await nextTurn();
  gates[1]?.();
  expect(await kept).toBe('B');
});

it('a batch ends where its weight would pass the limit, and an item heavier than the limit goes alone', async () => {
  const { batches, gates, commit, nextTurn } = gatedCommit();
  const write = groupCommit(commit, { maxWeight: 5, weigh: (item) => item.length });
  const written = ['aa', 'bbb', 'c', 'dddddddd', 'e'].map(write);
  for (let turn = 0; turn < 4; turn += 1) {
    await nextTurn();
    gates[turn]?.();
  }
  expect(await Promise.all(written)).toEqual(['AA', 'BBB', 'C', 'DDDDDDDD', 'E']);
  expect(batches).toEqual([['aa', 'bbb'], ['c'], ['dddddddd'], ['e']]);
});

it('refuses what comes while too much waits, and takes more once that is under way', async () => {
  const { gates, commit, nextTurn } = gatedCommit();
  const write = groupCommit(commit, { maxWeight: 100, maxWaiting: 4, weigh: (item) => item.length });
  const underway = write('heavier than may wait');
  await nextTurn();
  const waiting = [write('aa'), write('bb')];
  await expect(write('c')).rejects.toBeInstanceOf(StoreUnavailableError);
  gates[0]?.();
  await underway;
  await nextTurn();
  const later = write('c');
  gates[1]?.();
  expect(await Promise.all(waiting)).toEqual(['AA', 'BB']);
  await nextTurn();
  gates[2]?.();
  expect(await later).toBe('C');
});
