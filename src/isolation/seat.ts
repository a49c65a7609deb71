/**
 * One stint of an isolated process, seen from the worker: the process loads, waits, runs an attempt, and its end is
 * heard. It is killed where nobody waits for its function any more, and where anything about it was not in order.
 */
import { randomUUID } from 'node:crypto';
import type { Tinypool, TinypoolWorker } from 'tinypool';
import { readThrown } from '../domain/thrown.ts';
import type { IsolatedAttempt, IsolatedEnd } from '../ports/isolation.ts';
import type { Lane } from '../ports/job-store.ts';
import { Desk } from './desk.ts';
import { isObject, readFromProcess } from './messages.ts';
import type { EndData, FromProcess, Stint, ToProcess } from './messages.ts';

export interface SeatOptions {
  pool: Tinypool;
  /** What the process has to know. */
  lanes: readonly Lane[];
  memoryBytes: number;
  load: unknown;
  onReady: (seat: Seat) => void;
  onOver: (seat: Seat, over: SeatOver) => void;
}

/** How a stint was over. */
export interface SeatOver {
  /** Why its process came to no attempt; null where it did, or was let go. */
  problem: string | null;
  hasRun: boolean;
  /** It ran its attempt, and its process can run another. */
  reusable: boolean;
}

/** How long a process may take to load its workflows. */
const STARTUP_MS = 60_000;
/** What a function that is told and given up at the same moment has for its listeners. */
const TOLD_MS = 250;
/** How long an exit that was noticed may take to say its code. */
const EXIT_MS = 1000;

export class Seat {
  readonly #options: SeatOptions;
  readonly #nonce = randomUUID();
  readonly #killing = new AbortController();
  readonly #startup: NodeJS.Timeout;
  #send: (message: ToProcess) => void = () => {};
  #thread: TinypoolWorker | null = null;
  #running: { attempt: IsolatedAttempt; desk: Desk; finish: (end: IsolatedEnd) => void } | null = null;
  #problem: string | null = 'it ended while it loaded its workflows';
  #hasRun = false;
  #toldAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: SeatOptions) {
    this.#options = options;
    this.#startup = setTimeout(() => this.#fail('it took too long to load its workflows'), STARTUP_MS);
    void this.#serve();
  }

  /** Runs an attempt; once, where it is ready. */
  run(attempt: IsolatedAttempt): Promise<IsolatedEnd> {
    const { job, maxOutputBytes, signal, givenUp, host } = attempt;
    this.#hasRun = true;
    return new Promise((finish) => {
      this.#running = { attempt, desk: new Desk(host, (message) => this.#send(message)), finish };
      this.#send({ type: 'run', job, maxOutputBytes });
      const tell = () => this.#tell(signal);
      if (signal.aborted) tell();
      else signal.addEventListener('abort', tell, { once: true });
      void givenUp.then(() => this.#killOnceTold());
    });
  }

  /** Lets the process go, where no attempt runs in it. */
  dismiss(): void {
    this.#send({ type: 'dismiss' });
  }

  kill(): void {
    if (this.#killing.signal.aborted) return;
    if (this.#thread !== null) killProcess(this.#thread.threadId);
    this.#killing.abort();
  }

  async #serve(): Promise<void> {
    const { pool, memoryBytes, load, onOver } = this.#options;
    const stint: Stint = { nonce: this.#nonce, parentPid: process.pid, memoryBytes, load };
    const channel = {
      onMessage: (send: (message: unknown) => void) => void (this.#send = send),
      postMessage: (message: unknown) => this.#hear(message),
    };
    const returned = await pool.run(stint, { channel, signal: this.#killing.signal }).then(
      () => true,
      () => false, // it was killed, or ended by itself
    );
    clearTimeout(this.#startup);
    this.#send = () => {};
    if (!returned && !this.#hasRun) this.#problem ??= 'it ended while it waited for an attempt';
    if (this.#running !== null) this.#finish({ type: 'lost', how: await this.#howItEnded() });
    onOver(this, { problem: this.#problem, hasRun: this.#hasRun, reusable: returned && this.#hasRun });
  }

  #hear(message: unknown): void {
    const said = readFromProcess(message, this.#nonce);
    if (said === null) return; // not of this stint
    switch (said.type) {
      case 'ready':
        return this.#ready(said);
      case 'failed':
        return this.#fail(said.problem);
      case 'ended':
        return this.#ended(said);
      case 'log':
      case 'progress':
      case 'partial':
      case 'call':
        return this.#running?.desk.hear(said);
    }
  }

  #ready({ pid, lanes }: Extract<FromProcess, { type: 'ready' }>): void {
    if (this.#thread !== null) return; // a second attempt would take the place of the first
    const { pool, lanes: wanted } = this.#options;
    this.#thread = pool.threads.find(({ threadId }) => threadId === pid) ?? null;
    const missing = wanted.find((lane) => !lanes.some((known) => isSame(known, lane)));
    if (this.#thread === null) return this.#fail('it is no process of this pool');
    if (missing !== undefined) return this.#fail(notKnown(missing));
    clearTimeout(this.#startup);
    this.#problem = null;
    void exitOf(this.#thread);
    this.#options.onReady(this);
  }

  #ended({ end, clean }: Extract<FromProcess, { type: 'ended' }>): void {
    const running = this.#running;
    if (running === null) return this.kill();
    this.#finish(endOf(end, running.attempt.maxOutputBytes));
    if (!clean) this.kill();
  }

  #finish(end: IsolatedEnd): void {
    this.#running?.desk.close();
    this.#running?.finish(end);
    this.#running = null;
  }

  #fail(problem: string): void {
    this.#problem = problem;
    this.kill();
  }

  #tell({ reason }: AbortSignal): void {
    if (this.#running === null) return;
    const ending: unknown = isObject(reason) ? reason['ending'] : undefined;
    this.#toldAtMs = performance.now();
    this.#send({ type: 'abort', ending: String(ending) });
  }

  #killOnceTold(): void {
    if (this.#running === null) return;
    const waitMs = this.#toldAtMs + TOLD_MS - performance.now();
    if (waitMs <= 0) this.kill();
    else setTimeout(() => this.#running !== null && this.kill(), waitMs);
  }

  async #howItEnded(): Promise<string> {
    const exit = this.#thread === null ? 'in an unknown way' : exitOf(this.#thread);
    const late = new Promise<string>((resolve) => setTimeout(resolve, EXIT_MS, 'in an unknown way').unref());
    return `The process of the attempt ended ${await Promise.race([exit, late])}.`;
  }
}

const exits = new WeakMap<TinypoolWorker, Promise<string>>();

/** How a process ends, in words. */
export function exitOf(thread: TinypoolWorker): Promise<string> {
  const known = exits.get(thread);
  if (known !== undefined) return known;
  const exit = new Promise<string>((resolve) => {
    thread.once('exit', (code: number | null, signal: NodeJS.Signals | null) =>
      resolve(inWords(code, signal)),
    );
  });
  exits.set(thread, exit);
  return exit;
}

function inWords(code: number | null, signal: NodeJS.Signals | null): string {
  if (signal === null) return `with exit code ${code}`;
  if (signal === 'SIGABRT') return 'by SIGABRT, as Node does where its memory is used up';
  if (signal === 'SIGKILL') return 'by SIGKILL: it took more memory than it may, or was killed from outside';
  return `by ${signal}`;
}

export function killProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // it is gone already
  }
}

function isSame(one: Lane, other: Lane): boolean {
  return (
    one.workflow === other.workflow &&
    one.version === other.version &&
    one.outputSchemaSha256 === other.outputSchemaSha256
  );
}

function notKnown({ workflow, version }: Lane): string {
  return `its module exports no workflow ${workflow} version ${version} with this output schema`;
}

function endOf({ output, artifacts, thrown }: EndData, maxOutputBytes: number): IsolatedEnd {
  if (thrown !== undefined) return { type: 'threw', thrown: readThrown(thrown) };
  if (!(output instanceof Uint8Array)) {
    return { type: 'threw', thrown: { code: 'workflow_error', text: 'its process gave back no output' } };
  }
  if (output.byteLength > maxOutputBytes) {
    const text = `The output is larger than ${maxOutputBytes} bytes.`;
    return { type: 'threw', thrown: { code: 'output_too_large', text } };
  }
  return { type: 'returned', output, artifacts: Array.isArray(artifacts) ? artifacts.filter(isNamed) : [] };
}

function isNamed(artifact: unknown): artifact is { name: string; uri: string } {
  return isObject(artifact) && typeof artifact['name'] === 'string' && typeof artifact['uri'] === 'string';
}
