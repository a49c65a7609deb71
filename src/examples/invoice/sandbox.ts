/**
 * What the process that reads PDFs may do: run, and read its own code. It can write no file, read no other one,
 * start no process, load no native code and make no code out of text. Node's permission model has no
 * word for the network before Node 25; the reader's code does not use it.
 */
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

export const READER = fileURLToPath(new URL('./extract-process.mjs', import.meta.url));

const LIBRARY = createRequire(import.meta.url).resolve('pdfjs-dist/legacy/build/pdf.mjs');

export const LIBRARY_URL = pathToFileURL(LIBRARY).href;

/** The permission model, under the name that this Node knows it by. */
const PERMISSION = process.allowedNodeEnvironmentFlags.has('--permission')
  ? '--permission'
  : '--experimental-permission';

/** Flags for Node. */
export const SANDBOX: readonly string[] = [
  PERMISSION,
  `--allow-fs-read=${READER}`,
  `--allow-fs-read=${join(dirname(LIBRARY), '*')}`,
  '--allow-worker',
  '--no-addons',
  '--disallow-code-generation-from-strings',
  '--no-warnings',
];
