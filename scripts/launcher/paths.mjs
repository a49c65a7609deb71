import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

export const ROOT = resolve(import.meta.dirname, '../..');

/** A package of its own, whose packages only the bench installs: what Claimcheck is measured against. */
export const BENCH = join(ROOT, 'bench');

/**
 * The script behind a package's command. Tools are run by `node <script>` rather than through
 * node_modules/.bin, which on Windows holds shell scripts.
 *
 * @param {string} packageName
 * @param {string} command
 */
export function toolScript(packageName, command) {
  const home = join(ROOT, 'node_modules', packageName);
  const { bin } = /** @type {{ bin: string | Record<string, string> }} */ (
    JSON.parse(readFileSync(join(home, 'package.json'), 'utf8'))
  );
  const script = typeof bin === 'string' ? bin : bin[command];
  if (script === undefined) throw new Error(`The package ${packageName} has no command ${command}.`);
  return join(home, script);
}
