/**
 * `npm run bench -- [--quick] [--json FILE] [--case NAME] [--store sqlite|postgres] [--systems NAME,NAME]`: Claimcheck against its
 * peers and against queues written by hand, side by side in one run. docs/benchmarks.md says how it is measured.
 */
import { writeFileSync } from 'node:fs';
import { readOptions } from './lib/options.mjs';
import { CASES } from './cases/index.mjs';
import { GOALS } from './goals.mjs';
import { killDrivers } from './lib/child.mjs';
import { NOISE, judge } from './lib/judge.mjs';
import { openPlaces } from './lib/places.mjs';
import { run } from './lib/race.mjs';
import { keepings, machine, outcomeTable, rowTable } from './lib/report.mjs';
import { SYSTEMS } from './systems/index.mjs';

/** @import { Bench } from './cases/index.mjs' */

const LIMIT_MS = { quick: 60_000, full: 900_000 };
/** A quick run that is behind its time goes on with one round of everything. */
const LATE_MS = 270_000;

const options = readOptions(process.argv.slice(2));
const { quick } = options;
const started = performance.now();
/** @type {import('./lib/race.mjs').Outcome[]} */
const outcomes = [];
/** @type {import('./lib/judge.mjs').Row[]} */
const rows = [];
const places = await openPlaces();

/** @param {string} runner a system, or a system and what is particular */
function includes(runner) {
  return options.systems?.includes(runner.split(',')[0] ?? '') ?? true;
}

/** @param {string} runner */
function rounds(runner) {
  if (!quick) return SYSTEMS[runner]?.share === undefined ? 5 : 3;
  const slow = SYSTEMS[runner]?.share !== undefined || SYSTEMS[runner]?.store === 'redis';
  return slow || performance.now() - started > LATE_MS ? 1 : 2;
}

/** @type {Bench} */
const bench = {
  places,
  quick,
  includes,
  async race(wanted, judged) {
    const runners = Object.fromEntries(Object.entries(wanted.runners).filter(([runner]) => includes(runner)));
    const outcome = await run(
      { rounds, limitMs: quick ? LIMIT_MS.quick : LIMIT_MS.full, ...wanted, runners },
      {
        mayFail: (runner) => SYSTEMS[runner]?.kind === 'peer',
        giveUp: killDrivers,
        say: (line) => process.stderr.write(`${line}\n`),
      },
    );
    outcomes.push(outcome);
    console.log(`\n${outcomeTable(outcome)}`);
    for (const { metrics, as = outcome.name, ...sides } of judged) {
      for (const metric of metrics) {
        const row = judge({ ...outcome, name: as }, sides, { metric, goals: GOALS, noise: quick ? NOISE : 0 });
        if (row !== null) rows.push(row);
      }
    }
  },
};

/** @param {NodeJS.Signals} signal */
async function interrupt(signal) {
  killDrivers();
  await places.close();
  process.exit(signal === 'SIGINT' ? 130 : 143);
}
process.once('SIGINT', (signal) => void interrupt(signal));
process.once('SIGTERM', (signal) => void interrupt(signal));

console.log(machine(quick));
try {
  for (const name of options.cases) {
    for (const store of options.stores) await CASES[name]?.(bench, store);
  }
} finally {
  killDrivers();
  await places.close();
}
console.log(`\n${rowTable(rows)}`);
console.log(`\n${keepings(new Set(outcomes.flatMap(({ numbers }) => Object.keys(numbers))))}`);
console.log(`\n${Math.round((performance.now() - started) / 1000)} s`);
if (options.json !== null) {
  writeFileSync(options.json, `${JSON.stringify(rows, null, 2)}\n`);
  writeFileSync(options.jsonOfAll, `${JSON.stringify(outcomes, null, 2)}\n`);
}
