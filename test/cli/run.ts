/** The command line as its users run it: processes of the built package, on a data directory of their own. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import type { Io } from '../../src/cli/host.ts';
import { runProgram } from '../../src/cli/program.ts';
import { commandHost } from '../../src/main/command-host.ts';

export const BIN = fileURLToPath(new URL('../../bin/claimcheck', import.meta.url));

export function tempDir(): string {
  const dir = mkdtempSync(join(tmpdir(), 'claimcheck-cli-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

export interface Started {
  process: ChildProcess;
  /** All that it wrote so far. */
  stdout(): string;
  stderr(): string;
  /** Resolves when it has written this; rejects where it ends before. */
  printed(pattern: RegExp, stream?: 'stdout' | 'stderr'): Promise<RegExpExecArray>;
  /** Resolves when it has ended, and every process that shares its output as well. */
  ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
}

export interface Where {
  cwd: string;
  env?: Record<string, string>;
}

/** Starts a command; whatever is left of it is killed when the test ends. */
export function start(args: readonly string[], { cwd, env = {} }: Where): Started {
  const child = spawn(process.execPath, [BIN, ...args], { cwd, env: { ...process.env, ...env } });
  const written = { stdout: '', stderr: '' };
  const ended = once(child, 'close').then(([code, signal]) => ({
    code: code as number | null,
    signal: signal as NodeJS.Signals | null,
  }));
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].on('data', (chunk: Buffer) => {
      written[name] += chunk.toString();
      child.emit('written');
    });
  }
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });

  async function printed(pattern: RegExp, stream: 'stdout' | 'stderr' = 'stdout') {
    let isOver = false;
    void ended.then(() => {
      isOver = true;
      child.emit('written');
    });
    for (;;) {
      const found = pattern.exec(written[stream]);
      if (found !== null) return found;
      if (isOver) throw new Error(`it ended without ${pattern}:\n${written.stdout}\n${written.stderr}`);
      await once(child, 'written');
    }
  }
  return { process: child, stdout: () => written.stdout, stderr: () => written.stderr, printed, ended };
}

export interface Finished {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs a command to its end. */
export async function run(args: readonly string[], where: Where): Promise<Finished> {
  const started = start(args, where);
  started.process.stdin?.end();
  const { code } = await started.ended;
  return { code, stdout: started.stdout(), stderr: started.stderr() };
}

interface HereOptions {
  stdin?: string;
  /** Of a terminal that shows the output; without it, the output goes into a file. */
  columns?: number;
}

/**
 * Runs a command in this process, with the same parts and without the start of another: for what a command does, where
 * the process itself is not the matter.
 */
export async function runHere(args: readonly string[], options: HereOptions = {}): Promise<Finished> {
  const written = { stdout: '', stderr: '' };
  const io: Io = {
    out: (text) => void (written.stdout += text),
    err: (text) => void (written.stderr += text),
    bytes: async (body) => void (written.stdout += (await buffer(body)).toString('latin1')),
    stdin: () => Promise.resolve(Buffer.from(options.stdin ?? '')),
    isTerminal: options.columns !== undefined,
    hasColour: false,
    columns: options.columns ?? Number.POSITIVE_INFINITY,
  };
  const code = await runProgram(args, commandHost(io, 'claimcheck'));
  return { code, ...written };
}

export interface Server extends Started {
  url: string;
  key: string;
  /** The flags with which the commands ask this server. */
  client: string[];
  /** Asks the API. */
  ask(path: string, body?: unknown): Promise<{ status: number; json: Record<string, unknown> }>;
}

/** `serve` on a free port, once it listens. */
export async function serve(args: readonly string[], where: Where): Promise<Server> {
  const started = start(['serve', '--port', '0', ...args], where);
  const [, url = ''] = await started.printed(/listens on (http:\S+)/);
  await started.printed(/Ctrl-C stops it/);
  const key = /^ {2}(ck_\S+)$/m.exec(started.stdout())?.[1] ?? where.env?.['CLAIMCHECK_BOOTSTRAP_KEY'] ?? '';
  async function ask(path: string, body?: unknown) {
    const response = await fetch(`${url}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, json: (await response.json()) as Record<string, unknown> };
  }
  return { ...started, url, key, ask, client: ['--url', url, '--api-key', key] };
}

/** Waits for the end of a job by the API, and gives its brief record. */
export async function endOf(server: Server, jobId: string): Promise<Record<string, unknown>> {
  for (;;) {
    const { json } = await server.ask(`/ai-jobs/${jobId}?wait=20`);
    if (json['status'] === 'completed' || json['status'] === 'dead_letter') break;
  }
  return (await server.ask(`/ai-jobs/${jobId}/record?view=brief`)).json;
}
