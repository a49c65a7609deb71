/** A smoke check from its file of pins to its report. The report has its place before anything is called. */
import { mkdir, open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { SmokeReport } from '../domain/smoke/report.ts';
import { Refusal } from './desk.ts';
import { fileReason } from './file-reasons.ts';
import type { Host, SmokeOpened } from './host.ts';
import { readInput } from './options.ts';
import { EXIT, Problem } from './problem.ts';
import { progressLine, summary } from './smoke-text.ts';
import { jsonText } from './text.ts';

const REPORTS = 'smoke-reports';

/** @throws Problem where the file is refused, or the report has no place */
export async function smoke(
  file: string,
  options: { out?: string; json?: true },
  host: Host,
): Promise<SmokeReport> {
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
