/**
 * Builds dist: compiles src and copies the files beside it that are no TypeScript, such as SQL.
 *
 * The new build is made in dist/.staging and moved into place when it is whole, and the stamp is
 * written last: after a build that failed, dist is still the one before, and its stamp does not
 * match the sources.
 */
import { cpSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { sourceFiles, sourceHash, stampPath, writeBuildStamp } from './launcher/build-stamp.mjs';
import { withLock } from './launcher/lock.mjs';
import { ROOT, toolScript } from './launcher/paths.mjs';
import { runNode } from './launcher/run.mjs';

const DIST = join(ROOT, 'dist');
const STAGING = join(DIST, '.staging');
const LOCK = join(DIST, '.lock');

/**
 * One launch at a time installs and builds.
 *
 * @template T
 * @param {() => Promise<T>} body
 */
export function withBuildLock(body) {
  return withLock(LOCK, body, () => console.error('Waiting for another launch to install and build ...'));
}

/** The compiler's exit code and what it found. */
export async function build() {
  const hash = sourceHash(ROOT);
  rmSync(STAGING, { recursive: true, force: true });
  const tsc = [toolScript('typescript', 'tsc'), '--project', 'tsconfig.build.json', '--outDir', STAGING];
  const compiled = await runNode(tsc, { capture: true });
  if (compiled.code !== 0) {
    rmSync(STAGING, { recursive: true, force: true });
    return compiled;
  }
  copyAssets();
  swap();
  writeBuildStamp(ROOT, hash);
  return compiled;
}

function copyAssets() {
  for (const file of sourceFiles(ROOT)) {
    if (file.endsWith('.ts')) continue;
    const target = join(STAGING, relative('src', file));
    mkdirSync(dirname(target), { recursive: true });
    cpSync(join(ROOT, file), target);
  }
}

function swap() {
  rmSync(stampPath(ROOT), { force: true });
  for (const name of readdirSync(DIST)) {
    if (name !== '.staging' && name !== '.lock') rmSync(join(DIST, name), { recursive: true });
  }
  for (const name of readdirSync(STAGING)) renameSync(join(STAGING, name), join(DIST, name));
  rmSync(STAGING, { recursive: true });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { code, output } = await withBuildLock(build);
  process.stderr.write(output);
  process.exitCode = code;
}
