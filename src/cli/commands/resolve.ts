/** `resolve`: the calls of a job whose cost nobody knows, and what a person found out about one. */
import { Command } from 'commander';
import type { CallJson } from '../../domain/call-view.ts';
import type { NanoUsd } from '../../domain/money.ts';
import { deskCommand } from '../command.ts';
import type { Context } from '../command.ts';
import type { Desk } from '../desk.ts';
import type { Host } from '../host.ts';
import { money } from '../money.ts';
import { amount, positiveNumber } from '../options.ts';
import { EXIT, Problem } from '../problem.ts';
import { columns, jsonText, palette, plain } from '../text.ts';

interface ResolveOptions {
  call?: number;
  cost?: NanoUsd;
  reason?: string;
  json?: true;
}

export function resolveCommand(context: Context): Command {
  const { io } = context.host;
  const command = new Command('resolve')
    .description(
      'Say what a call to a model cost of which nobody knew it; without --call, list those of the job.',
    )
    .argument('<id>', 'the job')
    .option('--call <n>', 'the number of the call, as the list has it', positiveNumber)
    .option('--cost <usd>', 'what it cost, in dollars', amount)
    .option('-r, --reason <text>', 'how you know, for the history')
    .option('--json', 'print JSON');
  return deskCommand<ResolveOptions>(command, context, async (desk, options, [id = '']) => {
    const { call: n, cost, reason, json } = options;
    if (n === undefined) {
      if (cost !== undefined || reason !== undefined)
        throw new Problem('--cost and --reason go with --call.', EXIT.usage);
      return list(desk, id, json === true, context.host);
    }
    if (cost === undefined || reason === undefined) {
      throw new Problem('--call goes with --cost and --reason.', EXIT.usage);
    }
    const call = await desk.settleCall(id, n, { cost, reason });
    const said = `Call ${n} of ${id} cost ${money(call.cost_usd ?? 0)}; what was held for it is let go.`;
    io.out(json === true ? `${jsonText(call, 0)}\n` : `${plain(said)}\n`);
    return EXIT.ok;
  });
}

async function list(desk: Desk, id: string, isJson: boolean, { io, command }: Host): Promise<number> {
  const { calls = [] } = await desk.record(id);
  const unknown = calls.filter(({ billing }) => billing === 'unknown');
  if (isJson) io.out(`${jsonText({ calls: unknown })}\n`);
  else if (unknown.length === 0) io.err(`No call of ${plain(id)} is in doubt.\n`);
  else {
    io.out(`${table(unknown, io.hasColour).join('\n')}\n`);
    io.err(`Settle one with: ${command} resolve ${plain(id)} --call N --cost USD --reason "..."\n`);
  }
  return EXIT.ok;
}

function table(calls: readonly CallJson[], hasColour: boolean): string[] {
  const { dim } = palette(hasColour);
  const header = ['CALL', 'ATTEMPT', 'MODEL', 'STARTED', 'HELD', 'REQUEST'].map((text) => ({
    text,
    style: dim,
  }));
  const rows = calls.map((call) => [
    { text: String(call.n) },
    { text: String(call.attempt) },
    { text: `${call.provider}/${call.requested_model}` },
    { text: call.started_at },
    { text: money(call.reserved_usd) },
    { text: call.request_id ?? '' },
  ]);
  return columns([header, ...rows]);
}
