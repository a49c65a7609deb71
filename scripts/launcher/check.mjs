import { build, withBuildLock } from '../build.mjs';
import { isBuilt } from './build-stamp.mjs';
import { ROOT, toolScript } from './paths.mjs';
import { runNode } from './run.mjs';

/**
 * @typedef {import('./run.mjs').Ran} Ran
 * @typedef {{ name: string, work: () => Promise<Ran> }} Step
 */

/**
 * What `npm run check` looks at, in this order. The import rules of the rooms are part of lint.
 *
 * @type {readonly Step[]}
 */
const STEPS = [
  { name: 'format', work: () => tool('@biomejs/biome', 'biome', ['format']) },
  { name: 'lint, import rules', work: () => tool('oxlint', 'oxlint') },
  { name: 'types', work: () => tool('typescript', 'tsc') },
  {
    name: 'dead code',
    work: () => tool('knip', 'knip', ['--no-progress']),
  },
  { name: 'package', work: packageContents },
];

/** Runs every step, also after one failed, with a line for each. */
export async function check() {
  const failed = [];
  for (const step of STEPS) {
    if (!(await passes(step))) failed.push(step.name);
  }
  if (failed.length === 0) return 0;
  console.log(`Failed: ${failed.join('; ')}`);
  return 1;
}

/** @param {Step} step */
async function passes({ name, work }) {
  const started = performance.now();
  const { code, output } = await work();
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`${code === 0 ? 'ok' : 'FAILED'} ${name} ${seconds} s`);
  if (code !== 0) console.log(output.trimEnd());
  return code === 0;
}

/**
 * @param {string} packageName
 * @param {string} command
 * @param {readonly string[]} [args]
 */
function tool(packageName, command, args = []) {
  return runNode([toolScript(packageName, command), ...args], { capture: true });
}

/** publint looks at what the package would hold, so it needs a build. */
async function packageContents() {
  if (!isBuilt(ROOT)) {
    const built = await withBuildLock(build);
    if (built.code !== 0) return built;
  }
  return await tool('publint', 'publint', ['--strict']);
}
