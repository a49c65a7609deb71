/**
 * Running attempts in processes of their own, which can be ended by force. A process is loaded and waits before a job
 * is claimed for it, so that no time limit runs while one starts.
 */
import type { Readable } from 'node:stream';
import type { ArtifactRef } from '../domain/record.ts';
import type { Thrown } from '../domain/thrown.ts';
import type { ClaimedJob } from './job-store.ts';
import type { CallDesk } from './models.ts';
import type { Log } from './telemetry.ts';
import type { Upload } from './upload-store.ts';

export interface Isolation {
  /** Begins to keep a process ready. */
  start(): void;
  /** How many attempts could begin now. */
  ready(): number;
  /** @returns a function that stops listening. The listener is called when another attempt could begin. */
  onReady(listener: () => void): () => void;
  /** Runs one attempt; where no process is ready after all, in the next one that is. Never rejects. */
  run(attempt: IsolatedAttempt): Promise<IsolatedEnd>;
  /** Ends every process at once, whatever it does. */
  stop(): Promise<void>;
}

export interface IsolatedAttempt {
  job: ClaimedJob;
  maxOutputBytes: number;
  /** The function is told when it fires, with the `ending` of its reason. */
  signal: AbortSignal;
  /** Resolves when nobody waits for the function any more: its process is killed. */
  givenUp: Promise<unknown>;
  host: AttemptHost;
}

/** What the function may ask of the worker while it runs. The answers are made there; only plain data crosses. */
export interface AttemptHost {
  /** The file that the job names, or null where it is no longer kept. */
  file(): Promise<{ upload: Upload; bytes: number; stream: () => Readable } | null>;
  /** The record's side of its calls to models. */
  calls: CallDesk;
  log: Log;
  progress(fraction: number, note: string | null): void;
  /** Keeps the bytes of a named artifact. `place` counts them from 1. */
  keep(place: number, body: Uint8Array | AsyncIterable<Uint8Array>, mediaType: string): Promise<ArtifactRef>;
}

export type IsolatedEnd =
  | FunctionEnd
  /** The process ended before the function did. `how` is a sentence for the evidence. */
  | { type: 'lost'; how: string };

export type FunctionEnd =
  /** `artifacts` says which of those that were kept belong to the output, and by which names. */
  | { type: 'returned'; output: Uint8Array; artifacts: { name: string; uri: string }[] }
  | { type: 'threw'; thrown: Thrown };
