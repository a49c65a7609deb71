/**
 * The inside of an isolated process: one stint after another, each a conversation of its own with the worker.
 *
 * The process is used again only where an attempt left nothing behind: no timer, no unfinished work, no rejected
 * promise, and not half of the memory that it may take. Connections that were kept open may stay.
 */
import { inspect } from 'node:util';
import { classify } from '../domain/thrown.ts';
import type { FunctionEnd } from '../ports/isolation.ts';
import type { ClaimedJob, Lane } from '../ports/job-store.ts';
import { plain } from './errors.ts';
import { isObject } from './messages.ts';
import type { EndData, Stint, ToProcess } from './messages.ts';
import { Remote } from './remote.ts';
import { guard } from './guard.ts';

export interface ProcessOptions {
  /** The only way to speak; out of the reach of whatever code is loaded later. */
  send: (message: object, sent?: () => void) => void;
  /** Loads the workflows. @throws Error with a sentence for the log */
  load: (what: unknown) => Promise<Lane[]>;
  /** Calls the function. */
  run: (attempt: RemoteAttempt) => Promise<FunctionEnd>;
}

/** An attempt whose worker is at the other end of the channel. */
export interface RemoteAttempt {
  job: ClaimedJob;
  maxOutputBytes: number;
  worker: Remote;
  /** The listener hears why the function is to end. */
  onAbort: (listener: (ending: string) => void) => void;
}

interface Current {
  stint: Stint;
  worker: Remote;
  abort: (ending: string) => void;
  /** Ends the stint; the pool may give the process another. */
  over: () => void;
}

export class IsolatedProcess {
  readonly #options: ProcessOptions;
  #lanes: Promise<Lane[]> | null = null;
  #current: Current | null = null;
  #spoilt = false;

  constructor(options: ProcessOptions) {
    this.#options = options;
    process.on('message', (message) => {
      if (isObject(message) && !('__tinypool_worker_message__' in message)) this.#hear(message as ToProcess);
    });
  }

  /** Serves a stint, until its attempt has ended with nothing left behind or the worker lets the process go. */
  async serve(stint: Stint): Promise<void> {
    guard(stint);
    const post = (message: object, sent?: () => void) =>
      this.#options.send({ ...message, nonce: stint.nonce }, sent);
    const over = new Promise<void>((resolve) => {
      this.#current = { stint, worker: new Remote(post), abort: () => {}, over: resolve };
    });
    try {
      this.#lanes ??= this.#options.load(stint.load);
      post({ type: 'ready', pid: process.pid, lanes: await this.#lanes });
    } catch (error) {
      post({ type: 'failed', problem: sentenceOf(error) });
    }
    await over;
  }

  /** Something was left that no attempt answers for: the process runs no other. */
  spoil(): void {
    this.#spoilt = true;
  }

  /** The worker that waits for the attempt under way. */
  worker(): Remote | null {
    return this.#current?.worker ?? null;
  }

  #hear(message: ToProcess): void {
    const current = this.#current;
    switch (message.type) {
      case 'run':
        return void (current !== null && this.#run(current, message));
      case 'dismiss':
        return current?.over();
      case 'abort':
        return current?.abort(message.ending);
      case 'answer':
        return current?.worker.answered(message.call, message.value);
      case 'refuse':
        return current?.worker.refused(message.call, message.error);
    }
  }

  async #run(current: Current, { job, maxOutputBytes }: Extract<ToProcess, { type: 'run' }>): Promise<void> {
    const { stint, worker } = current;
    const before = process.getActiveResourcesInfo();
    const onAbort = (listener: (ending: string) => void) => void (current.abort = listener);
    const end = await this.#options
      .run({ job, maxOutputBytes, worker, onAbort })
      .catch((error: unknown): FunctionEnd => ({ type: 'threw', thrown: classify(error) }));
    worker.end();
    await new Promise((resolve) => setImmediate(resolve)); // for what was closed just now
    const clean = !this.#spoilt && leftNothing(before) && process.memoryUsage.rss() < stint.memoryBytes / 2;
    const message = { type: 'ended', nonce: stint.nonce, end: endData(end, maxOutputBytes), clean };
    this.#options.send(message);
    if (clean) current.over();
  }
}

/** Resources that may outlive an attempt: connections are dear to make. */
const SHARED = new Set(['TCPSocketWrap']);

/** Whether nothing keeps the event loop busy now that did not before. */
function leftNothing(before: readonly string[]): boolean {
  const left = process.getActiveResourcesInfo();
  for (const resource of before) {
    const at = left.indexOf(resource);
    if (at >= 0) left.splice(at, 1);
  }
  return left.every((resource) => SHARED.has(resource));
}

/** Only plain data crosses, and no more of a raw output than is kept. */
function endData(end: FunctionEnd, maxBytes: number): EndData {
  if (end.type === 'returned') return { output: end.output, artifacts: end.artifacts };
  const { raw, ...thrown } = end.thrown;
  return { thrown: raw === undefined ? thrown : { ...thrown, raw: boundedRaw(raw, maxBytes) } };
}

function boundedRaw(raw: unknown, maxBytes: number): unknown {
  const shown = plain(raw);
  const text = typeof shown === 'string' ? shown : JSON.stringify(shown);
  return text.length > maxBytes ? text.slice(0, maxBytes) : shown;
}

function sentenceOf(error: unknown): string {
  const text = error instanceof Error ? error.message : inspect(error);
  return text.slice(0, 1000);
}
