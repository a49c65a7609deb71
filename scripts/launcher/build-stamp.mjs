import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Besides src: what decides how it is compiled. */
const BUILD_FILES = ['package-lock.json', 'tsconfig.json', 'tsconfig.build.json', 'scripts/build.mjs'];

/**
 * The hash of everything a build is made from. Contents, not times: a checkout changes times only.
 *
 * @param {string} root
 */
export function sourceHash(root) {
  const hash = createHash('sha256');
  for (const file of [...BUILD_FILES, ...sourceFiles(root)]) {
    hash.update(`${file}\0`);
    hash.update(readFileSync(join(root, file)));
    hash.update('\0');
  }
  return hash.digest('hex');
}

/**
 * The files under src that belong in a build, sorted.
 *
 * @param {string} root
 */
export function sourceFiles(root) {
  return readdirSync(join(root, 'src'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.test.ts'))
    .map((entry) =>
      join(entry.parentPath, entry.name)
        .slice(root.length + 1)
        .replaceAll('\\', '/'),
    )
    .toSorted();
}

/** @param {string} root */
export function isBuilt(root) {
  const stamp = stampPath(root);
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === sourceHash(root);
}

/**
 * @param {string} root
 * @param {string} [hash] of the sources as they were when the build began
 */
export function writeBuildStamp(root, hash = sourceHash(root)) {
  writeFileSync(stampPath(root), hash);
}

/** @param {string} root */
export function stampPath(root) {
  return join(root, 'dist', '.stamp');
}
