import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { ROOT } from './paths.mjs';
import { run } from './run.mjs';

/**
 * @typedef {object} LockEntry
 * @property {string} [version]
 * @property {string} [integrity]
 * @property {boolean} [optional]
 * @property {string[]} [os]
 * @property {string[]} [cpu]
 * @property {string[]} [libc]
 *
 * @typedef {{ abi: string, platform: string, arch: string }} Runtime
 *
 * @typedef {object} Installed
 * @property {string} lockfile package-lock.json
 * @property {string | undefined} tree what npm noted about node_modules, in node_modules/.package-lock.json
 * @property {string | undefined} stamp what we noted after the last install that we found good
 * @property {Runtime} runtime
 */

const OUTPUT_LINES = 10;

/** @type {Runtime} */
const RUNTIME = { abi: process.versions.modules, platform: process.platform, arch: process.arch };

/**
 * The stamp names everything that node_modules depends on: the lockfile, the tree that npm laid
 * out, and the Node that native packages were fetched for.
 *
 * @param {Pick<Installed, 'lockfile' | 'tree' | 'runtime'>} installed
 */
export function installStamp({ lockfile, tree = '', runtime }) {
  const digest = createHash('sha256').update(lockfile).update('\0').update(tree).digest('hex');
  return `${runtime.platform} ${runtime.arch} abi-${runtime.abi} ${digest}\n`;
}

/**
 * `ready`: the stamp holds. `adopt`: somebody else, such as `npm ci`, installed what the lockfile
 * says. `install`: it has to be done.
 *
 * @param {Installed} installed
 * @returns {'ready' | 'adopt' | 'install'}
 */
export function installState(installed) {
  const { lockfile, tree, stamp, runtime } = installed;
  if (tree === undefined) return 'install';
  if (stamp === installStamp(installed)) return 'ready';
  if (stamp !== undefined && !stamp.startsWith(`${runtime.platform} ${runtime.arch} abi-${runtime.abi} `)) {
    return 'install';
  }
  return covers(packagesOf(tree), packagesOf(lockfile), runtime) ? 'adopt' : 'install';
}

/**
 * @param {Record<string, LockEntry>} tree
 * @param {Record<string, LockEntry>} wanted
 * @param {Runtime} runtime
 */
function covers(tree, wanted, runtime) {
  return Object.entries(wanted).every(([path, entry]) => {
    if (path === '') return true;
    const found = tree[path];
    if (found === undefined) return entry.optional === true && !isForThis(entry, runtime);
    return found.version === entry.version && found.integrity === entry.integrity;
  });
}

/**
 * Whether an optional package is this platform's binary. Without a platform of its own it serves
 * another optional one, and the C library would cost more to learn than it is worth: those may be
 * missing.
 *
 * @param {LockEntry} entry
 * @param {Runtime} runtime
 */
function isForThis({ os, cpu, libc }, runtime) {
  if (os === undefined || cpu === undefined || libc !== undefined) return false;
  return os.includes(runtime.platform) && cpu.includes(runtime.arch);
}

/**
 * @param {string} lockfile
 * @returns {Record<string, LockEntry>}
 */
function packagesOf(lockfile) {
  const { packages } = /** @type {{ packages?: Record<string, LockEntry> }} */ (JSON.parse(lockfile));
  return packages ?? {};
}

/**
 * @param {string} home where package-lock.json is
 * @returns {Installed}
 */
function look(home) {
  return {
    lockfile: readFileSync(join(home, 'package-lock.json'), 'utf8'),
    tree: readIfThere(join(home, 'node_modules', '.package-lock.json')),
    stamp: readIfThere(stampPath(home)),
    runtime: RUNTIME,
  };
}

export function isInstalled(home = ROOT) {
  return installState(look(home)) === 'ready';
}

/**
 * Makes node_modules what the lockfile says. False when that failed; the user has been told.
 *
 * @param {(line: string) => void} say
 */
export async function ensureInstalled(say, home = ROOT) {
  const state = installState(look(home));
  if (state === 'install' && !(await install(say, home))) return false;
  if (state !== 'ready') writeFileSync(stampPath(home), installStamp(look(home)));
  return true;
}

/**
 * @param {(line: string) => void} say
 * @param {string} home
 */
async function install(say, home) {
  say(`Installing packages (npm ci${home === ROOT ? '' : ` in ${basename(home)}`}) ...`);
  const started = performance.now();
  const ran = await npm(['ci', '--include=dev', '--no-audit', '--no-fund'], home);
  if (ran === undefined) {
    say(
      'npm was not found. It comes with Node: install Node from https://nodejs.org, or add npm to the PATH.',
    );
    return false;
  }
  if (ran.interrupted) {
    say('Interrupted while installing; the next launch starts over.');
    return false;
  }
  if (ran.code !== 0) {
    say(`Installing the packages failed: npm ci ended with code ${ran.code} and said:`);
    say(excerpt(ran.output));
    say(
      'Check the network, the proxy and registry settings of npm, and that this folder is yours to write; ' +
        'then run the same command again. `npm ci` by hand works as well.',
    );
    return false;
  }
  say(`Installed in ${((performance.now() - started) / 1000).toFixed(1)} s.`);
  return true;
}

/**
 * Undefined when there is no npm.
 *
 * @param {string[]} args
 * @param {string} cwd
 */
async function npm(args, cwd) {
  // npm tells its scripts where it is; another package manager would name itself here.
  const itself = process.env['npm_execpath'] ?? '';
  if (basename(itself) === 'npm-cli.js' && existsSync(itself)) {
    return await run(process.execPath, [itself, ...args], { capture: true, cwd });
  }
  // On Windows npm is npm.cmd, which only a shell runs.
  const shell = process.platform === 'win32';
  try {
    return await run('npm', args, { capture: true, shell, cwd });
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * The first lines and the last: npm puts its usage text after some causes and a stack before others.
 *
 * @param {string} output
 */
function excerpt(output) {
  const lines = output.trimEnd().split('\n');
  const shown =
    lines.length <= 2 * OUTPUT_LINES
      ? lines
      : [...lines.slice(0, OUTPUT_LINES), '...', ...lines.slice(-OUTPUT_LINES)];
  return shown.map((line) => `  ${line}`).join('\n');
}

/** @param {string} home */
function stampPath(home) {
  return join(home, 'node_modules', '.claimcheck-installed');
}

/** @param {string} path */
function readIfThere(path) {
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
}
