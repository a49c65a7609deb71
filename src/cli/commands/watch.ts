import { Command } from 'commander';
import { deskCommand } from '../command.ts';
import type { Context } from '../command.ts';
import { EXIT } from '../problem.ts';
import { watchToEnd } from '../watching.ts';

export function watchCommand(context: Context): Command {
  const command = new Command('watch')
    .description('Follow a job live until it has ended; exit code 1 where it died.')
    .argument('<id>', 'the job')
    .option('--json', 'print each event as a line of JSON');
  return deskCommand<{ json?: true }>(command, context, async (desk, { json }, [id = '']) => {
    const status = await watchToEnd(desk, id, {
      io: context.host.io,
      print: json === true ? 'json' : 'text',
    });
    return status === 'completed' ? EXIT.ok : EXIT.failed;
  });
}
