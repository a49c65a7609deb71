/** What the programs of the bench hand to each other. */

/** Where a system keeps its jobs: a fresh one for every measurement. */
export interface Place {
  /** `postgres://` or `redis://`; null where the store is a file. */
  url: string | null;
  /** A directory of the measurement's own. */
  directory: string;
}

export interface OpenOptions extends Place {
  /** How many jobs may be under way in this process. Each system has its own best number for jobs that end at once. */
  inFlight?: number;
  /** As the system comes, or as quick as its settings allow to notice a worker that was killed. */
  recovery?: 'default' | 'shortest';
  /** Whether functions return something that is to be kept. */
  results?: boolean;
}

/** What a job carries. */
export interface Payload {
  text: string;
  /** When it was handed in, where latency is measured: milliseconds of the machine's monotonic clock. */
  sentMs?: number;
}

/** The function of the jobs; what it returns is kept where the system keeps results. */
export type Run = (payload: Payload) => unknown;

/** One queue in one process, behind the same few verbs. */
export interface System {
  /** Resolves once the job is as durable as the system makes it. */
  enqueue(payload: Payload): Promise<unknown>;
  /** In the fastest way that the system documents; null where it has none. */
  enqueueMany: ((payloads: Payload[]) => Promise<unknown>) | null;
  /** Starts the worker of this process. */
  work(run: Run): Promise<void>;
  /** Whether nothing is queued any more in the store, and nothing under way in this process. */
  isDrained(): Promise<boolean>;
  close(): Promise<void>;
}

export interface SystemModule {
  open(options: OpenOptions): Promise<System>;
}

/** A point of a drain as one process saw it: so many of its functions had run, and it had used so much processor time. */
export interface Mark {
  atMs: number;
  ran: number;
  cpuMs: number;
}
