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
import { columns, jsonText, palette, plain, styleOf, widthOf } from '../text.ts';
import type { Cell, Palette } from '../text.ts';

interface ListOptions {
  status?: Status;
  workflow?: string;
  code?: ErrorCode;
  label?: Record<string, string>;
  after?: string;
  limit?: number;
  json?: true;
}

interface Page {
  jobs: ListedJson[];
  next: string | null;
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

function printPage({ jobs, next }: Page, io: Io): void {
  if (jobs.length === 0) return io.err('No jobs.\n');
  const colours = palette(io.hasColour);
  const full = fullTable(jobs, colours);
  const table = widthOf(full) <= io.columns ? full : narrowTable(jobs, colours, io.columns, Date.now());
  io.out(`${columns(table).join('\n')}\n`);
  if (next !== null) io.err(`There are more: --after ${plain(next)}\n`);
}

function fullTable(jobs: readonly ListedJson[], colours: Palette): Cell[][] {
  const rows: Cell[][] = jobs.map((job) => [
    { text: job.job_id },
    { text: job.workflow },
    { text: job.status, style: styleOf(job.status, colours) },
    { text: String(job.attempt) },
    { text: job.updated_at },
    { text: job.error?.code ?? '' },
  ]);
  return [headerOf(['ID', 'WORKFLOW', 'STATUS', 'ATTEMPT', 'UPDATED', 'ERROR'], colours), ...rows];
}

/** For a terminal that the whole has no room in: ids and codes stay whole, to be copied; names give way. */
function narrowTable(jobs: readonly ListedJson[], colours: Palette, width: number, now: number): Cell[][] {
  const table = (nameWidth: number): Cell[][] => {
    const rows: Cell[][] = jobs.map((job) => [
      { text: job.job_id },
      { text: shortened(job.workflow, nameWidth) },
      { text: job.status, style: styleOf(job.status, colours) },
      { text: ago(Date.parse(job.updated_at), now) },
      { text: job.error?.code ?? '' },
    ]);
    return [headerOf(['ID', 'WORKFLOW', 'STATUS', 'AGO', 'ERROR'], colours), ...rows];
  };
  const longest = Math.max(...jobs.map(({ workflow }) => workflow.length));
  const excess = widthOf(table(longest)) - width;
  return table(Math.max(SHORTEST_NAME, longest - Math.max(0, excess)));
}

const SHORTEST_NAME = 8;

function headerOf(titles: readonly string[], { dim }: Palette): Cell[] {
  return titles.map((text) => ({ text, style: dim }));
}

function shortened(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, width - 1)}…`;
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
] as const;

/** How long ago in the largest unit, such as `5m`. */
function ago(at: number, now: number): string {
  const ms = Math.max(0, now - at);
  const [unit, unitMs] = UNITS.find(([, one]) => ms >= one) ?? ['s', 1000];
  return `${Math.floor(ms / unitMs)}${unit}`;
}
