/**
 * `node scripts/crash-loop.mjs --seconds 600`: kills an API and a worker process with SIGKILL for as long as it is
 * told, then checks every job against what clients were told. Exit code 1 where an invariant is broken or a process
 * did what nobody asked of it. `--seed N` makes the same choices again, `--keep` leaves the store for a look.
 */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { build, withBuildLock } from './build.mjs';
import { isBuilt } from './launcher/build-stamp.mjs';
import { ROOT } from './launcher/paths.mjs';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    keep: { type: 'boolean', default: false },
  },
});

if (!isBuilt(ROOT)) {
  const { code, output } = await withBuildLock(build);
  if (code !== 0) {
    console.error(output);
    process.exit(1);
  }
}

/** @typedef {typeof import('../src/testkit/crash/crash-loop.ts')} CrashLoop */
const { crashLoop } = /** @type {CrashLoop} */ (
  await import(pathToFileURL(join(ROOT, 'dist/testkit/crash/crash-loop.js')).href)
);

console.log(`seed ${values.seed}`);
const { violations, problems, ...counts } = await crashLoop({
  bin: join(ROOT, 'bin/claimcheck'),
  ms: Number(values.seconds) * 1000,
  seed: Number(values.seed),
  env: process.env,
  keep: values.keep,
  say: (line) => console.log(line),
});
console.log(
  Object.entries(counts)
    .map(([name, count]) => `${name}=${count}`)
    .join(' '),
);
for (const problem of problems) console.log(`problem: ${problem}`);
for (const { invariant, jobId, message } of violations)
  console.log(`invariant ${invariant}: ${jobId ?? 'no job'} ${message}`);
console.log(violations.length + problems.length === 0 ? 'every invariant holds' : 'FAILED');
process.exitCode = violations.length + problems.length === 0 ? 0 : 1;
