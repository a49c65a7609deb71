/** `smoke`: a live check of a provider, by a file that pins it, with a report of its own. */
import { mkdir, open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Command } from 'commander';
import type { SmokeReport } from '../../domain/smoke/report.ts';
import type { Context } from '../command.ts';
import { Refusal } from '../desk.ts';
import { fileReason } from '../file-reasons.ts';
import type { Host, SmokeOpened } from '../host.ts';
import { readInput } from '../options.ts';
import { EXIT, Problem } from '../problem.ts';
import { SMOKE_EXAMPLE } from '../smoke-example.ts';
import { progressLine, summary } from '../smoke-text.ts';
import { jsonText } from '../text.ts';

interface SmokeOptions {
  out?: string;
  json?: true;
  example?: true;
}

const REPORTS = 'smoke-reports';

export function smokeCommand({ host, finish }: Context): Command {
  return new Command('smoke')
    .description('Check a provider live, by a file that pins what is asked and what it may cost.')
    .argument('[file]', 'the pins, as JSON')
    .option('-o, --out <file>', `where the report goes (default: ${REPORTS}/NAME-INSTANT.json)`)
    .option('--json', 'print the report')
    .option('--example', 'print a complete file to start from, and call nothing')
    .action(async (file: string | undefined, options: SmokeOptions) => {
      if (options.example === true) {
        host.io.out(`${jsonText(SMOKE_EXAMPLE)}\n`);
        return finish(EXIT.ok);
      }
      if (file === undefined) {
        throw new Problem(
          `Give the file of pins, or --example to see one: ${host.command} smoke --example`,
          EXIT.usage,
        );
      }
      const report = await check(file, options, host);
      finish(report.as_pinned ? EXIT.ok : EXIT.failed);
    });
}

async function check(file: string, options: SmokeOptions, host: Host): Promise<SmokeReport> {
  const { io } = host;
  const pins = pinned(await host.openSmoke(await readInput(`@${file}`, io)), file);
  const path =
    options.out ?? join(REPORTS, `${pins.name}-${new Date().toISOString().replaceAll(':', '-')}.json`);
  // Before anything is called: what was paid for is not to be lost to a full or a foreign directory.
  const handle = await create(path);
  try {
    const report = await pins.run(async (soFar) => {
      await write(handle, path, soFar);
      if (io.isTerminal) io.err(`${progressLine(soFar, pins.calls)}\n`);
    });
    await write(handle, path, report);
    const text = options.json === true ? [jsonText(report)] : summary(report, path, io.hasColour);
    io.out(`${text.join('\n')}\n`);
    return report;
  } finally {
    await handle.close();
  }
}

function pinned(opened: SmokeOpened, file: string): Extract<SmokeOpened, { ok: true }> {
  if (opened.ok) return opened;
  throw new Refusal({
    code: 'not_pinned',
    detail: `${file} does not pin the check; nothing was called.`,
    errors: opened.issues,
    exitCode: EXIT.usage,
  });
}

/** Never over something that is there. */
async function create(path: string): Promise<FileHandle> {
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    return await open(path, 'wx', 0o600);
  } catch (error) {
    throw cannotWrite(path, error);
  }
}

/** The whole report in place of what it was after the call before. */
async function write(handle: FileHandle, path: string, report: SmokeReport): Promise<void> {
  const bytes = Buffer.from(`${jsonText(report)}\n`);
  try {
    await handle.write(bytes, 0, bytes.byteLength, 0);
    await handle.truncate(bytes.byteLength);
  } catch (error) {
    throw cannotWrite(path, error);
  }
}

function cannotWrite(path: string, error: unknown): Problem {
  return new Problem(`Cannot write the report to ${path}: ${fileReason(error, 'write')}.`, EXIT.unavailable);
}
