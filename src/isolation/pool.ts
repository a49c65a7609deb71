/**
 * The isolated processes of one worker.
 *
 * One process is loaded and waits as long as the worker runs; another is started when the last that waits is given an
 * attempt, up to as many as may be. So a job is claimed only for a process that can begin at once, and no
 * attempt's time limit runs while one starts. A process whose attempt left nothing behind goes on to wait for the
 * next; one that waits in vain for a minute is let go, the last one excepted.
 */
import { Tinypool } from 'tinypool';
import type { IsolatedAttempt, IsolatedEnd, Isolation } from '../ports/isolation.ts';
import type { Lane } from '../ports/job-store.ts';
import type { Log } from '../ports/telemetry.ts';
import { Seat, exitOf, killProcess } from './seat.ts';
import type { SeatOver } from './seat.ts';

export interface IsolationOptions {
  /** The module that the processes run: its default export serves a `Stint`. */
  entry: string;
  env: Record<string, string>;
  /** What the processes are to load; plain data. */
  load: unknown;
  /** What they have to know once they did. */
  lanes: readonly Lane[];
  /** How many there may be. */
  size: number;
  /** The most that one may take, all in all. */
  memoryBytes: number;
  log: Log;
  /** Told, in words, when no process gets ready; the pool goes on trying. */
  onProblem?: (problem: string) => void;
}

const IDLE_MS = 60_000;
/** How long a process is kept whose stint is over: it gets another at once, or none. */
const UNSEATED_MS = 1000;
const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 30_000;
const STOP_MS = 2000;
/** The heap's part of what a process may take; the rest is code, buffers and stacks. */
const HEAP_PART = 0.75;
const MIB = 1024 ** 2;

export function createIsolation(options: IsolationOptions): Isolation {
  return new Processes(options);
}

class Processes implements Isolation {
  readonly #options: IsolationOptions;
  readonly #pool: Tinypool;
  readonly #loading = new Set<Seat>();
  /** Those that wait for an attempt, each with the timer that lets it go. */
  readonly #ready = new Map<Seat, NodeJS.Timeout>();
  readonly #running = new Set<Seat>();
  readonly #listeners = new Set<() => void>();
  /** Attempts that came when none was ready. */
  readonly #waiting: ((seat: Seat | null) => void)[] = [];
  #failures = 0;
  #state: 'new' | 'open' | 'pausing' | 'stopped' = 'new';

  constructor(options: IsolationOptions) {
    this.#options = options;
    this.#pool = new Tinypool({
      runtime: 'child_process',
      serialization: 'advanced',
      filename: options.entry,
      env: options.env,
      // none of this process's own flags, some of which (`--eval`, `--inspect`) are not to be had twice
      execArgv: [`--max-old-space-size=${Math.floor((options.memoryBytes * HEAP_PART) / MIB)}`],
      minThreads: 0,
      maxThreads: options.size,
      idleTimeout: UNSEATED_MS,
      useAtomics: false,
    });
    // a process that ends before it takes its stint: the pool does not say whose it was
    this.#pool.on('error', () => {
      for (const seat of this.#loading) seat.kill();
    });
  }

  start(): void {
    this.#state = 'open';
    this.#fill();
  }

  ready(): number {
    return this.#ready.size;
  }

  onReady(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  async run(attempt: IsolatedAttempt): Promise<IsolatedEnd> {
    const seat = await this.#take(attempt.givenUp);
    if (seat === null) return { type: 'lost', how: 'No process was there to begin it.' };
    const ended = seat.run(attempt);
    this.#fill();
    return ended;
  }

  async stop(): Promise<void> {
    if (this.#state === 'stopped') return;
    this.#state = 'stopped';
    for (const give of this.#waiting.splice(0)) give(null);
    for (const timer of this.#ready.values()) clearTimeout(timer);
    const ended = Promise.all(this.#pool.threads.map(exitOf));
    // at once, where the pool would first ask
    for (const { threadId } of this.#pool.threads) killProcess(threadId);
    for (const seat of [...this.#loading, ...this.#ready.keys(), ...this.#running]) seat.kill();
    const late = new Promise<void>((resolve) => setTimeout(resolve, STOP_MS).unref());
    await Promise.race([Promise.all([ended, this.#pool.destroy()]), late]);
  }

  /** One that is ready, or the next that gets ready; null where nobody waits for it any more. */
  async #take(givenUp: Promise<unknown>): Promise<Seat | null> {
    const [seat] = this.#ready.keys();
    if (seat !== undefined) return this.#seize(seat);
    if (this.#state === 'stopped') return null;
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      void givenUp.then(() => {
        const at = this.#waiting.indexOf(resolve);
        if (at >= 0) this.#waiting.splice(at, 1);
        resolve(null);
      });
    });
  }

  #seize(seat: Seat): Seat {
    clearTimeout(this.#ready.get(seat));
    this.#ready.delete(seat);
    this.#running.add(seat);
    return seat;
  }

  /** Sees to it that one is ready, or will be. */
  #fill(): void {
    const count = this.#loading.size + this.#ready.size + this.#running.size;
    if (this.#state === 'open' && this.#loading.size + this.#ready.size === 0 && count < this.#options.size)
      this.#open();
  }

  #open(): void {
    const { lanes, memoryBytes, load } = this.#options;
    const seat = new Seat({
      pool: this.#pool,
      lanes,
      memoryBytes,
      load,
      onReady: (ready) => this.#isReady(ready),
      onOver: (ended, over) => this.#isOver(ended, over),
    });
    this.#loading.add(seat);
  }

  #isReady(seat: Seat): void {
    this.#loading.delete(seat);
    const give = this.#waiting.shift();
    if (give !== undefined) {
      this.#running.add(seat);
      give(seat);
      return this.#fill();
    }
    this.#ready.set(seat, setTimeout(() => this.#letGo(seat), IDLE_MS).unref());
    for (const listener of this.#listeners) listener();
  }

  #letGo(seat: Seat): void {
    if (this.#ready.size === 1) return void this.#ready.get(seat)?.refresh();
    this.#ready.delete(seat);
    seat.dismiss();
  }

  #isOver(seat: Seat, { problem, hasRun, reusable }: SeatOver): void {
    this.#loading.delete(seat);
    this.#running.delete(seat);
    clearTimeout(this.#ready.get(seat));
    this.#ready.delete(seat);
    if (this.#state === 'stopped') return;
    if (hasRun) this.#failures = 0;
    if (problem !== null) return this.#pause(problem);
    if (reusable && this.#state === 'open') this.#open();
    else this.#fill();
  }

  /** No process gets ready: tried again after a while, and then after twice as long. */
  #pause(problem: string): void {
    const { log, onProblem } = this.#options;
    const retryMs = Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(10, this.#failures));
    onProblem?.(problem);
    this.#failures += 1;
    // a single one may have been ended with its process group, before it could ignore that
    if (this.#failures === 2)
      log.error({}, `no isolated process gets ready: ${problem}; it is tried again and again`);
    this.#state = 'pausing';
    setTimeout(() => {
      if (this.#state !== 'pausing') return;
      this.#state = 'open';
      this.#fill();
    }, retryMs).unref();
  }
}
