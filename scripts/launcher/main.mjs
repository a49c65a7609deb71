import { join } from 'node:path';
import { build, withBuildLock } from '../build.mjs';
import { isBuilt } from './build-stamp.mjs';
import { check } from './check.mjs';
import { ensureInstalled, isInstalled } from './install.mjs';
import { BENCH, ROOT, toolScript } from './paths.mjs';
import { runNode } from './run.mjs';

/**
 * Every command; each answers with the exit code.
 *
 * @type {Readonly<Record<string, { needsBuild: boolean, run: (args: readonly string[]) => Promise<number> }>>}
 */
const COMMANDS = {
  start: { needsBuild: true, run: (args) => foreground('bin/claimcheck', 'serve', '--demo', ...args) },
  demo: { needsBuild: true, run: (args) => foreground('bin/claimcheck', 'demo', ...args) },
  torture: { needsBuild: true, run: (args) => foreground('scripts/torture.mjs', ...args) },
  // Some tests start processes from dist.
  test: { needsBuild: true, run: (args) => foreground(toolScript('vitest', 'vitest'), 'run', ...args) },
  check: { needsBuild: false, run: check },
  bench: { needsBuild: true, run: bench },
};

/**
 * @param {readonly string[]} argv the command and its own arguments
 * @returns {Promise<number>} the exit code
 */
export async function main([name = '', ...args]) {
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command === undefined) {
    say(`Usage: node scripts/launch.mjs ${Object.keys(COMMANDS).join(' | ')}`);
    return 2;
  }
  if (!(await prepare(command.needsBuild))) return 1;
  return await command.run(args);
}

/**
 * Installs and builds what is missing. False when that failed; the user has been told.
 *
 * @param {boolean} needsBuild
 */
async function prepare(needsBuild) {
  const isReady = () => isInstalled() && (!needsBuild || isBuilt(ROOT));
  if (isReady()) return true;
  return await withBuildLock(async () => {
    // Another launch may have done it all while this one waited for the lock.
    if (!(await ensureInstalled(say))) return false;
    return !needsBuild || isBuilt(ROOT) || (await buildAloud());
  });
}

/**
 * What cannot be installed cannot be measured; the bench says so, and goes on with the rest.
 *
 * @param {readonly string[]} args
 */
async function bench(args) {
  if (!isInstalled(BENCH)) await withBuildLock(() => ensureInstalled(say, BENCH));
  return await foreground(join(BENCH, 'main.mjs'), ...args);
}

async function buildAloud() {
  say('Building ...');
  const { code, output } = await build();
  if (code !== 0) say(`${output.trimEnd()}\nThe build failed, so nothing was started.`);
  return code === 0;
}

/** @param {readonly [script: string, ...args: string[]]} args */
async function foreground(...args) {
  const { code } = await runNode(args);
  return code;
}

/**
 * Progress goes to stderr: what a command prints is its own.
 *
 * @param {string} line
 */
function say(line) {
  console.error(line);
}
