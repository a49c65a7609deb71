/** The entry of the command line: runs one command in this process, and ends with its exit code. */
import { runProgram } from '../cli/program.ts';
import { commandHost } from './command-host.ts';
import { ownCommand } from './command-name.ts';
import { terminalIo } from './terminal.ts';

/** `claimcheck list | head` ends quietly; a server goes on without a reader of what it printed. */
function tolerateClosedPipes(isServer: boolean): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE' && !isServer) process.exit(0);
    });
  }
}

const args = process.argv.slice(2);
tolerateClosedPipes(args[0] === 'serve' || args[0] === 'work');
const exitCode = await runProgram(args, commandHost(terminalIo(process.env), ownCommand()));
// Functions that never return, and sockets kept for another request, do not hold up the end.
process.stdout.write('', () => process.exit(exitCode));
