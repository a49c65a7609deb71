import { describe, expect, test } from 'vitest';
import { startOf } from '../../bench/cases/drain.mjs';
import { createBench } from '../../bench/lib/bench.mjs';
import { holds, judge } from '../../bench/lib/judge.mjs';
import { treeCpuMs } from '../../bench/lib/processes.mjs';
import { run } from '../../bench/lib/race.mjs';
import { outcomeTable, rowTable } from '../../bench/lib/report.mjs';
import { percentiles, spread } from '../../bench/lib/stats.mjs';

const rates = (...values: (number | null)[]) => values.map((value) => ({ 'jobs/s': value }));
const outcome = {
  name: 'drain',
  store: 'postgres',
  numbers: {
    ours: rates(300, 100, 200),
    fast: rates(400, 100),
    slow: rates(50),
    silent: rates(null),
    floor: rates(400),
  },
  failures: { broken: 'Cannot find package' },
};
const sides = { ours: 'ours', peers: ['slow', 'fast', 'silent', 'broken'], floor: 'floor' };

describe('what is made of several measurements', () => {
  test('the median and how far they lie apart', () => {
    expect(spread([3, 1, 2])).toEqual({ median: 2, min: 1, max: 3 });
    expect(spread([4, 1, 2, 3]).median).toBe(2.5);
  });

  test('percentiles are measured values, the smallest that so many do not exceed', () => {
    const hundred = Array.from({ length: 100 }, (_, index) => 100 - index);
    expect(percentiles(hundred)).toEqual({ p50: 50, p95: 95, p99: 99 });
    expect(percentiles([7])).toEqual({ p50: 7, p95: 7, p99: 7 });
  });

  test('of nothing there is no percentile', () => {
    expect(() => percentiles([])).toThrow('no numbers');
  });
});

describe('the processor time of another process', () => {
  test.runIf(process.platform === 'linux')('is read from /proc', () => {
    const before = treeCpuMs(process.pid) ?? 0;
    for (const until = performance.now() + 50; performance.now() < until; );
    expect(treeCpuMs(process.pid) ?? 0).toBeGreaterThan(before);
  });

  test('is unknown of one that does not run', () => {
    expect(treeCpuMs(2 ** 22 + 1)).toBeNull();
  });
});

describe('when the clock of a drain starts', () => {
  const mark = (atMs: number, ran: number, cpuMs: number) => ({ atMs, ran, cpuMs });

  test('where all processes together have run enough, with what they had used by then', () => {
    const first = [mark(0, 0, 10), mark(20, 100, 15), mark(40, 200, 20)];
    const second = [mark(1, 0, 1), mark(30, 100, 2), mark(60, 200, 3)];
    expect(startOf([first, second], 200)).toEqual({ atMs: 30, ran: 200, cpuMs: 17 });
  });

  test('a process that has not begun counts with what its start cost', () => {
    const late = [mark(500, 0, 4), mark(600, 100, 9)];
    expect(startOf([[mark(0, 0, 1), mark(10, 100, 2)], late], 100)).toEqual({ atMs: 10, ran: 100, cpuMs: 6 });
  });

  test('too few is a mistake of the bench', () => {
    expect(() => startOf([[mark(0, 0, 0)]], 1)).toThrow('fewer than 1 functions ran');
  });
});

describe('a row', () => {
  const goal = (...bounds: Parameters<typeof holds>[1]) => ({
    metric: 'jobs/s',
    goals: [{ case: 'drain', store: 'postgres', metric: 'jobs/s', bounds }],
    noise: 0,
  });

  test('has ours, the best peer and the floor as medians, and ours divided by each', () => {
    expect(judge(outcome, sides, goal({ of: 'floor', is: '>=', than: 0.5 }))).toEqual({
      case: 'drain',
      store: 'postgres',
      metric: 'jobs/s',
      ours: 200,
      best_peer: { name: 'fast', value: 250 },
      floor: 400,
      ratio_peer: 0.8,
      ratio_floor: 0.5,
      goal: 'ratio_floor >= 0.5',
      holds: true,
    });
  });

  test('holds only where every bound does', () => {
    const both = goal({ of: 'floor', is: '>=', than: 0.5 }, { of: 'peer', is: '>', than: 0.8 });
    expect(judge(outcome, sides, both)).toMatchObject({
      goal: 'ratio_floor >= 0.5 and ratio_peer > 0.8',
      holds: false,
    });
  });

  test('without a goal, or without what it compares with, neither holds nor falls short', () => {
    expect(judge(outcome, sides, { ...goal(), goals: [] })).toMatchObject({ goal: null, holds: null });
    const alone = judge(
      outcome,
      { ours: 'ours', peers: ['broken'], floor: null },
      goal({ of: 'peer', is: '>', than: 1 }),
    );
    expect(alone).toMatchObject({
      best_peer: null,
      ratio_peer: null,
      floor: null,
      goal: 'ratio_peer > 1',
      holds: null,
    });
  });

  test('takes the smallest for the best where less is better', () => {
    const numbers = { ours: [{ 'p50 ms': 3 }], a: [{ 'p50 ms': 4 }], b: [{ 'p50 ms': 2 }] };
    const row = judge(
      { ...outcome, numbers },
      { ours: 'ours', peers: ['a', 'b'], floor: 6 },
      { ...goal(), metric: 'p50 ms' },
    );
    expect(row).toMatchObject({
      best_peer: { name: 'b', value: 2 },
      ratio_peer: 1.5,
      floor: 6,
      ratio_floor: 0.5,
    });
  });

  test('of something divided by nothing has no ratio', () => {
    const numbers = { ours: [{ 'writes/s': 1 }], peer: [{ 'writes/s': 0 }] };
    const row = judge(
      { ...outcome, numbers },
      { ours: 'ours', peers: ['peer'], floor: null },
      { ...goal(), metric: 'writes/s' },
    );
    expect(row).toMatchObject({ best_peer: { name: 'peer', value: 0 }, ratio_peer: null });
  });

  test('does not exist where ours was not measured', () => {
    expect(judge(outcome, { ...sides, ours: 'claimcheck-postgres' }, goal())).toBeNull();
  });
});

describe('the noise of the machine', () => {
  const of = (value: number) => ({ ours: value, ratio_peer: null, ratio_floor: null });

  test.each([
    { is: '>=', than: 10, just: 7, beyond: 6.9 },
    { is: '<=', than: 10, just: 13, beyond: 13.1 },
    { is: '>', than: 10, just: 7.1, beyond: 7 },
    { is: '<', than: 10, just: 12.9, beyond: 13 },
  ] as const)('of 30 % is forgiven for $is $than, and no more', ({ is, than, just, beyond }) => {
    const bounds = [{ of: 'ours', is, than } as const];
    expect(holds(of(just), bounds, 0.3)).toBe(true);
    expect(holds(of(just), bounds, 0)).toBe(false);
    expect(holds(of(beyond), bounds, 0.3)).toBe(false);
  });
});

describe('a race', () => {
  const race = { name: 'drain', store: 'sqlite', limitMs: 10_000 };
  const tools = { mayFail: (runner: string) => runner === 'peer', giveUp: () => {}, say: () => {} };

  test('lets its runners take turns, each as often as it is due', async () => {
    const turns: string[] = [];
    const runner = (name: string) => async () => {
      turns.push(name);
      return { 'jobs/s': turns.length };
    };
    const { numbers } = await run(
      { ...race, runners: { a: runner('a'), b: runner('b') }, rounds: (name) => (name === 'a' ? 2 : 1) },
      tools,
    );
    expect(turns).toEqual(['a', 'b', 'a']);
    expect(numbers).toEqual({ a: rates(1, 3), b: rates(2) });
  });

  test('leaves out a peer that fails, with the reason, and does not ask it again', async () => {
    let asked = 0;
    const peer = async () => {
      asked += 1;
      throw new Error('Cannot find package');
    };
    const { numbers, failures } = await run({ ...race, runners: { peer }, rounds: () => 3 }, tools);
    expect({ asked, numbers, failures }).toEqual({
      asked: 1,
      numbers: {},
      failures: { peer: 'Cannot find package' },
    });
  });

  test('ends where ours fails', async () => {
    const ours = () => Promise.reject(new Error('broken'));
    await expect(run({ ...race, runners: { ours }, rounds: () => 1 }, tools)).rejects.toThrow('broken');
  });

  test('gives up what runs too long', async () => {
    let giveUp = () => {};
    const peer = () =>
      new Promise<never>((_, reject) => {
        giveUp = () => reject(new Error('killed'));
      });
    const { failures } = await run(
      { ...race, limitMs: 50, runners: { peer }, rounds: () => 1 },
      { ...tools, giveUp: () => giveUp() },
    );
    expect(failures).toEqual({ peer: 'not within 0.05 s' });
  });

  test('has no number of a runner that has no such thing', async () => {
    const { numbers, failures } = await run(
      { ...race, runners: { peer: async () => null }, rounds: () => 1 },
      tools,
    );
    expect({ numbers, failures }).toEqual({ numbers: {}, failures: {} });
  });
});

describe('a run', () => {
  const measured = { 'jobs/s': 1000 };
  const places = { within: () => Promise.reject(new Error('nothing is opened')), close: async () => {} };

  function quickRun(systems: string[] | null) {
    const printed: string[] = [];
    const bench = createBench({
      quick: true,
      systems,
      places,
      say: () => {},
      print: (text) => printed.push(text),
    });
    return { bench, printed };
  }

  test('collects the rows of its races, also under another name', async () => {
    const { bench, printed } = quickRun(null);
    const runners = { 'claimcheck-sqlite': async () => measured, plainjob: async () => ({ 'jobs/s': 250 }) };
    const one = { ours: 'claimcheck-sqlite', peers: ['plainjob'], floor: null, metrics: ['jobs/s'] };
    await bench.race({ name: 'drain, 1 process, 1 KB each', store: 'sqlite', runners }, [
      one,
      { ...one, as: 'again' },
    ]);
    expect(bench.rows).toMatchObject([
      // 4 of the 5 that are wanted: within the noise
      { case: 'drain, 1 process, 1 KB each', goal: 'ratio_peer >= 5', ratio_peer: 4, holds: true },
      { case: 'again', goal: null, ratio_peer: 4, holds: null },
    ]);
    expect(Object.keys(bench.rows[0] ?? {})).toEqual([
      'case',
      'store',
      'metric',
      'ours',
      'best_peer',
      'floor',
      'ratio_peer',
      'ratio_floor',
      'goal',
      'holds',
    ]);
    expect(printed[0]).toMatch(
      /^drain, 1 process, 1 KB each, sqlite\n.*jobs\/s +min - max\nclaimcheck-sqlite +1,000 +1,000 - 1,000\nplainjob +250/,
    );
  });

  test('asks only those that were named, and what is particular of them', async () => {
    const asked: string[] = [];
    const { bench } = quickRun(['claimcheck-sqlite']);
    const runner = (name: string) => async () => {
      asked.push(name);
      return measured;
    };
    const names = ['claimcheck-sqlite', 'plainjob', 'claimcheck-sqlite, empty'];
    const runners = Object.fromEntries(names.map((name) => [name, runner(name)]));
    await bench.race({ name: 'x', store: 'sqlite', runners, rounds: () => 1 }, []);
    expect(asked).toEqual(['claimcheck-sqlite', 'claimcheck-sqlite, empty']);
  });
});

describe('what is printed', () => {
  test('a table names those that are left out', () => {
    expect(outcomeTable(outcome)).toMatch(/ {2}broken is left out: Cannot find package$/);
  });

  test('a table of rows says which goals hold', () => {
    const row = judge(outcome, sides, { metric: 'jobs/s', goals: [], noise: 0 });
    if (row === null) throw new Error('no row');
    const lines = rowTable([row, { ...row, goal: 'ratio_peer > 1', holds: false }]).split('\n');
    expect(lines[1]).toMatch(/^drain +postgres +jobs\/s +200 +250 fast +0\.8 +400 +0\.5 +-$/);
    expect(lines[2]).toMatch(/ratio_peer > 1 +FALLS SHORT$/);
  });
});
