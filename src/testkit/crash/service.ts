/** A process of ours that is killed, paused and started again, over and over, and what it says about itself. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { EventEmitter, once } from 'node:events';

export type Environment = Record<string, string | undefined>;

export interface ServiceOptions {
  /** For messages: `api`. */
  name: string;
  /** The script and its arguments. */
  command: readonly string[];
  /** Asked at each start. */
  env: () => Environment;
  /** What it prints once it is up; its first group is its address. */
  up: RegExp;
  /** Told of an end that nobody asked for, and of what it wrote to stderr. */
  onProblem: (problem: string) => void;
  /** Whether such an end is none; the process is then started again. */
  isExpected?: (end: End) => boolean;
}

/** An end that nobody asked for. */
export interface End {
  code: number | null;
  signal: NodeJS.Signals | null;
  /** Whether it was up before. */
  wasUp: boolean;
}

export interface Service {
  start(): void;
  /** SIGKILL; resolves when it is gone. */
  kill(): Promise<void>;
  /** SIGTERM; resolves with the exit code, or null where a signal ended it. */
  stop(): Promise<number | null>;
  /** Sends a signal that does not end it. */
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void;
  isUp(): boolean;
  /** For how long it has been up and not paused; 0 where it is not. */
  steadyMs(): number;
  /** The address of the process that is up, or of the next one that will be. @throws Error where it ended by itself */
  address(): Promise<string>;
}

export function createService(options: ServiceOptions): Service {
  const { name, command, up, onProblem, isExpected = () => false } = options;
  const changes = new EventEmitter().setMaxListeners(0);
  let child: ChildProcess | null = null;
  let address: string | null = null;
  let problem: string | null = null;
  let steadyFrom = 0;

  function start(): void {
    const started = spawn(process.execPath, command, {
      env: options.env(),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child = started;
    problem = null;
    let said = '';
    let complaint = '';
    started.stdout.on('data', (chunk: Buffer) => {
      if (address !== null || child !== started) return;
      said += chunk.toString();
      const found = up.exec(said);
      if (found === null) return;
      address = found[1] ?? '';
      steadyFrom = performance.now();
      changes.emit('change');
    });
    started.stderr.on('data', (chunk: Buffer) => {
      complaint = `${complaint}${chunk.toString()}`.slice(-2000);
    });
    started.once('exit', (code, signal) => {
      if (child !== started) return;
      const wasUp = address !== null;
      address = null;
      if (isExpected({ code, signal, wasUp })) return start();
      problem = `${name} ended by itself (${signal ?? code}): ${complaint}`;
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
    signal(signal) {
      child?.kill(signal);
      steadyFrom = signal === 'SIGSTOP' ? Number.POSITIVE_INFINITY : performance.now();
    },
    isUp: () => address !== null,
    steadyMs: () => (address === null ? 0 : Math.max(0, performance.now() - steadyFrom)),
    async address() {
      for (;;) {
        if (address !== null) return address;
        if (problem !== null) throw new Error(problem);
        await once(changes, 'change');
      }
    },
  };
}
