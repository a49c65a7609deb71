/** A process of ours that is killed and started again, over and over, and what it says about itself. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { EventEmitter, once } from 'node:events';

export interface ServiceOptions {
  /** For messages: `api`. */
  name: string;
  /** The script and its arguments. */
  command: readonly string[];
  env: Record<string, string | undefined>;
  /** What it prints once it is up; its first group is its address. */
  up: RegExp;
  /** Told of an end that nobody asked for, and of what it wrote to stderr. */
  onProblem: (problem: string) => void;
}

export interface Service {
  start(): void;
  /** SIGKILL; resolves when it is gone. */
  kill(): Promise<void>;
  /** SIGTERM; resolves with the exit code. */
  stop(): Promise<number | null>;
  /** The address of the process that is up, or of the next one that will be. @throws Error where it ended by itself */
  address(): Promise<string>;
}

export function createService({ name, command, env, up, onProblem }: ServiceOptions): Service {
  const changes = new EventEmitter().setMaxListeners(0);
  let child: ChildProcess | null = null;
  let address: string | null = null;
  let problem: string | null = null;

  function start(): void {
    const started = spawn(process.execPath, command, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    child = started;
    problem = null;
    let said = '';
    let complaint = '';
    started.stdout.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      const found = up.exec(said);
      if (found === null || address !== null || child !== started) return;
      address = found[1] ?? '';
      changes.emit('change');
    });
    started.stderr.on('data', (chunk: Buffer) => {
      complaint = `${complaint}${chunk.toString()}`.slice(-2000);
    });
    started.once('exit', (code, signal) => {
      if (child !== started) return;
      problem = `${name} ended by itself (${signal ?? code}): ${complaint}`;
      address = null;
      onProblem(problem);
      changes.emit('change');
    });
  }

  async function end(signal: NodeJS.Signals): Promise<number | null> {
    const ending = child;
    child = null;
    address = null;
    if (ending === null || ending.exitCode !== null || ending.signalCode !== null)
      return ending?.exitCode ?? null;
    const exited = once(ending, 'exit');
    ending.kill(signal);
    await exited;
    return ending.exitCode;
  }

  return {
    start,
    kill: async () => void (await end('SIGKILL')),
    stop: () => end('SIGTERM'),
    async address() {
      for (;;) {
        if (address !== null) return address;
        if (problem !== null) throw new Error(problem);
        await once(changes, 'change');
      }
    },
  };
}
