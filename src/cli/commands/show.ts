import { isUtf8 } from 'node:buffer';
import { buffer } from 'node:stream/consumers';
import { Command } from 'commander';
import { lasted } from '../../domain/answers.ts';
import { inert } from '../../domain/inert.ts';
import type { ErrorJson, EventJson, RecordJson } from '../../domain/view.ts';
import { stoppedBy } from '../../domain/money-rules.ts';
import { callLines } from '../call-lines.ts';
import { deskCommand } from '../command.ts';
import type { Context } from '../command.ts';
import { exportJob } from '../exporting.ts';
import type { Desk } from '../desk.ts';
import type { Host, Io } from '../host.ts';
import { EXIT, Problem } from '../problem.ts';
import { columns, jsonText, palette, paragraph, plain, styleOf } from '../text.ts';
import type { Cell, Palette } from '../text.ts';
import { detailOf } from '../watching.ts';

interface ShowOptions {
  json?: true;
  brief?: true;
  out?: string;
  force?: true;
  artifact?: true | string;
}

export function showCommand(context: Context): Command {
  const { io } = context.host;
  const command = new Command('show')
    .description(
      'Show a job: what was asked, what happens now, what was tried, what came out, what to decide.',
    )
    .argument('<id>', 'the job')
    .option('--json', 'print the whole record as JSON')
    .option('--brief', 'print id, status, attempt, error codes and event types as JSON')
    .option('-a, --artifact [name]', 'write the artifact, or the one of this name, to stdout as it is')
    .option('-o, --out <dir>', 'write record, input, artifacts and evidence there as plain files')
    .option('--force', 'write into a directory that is not empty');
  return deskCommand<ShowOptions>(command, context, async (desk, options, [id = '']) => {
    checkForms(options);
    if (options.artifact !== undefined) {
      await printArtifact(desk, id, options.artifact === true ? null : options.artifact, context.host);
    } else if (options.out !== undefined) {
      await writeOut(desk, id, { dir: options.out, force: options.force === true }, io);
    } else if (options.brief === true) {
      io.out(`${jsonText(await desk.brief(id), 0)}\n`);
    } else {
      const record = await desk.record(id);
      io.out(options.json === true ? `${jsonText(record)}\n` : `${page(record, context.host).join('\n')}\n`);
    }
    return EXIT.ok;
  });
}

function checkForms({ artifact, out, brief, json, force }: ShowOptions): void {
  if (force === true && out === undefined) throw new Problem('--force goes with --out.', EXIT.usage);
  if (artifact !== undefined && (out !== undefined || brief === true || json === true)) {
    throw new Problem('--artifact stands alone: give no --out, --brief or --json with it.', EXIT.usage);
  }
}

async function writeOut(
  desk: Desk,
  id: string,
  target: { dir: string; force: boolean },
  io: Io,
): Promise<void> {
  const { written, missing } = await exportJob(desk, await desk.record(id), target);
  for (const file of written) io.out(`${plain(file)}\n`);
  for (const what of missing) io.err(`Not written: ${plain(what)}\n`);
}

/** The bytes as they are; on a terminal, where they could do something, as inert text. */
async function printArtifact(
  desk: Desk,
  id: string,
  name: string | null,
  { io, command }: Host,
): Promise<void> {
  const body = await desk.artifact(id, name);
  if (!io.isTerminal) return io.bytes(body);
  const bytes = await buffer(body);
  if (!isUtf8(bytes)) {
    const again = `${command} show ${id} --artifact${name === null ? '' : ` ${name}`} > FILE`;
    throw new Problem(`The artifact is no text; write it to a file: ${plain(again)}`, EXIT.usage);
  }
  io.out(inert(bytes.toString('utf8')).replace(/\n?$/, '\n'));
}

/** A record as a page for people. */
function page(record: RecordJson, { io, command }: Host): string[] {
  const colours = palette(io.hasColour);
  const state = styleOf(record.status, colours)(plain(record.status));
  const title = `${colours.bold(plain(record.job_id))}  ${state}`;
  return [
    title,
    '',
    ...answerLines(record, io, colours),
    ...section('Labels', columns(labelRows(record, colours), '  '), colours),
    ...section('Errors', errorLines(record.errors, colours), colours),
    ...section('Calls', callLines(record.calls ?? [], colours), colours),
    ...section(
      'History',
      columns(
        record.events.map((event) => eventRow(event, colours)),
        '  ',
      ),
      colours,
    ),
    ...section(
      'Next',
      nextSteps(record).map((step) => `  ${command} ${plain(step)}`),
      colours,
    ),
  ];
}

function section(title: string, lines: readonly string[], colours: Palette): string[] {
  return lines.length === 0 ? [] : ['', colours.bold(title), ...lines];
}

function answerLines({ answers }: RecordJson, io: Io, colours: Palette): string[] {
  const asked: [label: string, text: string][] = [
    ['Requested', answers.requested],
    ['Now', answers.now],
    ['Tried', answers.tried],
    ['Artifact', answers.artifact],
    ['Decision', answers.decision],
  ];
  const layout = { labelWidth: 11, columns: io.columns, style: colours.bold };
  return asked.flatMap(([label, text]) => paragraph(label, text, layout));
}

function labelRows({ labels }: RecordJson, colours: Palette): Cell[][] {
  return Object.entries(labels).map(([key, value]) => [{ text: key, style: colours.dim }, { text: value }]);
}

function errorLines(errors: readonly ErrorJson[], colours: Palette): string[] {
  return errors.flatMap((error) => {
    const {
      attempt,
      code,
      elapsed_ms: elapsedMs,
      limit_ms: limitMs,
      message,
      issues = [],
      evidence = [],
    } = error;
    const head = `  attempt ${attempt}  ${colours.bad(plain(code))} ${lasted(elapsedMs, limitMs)}`;
    const details: Cell[][] = [
      [{ text: message }],
      ...issues.map((issue) => [
        { text: issue.path === '' ? '(root)' : issue.path, style: colours.dim },
        { text: issue.message },
      ]),
      ...evidence.map(({ kind, uri, bytes }) => [
        { text: kind, style: colours.dim },
        { text: `${uri} (${bytes} bytes)` },
      ]),
    ];
    return [head, ...details.flatMap((row) => columns([row], '    '))];
  });
}

function eventRow(event: EventJson, colours: Palette): Cell[] {
  return [
    { text: String(event.seq).padStart(2), style: colours.dim },
    { text: event.at, style: colours.dim },
    { text: event.type, style: styleOf(event.type, colours) },
    { text: detailOf(event) },
  ];
}

/** The commands that a reader most likely wants next. */
function nextSteps(record: RecordJson): string[] {
  const id = record.job_id;
  const raise = stoppedBy(record.errors.at(-1)?.rule) === null ? '' : '--raise-limit USD ';
  const isInDoubt = record.calls?.some(({ billing }) => billing === 'unknown') === true;
  const doubts = isInDoubt ? [`resolve ${id}`] : [];
  switch (record.status) {
    case 'queued':
    case 'running':
      return [`watch ${id}`];
    case 'completed':
      return [`show ${id} --artifact`, `show ${id} --out ./${id}`, ...doubts];
    case 'dead_letter':
      return [`show ${id} --out ./${id}`, `replay ${id} ${raise}--reason "..."`, ...doubts];
  }
}
