import { Command, Option } from 'commander';
import { ERROR_CODES } from '../../domain/failures.ts';
import type { ErrorCode } from '../../domain/failures.ts';
import type { Status } from '../../domain/record.ts';
import { deskCommand } from '../command.ts';
import type { Context } from '../command.ts';
import type { ListedJson } from '../desk.ts';
import type { Io } from '../host.ts';
import { pair, positiveNumber } from '../options.ts';
import { EXIT } from '../problem.ts';
import { columns, jsonText, palette, plain, styleOf } from '../text.ts';
import type { Cell } from '../text.ts';

interface ListOptions {
  status?: Status;
  workflow?: string;
  code?: ErrorCode;
  label?: Record<string, string>;
  after?: string;
  limit?: number;
  json?: true;
}

export function listCommand(context: Context): Command {
  const command = new Command('list')
    .description('List jobs, newest first.')
    .addOption(
      new Option('-s, --status <status>', 'only in this state').choices([
        'queued',
        'running',
        'completed',
        'dead_letter',
      ]),
    )
    .option('-w, --workflow <name>', 'only of this workflow')
    .addOption(new Option('-c, --code <code>', 'only dead letters of this error').choices(ERROR_CODES))
    .option('-l, --label <key=value>', 'only with this label; may be repeated', pair)
    .option('-n, --limit <n>', 'jobs at most', positiveNumber)
    .option('--after <cursor>', 'go on where an earlier page ended')
    .option('--json', 'print JSON');
  return deskCommand<ListOptions>(command, context, async (desk, options) => {
    const { json, label = {}, status, workflow, code, after, limit } = options;
    const page = await desk.list({ status, workflow, code, after, limit, labels: label });
    const { io } = context.host;
    if (json === true) io.out(`${jsonText(page)}\n`);
    else printPage(page, io);
    return EXIT.ok;
  });
}

function printPage({ jobs, next }: { jobs: ListedJson[]; next: string | null }, io: Io): void {
  if (jobs.length === 0) return io.err('No jobs.\n');
  const colours = palette(io.hasColour);
  const header = ['ID', 'WORKFLOW', 'STATUS', 'ATTEMPT', 'UPDATED', 'ERROR'];
  const rows: Cell[][] = jobs.map((job) => [
    { text: job.job_id },
    { text: job.workflow },
    { text: job.status, style: styleOf(job.status, colours) },
    { text: String(job.attempt) },
    { text: job.updated_at },
    { text: job.error?.code ?? '' },
  ]);
  const lines = columns([header.map((text) => ({ text, style: colours.dim })), ...rows]);
  io.out(`${lines.join('\n')}\n`);
  if (next !== null) io.err(`There are more: --after ${plain(next)}\n`);
}
