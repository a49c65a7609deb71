/** The command line: which commands there are, and how each ending is told. */
import { Command, CommanderError } from 'commander';
import type { Context } from './command.ts';
import { cancelCommand, replayCommand } from './commands/decide.ts';
import { enqueueCommand } from './commands/enqueue.ts';
import { keysCommand } from './commands/keys.ts';
import { listCommand } from './commands/list.ts';
import { demoCommand, migrateCommand, serveCommand, workCommand } from './commands/processes.ts';
import { resolveCommand } from './commands/resolve.ts';
import { showCommand } from './commands/show.ts';
import { spendingCommand } from './commands/spending.ts';
import { watchCommand } from './commands/watch.ts';
import { workflowsCommand } from './commands/workflows.ts';
import { Refusal } from './desk.ts';
import type { Host, Io } from './host.ts';
import { EXIT, Problem } from './problem.ts';
import { plain } from './text.ts';

const AFTER_HELP = `
Every setting is a variable, such as CLAIMCHECK_DATA_DIR, and a flag of the same name, --data-dir.
With --url (or CLAIMCHECK_URL) and CLAIMCHECK_API_KEY the commands talk to a server; without, they
open the data directory themselves.

Exit codes: 0 done; 1 the job died, the demo failed, or it was refused; 2 wrong usage, setting or key;
3 the API or the store cannot be used; 75 \`work\` wants to be started again.`;

/** Runs one command line and resolves with its exit code; never rejects. */
export async function runProgram(args: readonly string[], host: Host): Promise<number> {
  let exitCode: number = EXIT.ok;
  const finish = (code: number) => {
    exitCode = code;
  };
  const program = createProgram({ host, finish });
  try {
    await program.parseAsync(args, { from: 'user' });
    return exitCode;
  } catch (error) {
    return tell(error, host.io);
  }
}

function createProgram(context: Context): Command {
  const { host } = context;
  const program = new Command('claimcheck')
    .description(
      'A queue for AI work: hand in a job, get a ticket, come back for one record with its evidence.',
    )
    .version(host.version, '-V, --version', 'print the version')
    .helpCommand('help [command]', 'print help for a command')
    .addHelpText('after', AFTER_HELP);
  program.commandsGroup('Run:');
  for (const make of [serveCommand, workCommand, demoCommand, migrateCommand, keysCommand]) {
    program.addCommand(make(context));
  }
  program.commandsGroup('Jobs:');
  for (const make of [
    workflowsCommand,
    enqueueCommand,
    showCommand,
    listCommand,
    watchCommand,
    replayCommand,
    cancelCommand,
    resolveCommand,
    spendingCommand,
  ]) {
    program.addCommand(make(context));
  }
  settle(program, host);
  return program;
}

/** Output goes to the host, and an error is thrown instead of ending the process. */
function settle(command: Command, host: Host): void {
  const { io } = host;
  command
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.out(text),
      writeErr: (text) => io.err(text),
      getOutHasColors: () => io.hasColour,
    })
    .helpOption('-h, --help', 'print help');
  if (command.parent !== null) command.showHelpAfterError(`See: ${pathOf(command, host.command)} --help`);
  for (const sub of command.commands) settle(sub, host);
}

function pathOf(command: Command, root: string): string {
  return command.parent === null ? root : `${pathOf(command.parent, root)} ${command.name()}`;
}

/** Says what ended a command, and gives the exit code. */
function tell(error: unknown, io: Io): number {
  // Commander has written what there is to say.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  if (error instanceof Problem) {
    for (const line of linesOf(error)) io.err(`${line}\n`);
    return error.exitCode;
  }
  io.err(`${plain(error instanceof Error ? `${error.name}: ${error.message}` : String(error))}\n`);
  return EXIT.unavailable;
}

function linesOf(problem: Problem): string[] {
  if (!(problem instanceof Refusal)) return [plain(problem.message)];
  const [first, second] = problem.errors;
  // A sentence about a single place says it all.
  const isSaid = second === undefined && says(problem.message, first?.message ?? '');
  const errors = (isSaid ? [] : problem.errors).map(
    ({ path, message }) => `  ${plain(path === '' ? '/' : path)}  ${plain(message)}`,
  );
  return [`${plain(problem.code)}: ${plain(problem.message)}`, ...errors];
}

function says(sentence: string, message: string): boolean {
  return sentence.toLowerCase().includes(message.toLowerCase());
}
