/** What a person says about a job: `replay` and `cancel`. */
import { Command } from 'commander';
import type { NanoUsd } from '../../domain/money.ts';
import { deskCommand } from '../command.ts';
import type { Context } from '../command.ts';
import type { TicketJson } from '../desk.ts';
import type { Io } from '../host.ts';
import { amount, instant, limitsOf, positiveNumber } from '../options.ts';
import type { LimitOptions } from '../options.ts';
import { raiseAndReplay } from '../raising.ts';
import { EXIT } from '../problem.ts';
import { jsonText, plain } from '../text.ts';

interface ReplayOptions extends LimitOptions {
  reason: string;
  decisionId?: string;
  fromEvidence?: true;
  raiseLimit?: NanoUsd;
  json?: true;
}

export function replayCommand(context: Context): Command {
  const command = new Command('replay')
    .description('Have a dead letter run again: the same job, a fresh budget, the old attempts kept.')
    .argument('<id>', 'the job')
    .requiredOption('-r, --reason <text>', 'why, for the history')
    .option('--decision-id <id>', 'refuse unless this is the decision that is open')
    .option('--timeout-ms <ms>', 'another limit of one attempt', positiveNumber)
    .option('--max-attempts <n>', 'another number of attempts', positiveNumber)
    .option('--deadline-ms <ms>', 'another deadline, from now', positiveNumber)
    .option('--deadline-at <instant>', 'another deadline, as date and time', instant)
    .option('--from-evidence', 'answer its calls to models with stored responses, and call no provider')
    .option(
      '--raise-limit <usd>',
      'raise the spending limit that stopped it, whichever it was, to so many dollars',
      amount,
    )
    .option('--json', 'print JSON');
  return deskCommand<ReplayOptions>(
    command,
    context,
    async (desk, options, [id = '']) => {
      const { reason, decisionId, fromEvidence, raiseLimit } = options;
      const request = { reason, decisionId, limits: limitsOf(options), fromEvidence };
      const { ticket, said } =
        raiseLimit === undefined
          ? { ticket: await desk.replay(id, request), said: null }
          : await raiseAndReplay(desk, id, raiseLimit, request);
      const done = said === null ? 'is queued again' : `is queued again. ${said.replace(/\.$/, '')}`;
      return printTicket(ticket, done, options.json === true, context.host.io);
    },
    () => ({ makesStore: false, needsWorkflows: true, demo: false }),
  );
}

export function cancelCommand(context: Context): Command {
  const command = new Command('cancel')
    .description('Stop a job for good, whether it waits or runs.')
    .argument('<id>', 'the job')
    .requiredOption('-r, --reason <text>', 'why, for the history')
    .option('--json', 'print JSON');
  return deskCommand<{ reason: string; json?: true }>(command, context, async (desk, options, [id = '']) => {
    const ticket = await desk.cancel(id, options.reason);
    return printTicket(ticket, 'is cancelled', options.json === true, context.host.io);
  });
}

function printTicket(ticket: TicketJson, said: string, isJson: boolean, io: Io): number {
  io.out(isJson ? `${jsonText(ticket, 0)}\n` : `${plain(ticket.job_id)} ${said}.\n`);
  return EXIT.ok;
}
