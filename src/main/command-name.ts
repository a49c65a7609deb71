/** What a reader has to type to call this program again, so that the commands it shows run as they stand. */
import { basename, delimiter, dirname, relative, resolve, sep } from 'node:path';

export interface Called {
  /** The script as Node was given it, links unresolved. */
  script: string | undefined;
  cwd: string;
  /** The directories that a shell searches. */
  path: string;
}

const NAME = 'claimcheck';
const LOCAL_BIN = ['node_modules', '.bin'].join(sep);

/** The bare name where a shell finds it; through npx where an app has it; the script's own path in a clone. */
export function commandName({ script, cwd, path }: Called): string {
  if (script === undefined || basename(script) !== NAME) return NAME;
  const home = resolve(cwd, dirname(script));
  // npm and npx put this directory on the path of what they run, and of nothing else.
  if (home.endsWith(LOCAL_BIN)) return `npx ${NAME}`;
  if (home.split(sep).includes('node_modules') || path.split(delimiter).includes(home)) return NAME;
  const below = relative(cwd, resolve(home, NAME));
  return quoted(below.startsWith('..') ? resolve(home, NAME) : `.${sep}${below}`);
}

function quoted(path: string): string {
  return /^[\w./+@:-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}

/** What calls this very process again. */
export function ownCommand(): string {
  return commandName({ script: process.argv[1], cwd: process.cwd(), path: process.env['PATH'] ?? '' });
}
