/**
 * `npm run bench -- [--quick] [--json FILE] [--case NAME] [--store sqlite|postgres] [--systems NAME,NAME]`: Claimcheck against its
 * peers and against queues written by hand, side by side in one run. docs/benchmarks.md says how it is measured.
 */
import { writeFileSync } from 'node:fs';
import { createBench } from './lib/bench.mjs';
import { readOptions, refuseUnwritable } from './lib/options.mjs';
import { openPlaces } from './lib/places.mjs';
import { keepings, machine, rowTable } from './lib/report.mjs';
import { killAll } from './lib/started.mjs';

const options = optionsOrExit();
const places = await openPlaces();
const bench = createBench({
  ...options,
  places,
  say: (line) => process.stderr.write(`${line}\n`),
  print: (text) => console.log(`\n${text}`),
});

/** A wrong option is found before an hour is spent. */
function optionsOrExit() {
  try {
    const read = readOptions(process.argv.slice(2));
    if (read.json !== null) refuseUnwritable(read.json);
    return read;
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exit(2);
  }
}

/** @type {Promise<number>} */
const interrupted = new Promise((resolve) => {
  process.once('SIGINT', () => resolve(130));
  process.once('SIGTERM', () => resolve(143));
});

async function runAll() {
  for (const run of options.cases) {
    for (const store of options.stores) await run(bench, store);
  }
  return 0;
}

console.log(machine(options));
const running = runAll();
running.catch(() => {}); // where it was interrupted, nobody asks
try {
  process.exitCode = await Promise.race([running, interrupted]);
} finally {
  killAll();
  await places.close();
}
if (process.exitCode !== 0) process.exit();

const { rows, outcomes } = bench;
console.log(`\n${rowTable(rows)}\n\n${keepings(outcomes)}\n\n${Math.round(bench.seconds())} s`);
if (options.json !== null) {
  writeFileSync(options.json, `${JSON.stringify(rows, null, 2)}\n`);
  writeFileSync(options.jsonOfAll, `${JSON.stringify(outcomes, null, 2)}\n`);
}
