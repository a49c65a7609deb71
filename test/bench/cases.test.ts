/** The bench as a whole: what it would run, and one small case of it that is run. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Bench } from '../../bench/cases/index.mjs';
import { CASES } from '../../bench/cases/index.mjs';
import { fillAndDrain } from '../../bench/cases/drain.mjs';
import { inFlight } from '../../bench/cases/in-flight.mjs';
import { GOALS } from '../../bench/goals.mjs';
import { readOptions } from '../../bench/lib/options.mjs';
import { openPlaces } from '../../bench/lib/places.mjs';
import { SIZES } from '../../bench/sizes.mjs';
import { SYSTEMS } from '../../bench/systems/index.mjs';

const STORES = ['postgres', 'sqlite'] as const;
type Judged = Parameters<Bench['race']>[1][number];

/** Every race that a run has, without any measurement. */
async function racesOf(quick: boolean) {
  const races: { name: string; store: string; runners: string[]; judged: Judged[] }[] = [];
  const bench: Bench = {
    sizes: quick ? SIZES.quick : SIZES.full,
    includes: () => false,
    places: {
      within: (_system, body) =>
        body({ place: { url: null, directory: '' }, serverPid: null, settle: async () => {} }),
      close: async () => {},
    },
    async race({ name, store, runners }, judged) {
      races.push({ name, store, runners: Object.keys(runners), judged });
    },
  };
  for (const run of Object.values(CASES)) for (const store of STORES) await run(bench, store);
  return races;
}

describe.each([
  { kind: 'quick', quick: true },
  { kind: 'full', quick: false },
])('a $kind run', ({ quick }) => {
  test('judges every goal', async () => {
    const judged = (await racesOf(quick)).flatMap(({ name, store, judged: sides }) =>
      sides.flatMap(({ as = name, metrics }) => metrics.map((metric) => `${as}, ${store}, ${metric}`)),
    );
    for (const goal of GOALS) expect(judged).toContain(`${goal.case}, ${goal.store}, ${goal.metric}`);
  });

  test('compares only what it runs', async () => {
    for (const { runners, judged } of await racesOf(quick)) {
      for (const { ours, peers, floor } of judged) {
        const named = [ours, ...peers, ...(typeof floor === 'string' ? [floor] : [])];
        expect(runners).toEqual(expect.arrayContaining(named));
      }
    }
  });
});

test('every system has its program, and says what it keeps', () => {
  for (const { module, keeps } of Object.values(SYSTEMS)) {
    expect(existsSync(join(import.meta.dirname, '../../bench/systems', module))).toBe(true);
    expect(keeps).not.toBe('');
  }
});

describe('the command line', () => {
  test('runs everything when it is not told otherwise', () => {
    const { quick, json, cases, stores, systems } = readOptions([]);
    expect({ quick, json, stores, systems }).toEqual({
      quick: false,
      json: null,
      stores: STORES,
      systems: null,
    });
    expect(cases).toEqual(Object.values(CASES));
  });

  test('takes names of cases, stores and systems', () => {
    const args = [
      '--quick',
      '--json',
      'a.json',
      '--case',
      'drain',
      '--store',
      'sqlite',
      '--systems',
      'plainjob,dbos',
    ];
    const { cases, ...options } = readOptions(args);
    expect(options).toEqual({
      quick: true,
      json: 'a.json',
      jsonOfAll: 'a.all.json',
      stores: ['sqlite'],
      systems: ['dbos', 'plainjob'],
    });
    expect(cases).toEqual([CASES['drain']]);
  });

  test('says what it knows where a name is none of them', () => {
    expect(() => readOptions(['--store', 'mysql'])).toThrow(
      '--store takes postgres, sqlite; mysql is none of them',
    );
  });

  test.each([
    [['--case', 'darin'], '--case takes enqueue, '],
    [['--systems', 'plainjob,'], '--systems takes '],
    [['--json', '/no/such/directory/rows.json'], '--json: /no/such/directory/rows.json cannot be written'],
    [['--fast'], "Unknown option '--fast'"],
  ])('%j ends at once, with a sentence', (args, sentence) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, ['bench/main.mjs', ...args], {
      encoding: 'utf8',
    });
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr.startsWith(sentence)).toBe(true);
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
  });
});

test.each(['claimcheck-sqlite', 'floor-sqlite'])('%s drains a small queue', async (system) => {
  const places = await openPlaces();
  try {
    const numbers = await places.within(system, (ground) =>
      fillAndDrain(ground, system, { jobs: 300, warm: 100, processes: 2 }),
    );
    expect(numbers['jobs/s']).toBeGreaterThan(0);
    expect(numbers['cpu us/job']).toBeGreaterThan(0);
  } finally {
    await places.close();
  }
});

test('what runs before those that wait is not in their time', async () => {
  const places = await openPlaces();
  try {
    const size = { jobs: 20, warm: 100, ms: 2500 };
    const numbers = await places.within('claimcheck-sqlite', (ground) =>
      inFlight(ground, 'claimcheck-sqlite', size),
    );
    expect(numbers['wall s']).toBeGreaterThanOrEqual(size.ms / 1000);
    expect(numbers['wall s']).toBeLessThan(2 * (size.ms / 1000)); // the hundred, twenty at a time, would take five times as long
    expect(numbers['cpu s']).toBeGreaterThan(0);
  } finally {
    await places.close();
  }
});
