/** The process's own streams, as the commands see them. */
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import type { Io } from '../cli/host.ts';

export function terminalIo(env: NodeJS.ProcessEnv): Io {
  const { stdout, stderr, stdin } = process;
  const isTerminal = stdout.isTTY && env['TERM'] !== 'dumb';
  return {
    out: (text) => void stdout.write(text),
    err: (text) => void stderr.write(text),
    bytes: (body) => pipeline(body, stdout, { end: false }),
    stdin: () => buffer(stdin),
    isTerminal,
    hasColour: hasColour(env, isTerminal),
    columns: isTerminal ? stdout.columns : Number.POSITIVE_INFINITY,
  };
}

/** FORCE_COLOR outweighs NO_COLOR (no-color.org), and both outweigh what the terminal is. */
function hasColour(env: NodeJS.ProcessEnv, isTerminal: boolean): boolean {
  const { FORCE_COLOR: force = '', NO_COLOR: no = '' } = env;
  if (force !== '') return force !== '0' && force !== 'false';
  return no === '' && isTerminal;
}
