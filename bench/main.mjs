/**
 * `npm run bench -- [--quick] [--json FILE] [--case NAME] [--store sqlite|postgres] [--systems NAME,NAME]`: Claimcheck against its
 * peers and against queues written by hand, side by side in one run. docs/benchmarks.md says how it is measured.
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { CASES } from './cases/index.mjs';
import { GOALS } from './goals.mjs';
import { killChildren } from './lib/child.mjs';
import { NOISE, judge } from './lib/judge.mjs';
import { openPlaces } from './lib/places.mjs';
import { run } from './lib/race.mjs';
import { keepings, outcomeTable, rowTable } from './lib/report.mjs';

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    json: { type: 'string' },
    case: { type: 'string' },
    store: { type: 'string' },
    systems: { type: 'string' },
  },
});
const wanted = values.systems?.split(',');
const stores = /** @type {const} */ (['postgres', 'sqlite']).filter((one) => (values.store ?? one) === one);
const cases = Object.entries(CASES).filter(([name]) => (values.case ?? name) === name);

const places = await openPlaces();
const outcomes = [];
const rows = [];
try {
  for (const [, make] of cases) {
    for (const store of stores) {
      for (const { race, side, metrics } of make({ places, quick: values.quick }, store)) {
        const systems = race.systems.filter((one) => wanted?.includes(one) ?? true);
        const outcome = await run({ ...race, systems }, (line) => process.stderr.write(`${line}\n`));
        outcomes.push(outcome);
        console.log(`\n${outcomeTable(outcome)}`);
        for (const metric of metrics) {
          const row = judge(outcome, side, { metric, goals: GOALS, noise: values.quick ? NOISE : 0 });
          if (row !== null) rows.push(row);
        }
      }
    }
  }
} finally {
  killChildren();
  await places.close();
}
console.log(`\n${rowTable(rows)}`);
console.log(`\n${keepings(new Set(outcomes.flatMap(({ numbers }) => Object.keys(numbers))))}`);
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(rows, null, 2)}\n`);
