/** `spending`: what was spent today, beside its limits, and the limits that a person sets. */
import { Command } from 'commander';
import type { AccountJson } from '../../domain/accounts.ts';
import { deskCommand } from '../command.ts';
import type { Context } from '../command.ts';
import type { Host } from '../host.ts';
import { limitSentence, money } from '../money.ts';
import { amountOrNone } from '../options.ts';
import { EXIT } from '../problem.ts';
import { columns, jsonText, palette, plain } from '../text.ts';
import type { Cell } from '../text.ts';

export function spendingCommand(context: Context): Command {
  return new Command('spending')
    .description('What calls to models cost today (UTC), and the limits.')
    .addCommand(showCommand(context), { isDefault: true })
    .addCommand(setLimitCommand(context));
}

function showCommand(context: Context): Command {
  const command = new Command('show')
    .description('What was spent today, what is held, and the limits.')
    .option('--json', 'print JSON');
  return deskCommand<{ json?: true }>(
    command,
    context,
    async (desk, { json }) => {
      const accounts = await desk.spending();
      const { host } = context;
      host.io.out(json === true ? `${jsonText({ accounts })}\n` : `${table(accounts, host).join('\n')}\n`);
      return EXIT.ok;
    },
    () => ({ makesStore: false, needsWorkflows: true, demo: false }),
  );
}

interface SetLimitOptions {
  workflow?: string;
  reason: string;
  json?: true;
}

function setLimitCommand(context: Context): Command {
  const { io } = context.host;
  const command = new Command('set-limit')
    .description('Set what all workflows together, or one of them, may cost in a day, from now on.')
    .argument('<usd>', 'dollars, or none for no limit', amountOrNone)
    .option('-w, --workflow <name>', 'of this workflow alone')
    .requiredOption('-r, --reason <text>', 'why, for the history')
    .option('--json', 'print JSON');
  return deskCommand<SetLimitOptions>(
    command,
    context,
    async (desk, { workflow, reason, json }) => {
      const [limit] = command.processedArgs as [number | null];
      const name = workflow ?? null;
      const scope = name === null ? 'day' : 'workflow';
      const account = await desk.setSpendingLimit({ scope, name, limit, reason });
      io.out(json === true ? `${jsonText(account, 0)}\n` : `${plain(limitSentence(account))}\n`);
      return EXIT.ok;
    },
    () => ({ makesStore: false, needsWorkflows: true, demo: false }),
  );
}

function table(accounts: readonly AccountJson[], { io }: Host): string[] {
  const { dim, bad } = palette(io.hasColour);
  const header = ['ACCOUNT', 'SPENT', 'HELD', 'LIMIT', 'SET BY'].map((text) => ({ text, style: dim }));
  const rows = accounts.map((account): Cell[] => {
    const { spent_usd: spent, reserved_usd: held, limit_usd: limit } = account;
    const isFull = limit !== null && spent + held >= limit;
    return [
      { text: account.scope === 'day' ? `all, ${account.name}` : account.name },
      { text: money(spent) },
      { text: money(held) },
      { text: limit === null ? 'none' : money(limit), ...(isFull ? { style: bad } : {}) },
      { text: account.set_by?.actor ?? account.limit_from ?? '' },
    ];
  });
  return columns([header, ...rows]);
}
